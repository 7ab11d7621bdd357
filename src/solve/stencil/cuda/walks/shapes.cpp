// SPDX-License-Identifier: Apache-2.0
#include "stencil/cuda/walks/shapes.hpp"

#include <algorithm>
#include <iterator>

namespace halocline::stencil::cuda {
namespace {

/// Returns shapes of march_planes to try, the fastest first (bench_gpu_formula_shapes). In
/// registers are, for each vector of cells of a lane, the layers of its columns and what is
/// carried, four words each, and some 50 words besides. Values that steps shift through registers
/// are moved once for all steps that are compiled as one: with 4, a box of 125 cells in fp64 takes
/// 1460 us instead of 1591. With 5, all values of a star of 25 cells in fp64 fit in registers; in
/// fp32 they do anyway, and 5 take 345 us instead of 324. Where one block has a multiprocessor to
/// itself, no other computes while it waits: on an H100 that box takes 1172 us with 2 layers ahead,
/// 1049 with 4, and 1022 with 4 by longer walks, of 256 layers.
std::vector<WalkShape> shapes_by_planes(const problem::Model& model, const PrintedUpdate& update,
                                        bool in_bricks = false) {
  const bool carries = update.carried > 0, is_f32 = model.precision == Precision::f32;
  int values = update.carried, farthest = 0;
  for (const Reads& reads : carries ? update.reads_of_step : update.reads) {
    values += 1 + reads.lower[2] + room_for(reads, 1, 1, sizeof(double)).held;
    farthest = std::max({farthest, reads.lower[2], reads.upper[2]});
  }
  const int steps = carries ? std::min(update.carried_steps, 4) : farthest > 2 && !is_f32 ? 5 : 1;
  struct Tried {
    int ahead, rows, blocks, layers;
    int most_registers;
    std::size_t most_bytes;
  };
  std::vector<WalkShape> shapes;
  for (const Tried& one : {Tried{2, 2, 2, 128, 76, 108 << 10},
                           {2, 2, 1, 128, 180, 220 << 10},
                           {2, 1, 2, 128, 76, 108 << 10},
                           {4, 1, 1, 256, 180, 220 << 10},
                           {2, 1, 1, 128, 180, 220 << 10},
                           {1, 1, 1, 128, 180, 220 << 10}}) {
    const WalkShape shape{one.ahead, one.rows, one.blocks, one.layers,
                          0,         carries,  steps,      in_bricks};
    if (4 * one.rows * values <= one.most_registers &&
        block_bytes_of(model, update, shape) <= one.most_bytes)
      shapes.push_back(shape);
  }
  return shapes;
}

/// Returns the words that a lane of a walk over two axes needs for the rows of its inputs. With
/// more than 104 too many values do not fit in 128 registers, and compiling would be in vain.
int words_of_rows(const PrintedUpdate& update, const WalkShape& shape, Precision precision) {
  const int of_value = precision == Precision::f32 ? 1 : 2, of_vector = 4;
  int words = 0;
  for (const Reads& reads : shape.carries ? update.reads_of_step : update.reads) {
    const int beside = std::max(reads.lower[0], reads.upper[0]);
    words +=
        (reads.lower[1] + reads.upper[1] + shape.ahead) * (of_vector + (beside == 0   ? 0
                                                                        : beside == 1 ? of_value
                                                                                      : of_vector));
  }
  return words;
}

}  // namespace

/// Walks of 12 or 10 layers ahead in 2-D and of 2 in 3-D were the fastest for one input that reads
/// the nearest cells (bench/results/h200/gpu-shapes.txt); several share the registers. Longer walks
/// load fewer layers twice, but were slower with large planes: the values that neighbours loaded
/// have left the cache by then. Loading the next group before using the last one took 116 to 160 %
/// of the time: it takes registers from the warps that hide the loads. In 3-D, inputs that are read
/// farther or diagonally are walked over by planes, if blocks have room for them; for the nearest
/// cells and a coefficient that took 437 us instead of 399 (512^3, fp32). Over bricks there are
/// walks by planes alone.
std::vector<WalkShape> shapes_for(const problem::Model& model, const PrintedUpdate& update,
                                  bool in_bricks) {
  if (in_bricks)
    return model.axes == 3 ? shapes_by_planes(model, update, true) : std::vector<WalkShape>{};
  const int inputs = static_cast<int>(update.operands.inputs.size());
  const bool is_f32 = model.precision == Precision::f32, carries = update.carried > 0;
  std::vector<WalkShape> shapes;
  if (model.axes == 3) {
    if (!model.reads_nearest()) {
      shapes = shapes_by_planes(model, update);
    } else if (inputs == 1) {
      if (!carries) shapes.push_back({2, 2, 2, 12});
      shapes.push_back({1, 2, 2, 12, is_f32 ? 0 : 4, carries});
    } else {
      shapes.push_back({1, 2, 1, 12, 0, carries});
    }
    shapes.push_back({1, 1, 1, 12, 0, carries});
    return shapes;
  }
  const int layers = is_f32 ? 24 : 30;
  for (int ahead = std::max(1, (is_f32 ? 12 : 10) / inputs);; ahead /= 2) {
    const WalkShape shape{ahead, 1, 2, layers, 0, carries};
    if (words_of_rows(update, shape, model.precision) <= 104 || ahead == 1) shapes.push_back(shape);
    if (ahead == 1) return shapes;
  }
}

WalkShape shape_with(WalkShape shape, halocline::Norm norm) {
  if (shape.ahead == 12 && norm == halocline::Norm::none) shape.ahead = 8;
  return shape;
}

std::size_t room_number_for(const Operands& operands) {
  const auto fits = [](const std::vector<std::size_t>& all, int most) {
    return all.size() <= static_cast<std::size_t>(most);
  };
  std::size_t number = 0;
  while (number + 1 < std::size(argument_rooms) &&
         (!fits(operands.inputs, argument_rooms[number].inputs) ||
          !fits(operands.outputs, argument_rooms[number].outputs)))
    ++number;
  return number;
}

std::optional<std::size_t> pushed_by_walks(const problem::Model& model) {
  return model.axes > 1 ? model.only_field_with_halo() : std::nullopt;
}

halocline::Norm norm_of_persist(halocline::Norm norm) {
  return norm == halocline::Norm::l2 ? norm : halocline::Norm::max;
}

std::vector<int> rows_of_persist(int axes) {
  return axes == 3 ? std::vector{4, 8} : std::vector{2, 4, 8, 16};
}

}  // namespace halocline::stencil::cuda

// SPDX-License-Identifier: Apache-2.0
// Sweeps of updates that are compiled when the program runs.

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "device/cuda/compiler.hpp"
#include "stencil/cuda/build.hpp"
#include "stencil/cuda/kernel_headers.hpp"
#include "stencil/cuda/launches.cuh"

namespace halocline::stencil::cuda {

/// The kernels' last argument, which holds nothing: all constants are in their code.
struct Printed {};

namespace {

halocline::Norm kind_of(Norm kind) {
  return kind == Norm::none  ? halocline::Norm::none
         : kind == Norm::max ? halocline::Norm::max
                             : halocline::Norm::l2;
}

/// Returns shapes of march_planes to try, the fastest first (bench_gpu_formula_shapes). In
/// registers are, for each vector of cells of a lane, the layers of its columns and what is
/// carried, four words each, and some 50 words besides. What steps shift through registers is moved
/// once for all steps that are compiled as one: with 4, a box of 125 cells in fp64 takes 1460 us
/// instead of 1591. With 5, all values of a star of 25 cells in fp64 fit in registers; in fp32 they
/// do anyway, and 5 take 345 us instead of 324. Where one block has a multiprocessor to itself,
/// no other computes while it waits: on an H100 that box takes 1172 us with 2 layers ahead, 1049
/// with 4, and 1022 with 4 by longer walks, of 256 layers.
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

/// Returns shapes to try, the fastest first (bench_gpu_formula_shapes): with fewer layers ahead or
/// rows, a walk takes fewer registers. For one input that reads the nearest cells they are those of
/// ShapeFor; several share the registers. In 3-D, those that read farther or diagonally are walked
/// over by planes, if blocks have room for them; for the nearest cells and a coefficient that took
/// 437 us instead of 399 (512^3, fp32). Over bricks there are walks by planes alone.
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

template <class Real_, int inputs, int outputs>
class GeneratedKernels final : public Kernels<Real_, Printed, inputs, outputs> {
 public:
  using Base = Kernels<Real_, Printed, inputs, outputs>;
  using typename Base::Kernel;

  GeneratedKernels(const problem::Model& model, const SweepOptions& options, PrintedUpdate update,
                   bool pushes)
      : model_(model),
        pushes_(pushes),
        in_bricks_(options.in_bricks),
        update_(std::move(update)),
        shapes_(options.plain ? std::vector<WalkShape>{}
                              : shapes_for(model, update_, options.in_bricks)) {
    std::vector<Norm> kinds;
    for (const halocline::Norm norm : options.norms) kinds.push_back(norm_of(norm));
    const auto make = [&] {
      return marches(in_bricks_) ? build_march(kinds) : build_per_cell(kinds);
    };
    const Build build = build_for_all(options.communicator, make);
    compile_seconds_ = build.seconds;
    shape_ = build.choice;
    if (marches(in_bricks_))
      take_marches(build.code, kinds);
    else
      take(build.code, kinds, cells_);
  }

  bool marches(bool over_bricks) const override {
    return over_bricks == in_bricks_ && model_.axes > 1 && !shapes_.empty();
  }
  March<Kernel> march(Norm kind) const override {
    if (!marches_.contains(kind))
      take_marches(compiled({name_of_march(model_, kind_of(kind), shapes_[shape_], room)}), {kind});
    return marches_.at(kind);
  }
  Kernel per_cell(Norm kind) const override {
    if (!cells_.contains(kind))
      take(compiled({name_of_per_cell(model_, kind_of(kind), room)}), {kind}, cells_);
    return cells_.at(kind);
  }
  Printed update() const override { return {}; }
  /// A walk waits for the tiles around its own. Strips and a block's rows are at least as wide as
  /// updates may read; a warp in 3-D has one row or two, enough for the nearest cells.
  int rows_of_pushing_tile() const override {
    if (!pushes_ || shapes_.empty()) return 0;
    const WalkShape& shape = shapes_[shape_];
    if (shape.by_planes()) return shape.rows * block_warps;
    return model_.axes == 2 || model_.reads_nearest() ? shape.rows : 0;
  }
  double compile_seconds() const override { return compile_seconds_; }
  const Operands& operands() const { return update_.operands; }

 private:
  static constexpr ArgumentRoom room{inputs, outputs};

  device::cuda::Code compiled(std::vector<std::string> kernels) const {
    return device::cuda::compile(
        {.text = update_.source, .headers = kernel_headers(), .kernels = std::move(kernels)});
  }

  Build build_per_cell(const std::vector<Norm>& kinds) const {
    std::vector<std::string> names;
    for (const Norm kind : kinds) names.push_back(name_of_per_cell(model_, kind_of(kind), room));
    return {.code = compiled(names)};
  }

  /// Takes the first shape whose values stay in registers, but for a few: of march those are mostly
  /// of walks at the sides, of march_planes each step would load them. What waits for neighbours
  /// there costs a star of 25 cells in fp64 with a norm 56 bytes; the next shape would run one
  /// block per multiprocessor instead of two.
  Build build_march(const std::vector<Norm>& kinds) const {
    for (std::size_t shape = 0;; ++shape) {
      std::vector<std::string> names;
      for (const Norm kind : kinds)
        names.push_back(name_of_march(model_, kind_of(kind), shapes_[shape], room));
      const std::size_t few_bytes = !shapes_[shape].by_planes() ? 80 : pushes_ ? 64 : 8;
      Build build{.code = compiled(names), .choice = shape};
      const device::cuda::Module loaded(build.code);
      bool spills = false;
      for (std::size_t k = 0; k < kinds.size(); ++k)
        spills = spills || device::cuda::spilled_bytes(
                               loaded.kernel<std::remove_pointer_t<Kernel>>(k)) > few_bytes;
      if (!spills || shape + 1 == shapes_.size()) return build;
    }
  }

  void take(const device::cuda::Code& code, const std::vector<Norm>& kinds,
            std::map<Norm, Kernel>& kernels) const {
    const device::cuda::Module& loaded = modules_.emplace_back(code);
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      kernels[kinds[k]] = loaded.kernel<std::remove_pointer_t<Kernel>>(k);
      device::cuda::load(kernels[kinds[k]]);
    }
  }

  void take_marches(const device::cuda::Code& code, const std::vector<Norm>& kinds) const {
    std::map<Norm, Kernel> kernels;
    take(code, kinds, kernels);
    const WalkShape& shape = shapes_[shape_];
    const std::size_t bytes = block_bytes_of(model_, update_, shape);
    for (const auto& [kind, kernel] : kernels)
      marches_.insert_or_assign(kind,
                                march_with(kernel, shape.ahead, shape.rows, shape.layers, bytes));
  }

  const problem::Model& model_;
  bool pushes_, in_bricks_;
  PrintedUpdate update_;
  std::vector<WalkShape> shapes_;
  std::size_t shape_ = 0;
  double compile_seconds_ = 0;
  // Kernels of other norms and for other strides are compiled when they are asked for.
  mutable std::vector<device::cuda::Module> modules_;
  mutable std::map<Norm, March<Kernel>> marches_;
  mutable std::map<Norm, Kernel> cells_;
};

/// Makes the sweep with the first room, from that number on, that the operands fit in.
template <class Real, std::size_t number = 0>
std::unique_ptr<stencil::Sweep> make_for(const problem::Model& model, const SweepOptions& options,
                                         PrintedUpdate update, bool pushes) {
  constexpr ArgumentRoom room = argument_rooms[number];
  if constexpr (number + 1 < std::size(argument_rooms)) {
    const auto fits = [](const std::vector<std::size_t>& operands, int most) {
      return operands.size() <= static_cast<std::size_t>(most);
    };
    if (!fits(update.operands.inputs, room.inputs) || !fits(update.operands.outputs, room.outputs))
      return make_for<Real, number + 1>(model, options, std::move(update), pushes);
  }
  using Made = GeneratedKernels<Real, room.inputs, room.outputs>;
  auto kernels = std::make_unique<Made>(model, options, std::move(update), pushes);
  const Operands operands = kernels->operands();
  return std::make_unique<CudaSweep<typename Made::Base>>(std::move(kernels), operands, model);
}

}  // namespace

std::unique_ptr<stencil::Sweep> make_generated_sweep(const problem::Model& model,
                                                     const SweepOptions& options) {
  std::optional<std::size_t> pushed;
  if (model.axes > 1 && !options.in_bricks && options.communicator != nullptr &&
      options.communicator->size() > 1)
    pushed = model.only_field_with_halo();
  PrintedUpdate update = print_update(model, pushed);
  return model.precision == Precision::f32
             ? make_for<float>(model, options, std::move(update), pushed.has_value())
             : make_for<double>(model, options, std::move(update), pushed.has_value());
}

}  // namespace halocline::stencil::cuda

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Chooses a kernel for fields and region, and launches it.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include <halocline/error.hpp>

#include "device/buffer.hpp"
#include "device/cuda/launch.cuh"
#include "stencil/check.hpp"
#include "stencil/cuda/arguments.hpp"
#include "stencil/cuda/passes/passes.hpp"
#include "stencil/cuda/sweep.hpp"
#include "stencil/cuda/text/printed.hpp"
#include "stencil/cuda/walks/tiles.cuh"

namespace halocline::stencil::cuda {

/// A kernel `march` or, with memory for each block, `march_planes`, and the shape that it was made
/// with.
template <class Kernel>
struct March {
  Kernel kernel;
  int ahead, rows;
  std::int64_t layers;
  std::size_t block_bytes;
  std::int64_t at_once;  ///< walks that the GPU runs at the same time; 0: unknown

  bool by_planes() const { return block_bytes > 0; }
  /// Of a walk: a warp's, or with memory for each block the block's.
  int tile_rows() const { return by_planes() ? rows * block_warps : rows; }
  int walks_of_block() const { return by_planes() ? 1 : block_warps; }
  /// Estimates the time of a walk, in thirds of what one layer more takes. A warp waits for each
  /// group of layers, and for each that is left over, as long as 4/3 of a layer takes: 8192x8192
  /// cells in f32 ran at 475 GLUP/s by walks of 24 layers, which are two groups, and at 361 by 23.
  std::int64_t cost_of_walk(std::int64_t layers_of_it, std::int64_t read_beyond) const {
    const std::int64_t loaded = layers_of_it + read_beyond;
    if (by_planes()) return 3 * (loaded + ahead);
    return 3 * loaded + 4 * (layers_of_it / ahead + layers_of_it % ahead);
  }
};

/// Asks the GPU how many of its walks run at the same time.
template <class Kernel>
March<Kernel> march_with(Kernel kernel, int ahead, int rows, std::int64_t layers,
                         std::size_t block_bytes) {
  March<Kernel> march{kernel, ahead, rows, layers, block_bytes, 0};
  march.at_once = march.walks_of_block() *
                  device::cuda::most_resident_blocks(kernel, block_threads, block_bytes);
  return march;
}

/// The kernels of an update.
template <class Real_, int inputs, int outputs>
class Kernels {
 public:
  using Real = Real_;
  using Arguments = Work<Real, inputs, outputs>;
  using Kernel = void (*)(Arguments, ReduceWork, PrintedConstants<Real>);

  virtual ~Kernels() = default;
  /// Whether there are kernels that march over rows or over bricks: not for one axis; over bricks
  /// in three alone.
  virtual bool marches(bool over_bricks) const = 0;
  virtual March<Kernel> march(Norm kind) const = 0;
  virtual Kernel per_cell(Norm kind) const = 0;
  virtual PrintedConstants<Real> constants() const = 0;
  /// Returns the rows of a tile of those walks of march() that may store the halos of neighbours;
  /// 0: none may.
  virtual int rows_of_pushing_tile() const = 0;
  virtual double compile_seconds() const { return 0; }
};

template <class AnyKernels>
class CudaSweep final : public stencil::Sweep {
 public:
  CudaSweep(std::unique_ptr<AnyKernels> kernels, Operands operands, const problem::Model& model)
      : kernels_(std::move(kernels)),
        operands_(std::move(operands)),
        model_(model),
        reach_(reach_of(model)),
        start_(device::cuda::earliest_start()),
        parts_(device::allocate(Memory::device, bytes_of_partial_norms)) {
    load_reduction();
  }

  void run(const Pass& pass, Stream stream) override {
    check_pass(pass, model_, SweptBy::gpu, stream);
    if (pass.region.empty()) return;
    if (pass.sweeps > 1) return run_several(pass, stream);
    if (marches(pass.in, pass.coefficients, pass.out, pass.region))
      run_march(pass, stream);
    else
      run_per_cell(pass, stream);
    // The caller needs the sum now, not during the next sweep.
    if (pass.norms.kind != halocline::Norm::none && pass.norms.parts == nullptr)
      add_to_sum(pass, stream);
  }

  void make_passes(const SweepOptions& options) override {
    if (!passes_) passes_ = cuda::make_passes(model_, options);
  }

  std::int64_t sweeps_in_pass(std::int64_t most, const Pass& pass) const override {
    return passes_ && marches(pass.in, pass.coefficients, pass.out, pass.region)
               ? passes_->sweeps_in(most, pass.region)
               : 1;
  }

  void reduce(const NormReduction& reduction, Stream stream) override {
    launch_reduction(work_of(reduction), stream);
  }

  PartialNorms* room_for_partial_norms() override {
    return static_cast<PartialNorms*>(parts_.get());
  }

  int rows_of_pushing_tile(Fields in, Fields coefficients, Fields out) const override {
    return marches(in, coefficients, out, out[0].shape().owned) ? kernels_->rows_of_pushing_tile()
                                                                : 0;
  }

  /// Rows of whole vectors, where a strip's last one ends with the region.
  bool can_wrap(int axis, Fields level, Fields coefficients) const override {
    return axis > 0 || (model_.cells.x % vector_cells<Real> == 0 &&
                        marches(level, coefficients, level, level[0].shape().owned));
  }

  double compile_seconds() const override {
    return kernels_->compile_seconds() + (passes_ ? passes_->compile_seconds() : 0);
  }
  bool has_compiled_formulas() const override { return true; }
  std::string_view simd() const override { return ""; }

 private:
  using Real = typename AnyKernels::Real;
  using Kernel = typename AnyKernels::Kernel;
  using Arguments = typename AnyKernels::Arguments;

  /// How many layers before the first that it updates and behind the last a walk reads.
  struct Reach {
    std::int64_t lower, upper;
  };
  static Reach reach_of(const problem::Model& model) {
    const HaloWidths reach = model.reach();
    return {reach.lower[model.axes - 1], reach.upper[model.axes - 1]};
  }

  /// Whether `march` can read and write the fields: in vectors that begin at the same columns.
  bool marches(Fields in, Fields coefficients, Fields out, const Box& region) const {
    // They count cells along an axis and, in 3-D, bytes of a layer in 32 bits.
    constexpr std::int64_t most_along = 1 << 30, most_of_layer = std::int64_t{1} << 32;
    const Int3 extent = region.extent();
    const auto& bricks = out[0].as_bricks();
    if (!kernels_->marches(bricks.has_value()) ||
        std::max({extent.x, extent.y, extent.z}) > most_along)
      return false;
    if (bricks)
      return bricks->cells().x >= vector_cells<Real> &&
             bricks->brick_step.z * out[0].shape().element_bytes < most_of_layer;
    const int lead = lead_of<Real>(field::address_of(out[operands_.outputs[0]], region.lower));
    const auto can_be = [&](const FieldStorage& field) {
      if (model_.axes == 3 && field.strides().z * field.shape().element_bytes >= most_of_layer)
        return false;
      return has_rows_of_vectors(field, sizeof(Real)) &&
             lead_of<Real>(field::address_of(field, region.lower)) == lead;
    };
    return std::all_of(operands_.inputs.begin(), operands_.inputs.end(),
                       [&](std::size_t i) { return can_be(input_of(in, coefficients, i)); }) &&
           std::all_of(operands_.outputs.begin(), operands_.outputs.end(),
                       [&](std::size_t o) { return can_be(out[o]); });
  }

  void run_several(const Pass& pass, Stream stream) {
    if (passes_ == nullptr || passes_->sweeps_in(pass.sweeps, pass.region) != pass.sweeps)
      throw Error(ErrorKind::internal, "no kernel does so many sweeps in one pass");
    passes_->run(pass, stream);
  }

  void run_march(const Pass& pass, Stream stream) {
    const March<Kernel> march = kernels_->march(norm_of(pass.norms.kind));
    Arguments work = work_for(pass);
    begin_at_boundary(work);
    divide_into_walks(march, work);
    const unsigned blocks = device::cuda::blocks_for(tiles_of(work, march.tile_rows()),
                                                     march.walks_of_block(), most_blocks_of_sweep);
    launch(march.kernel, blocks, work, pass, stream, march.block_bytes);
  }

  void run_per_cell(const Pass& pass, Stream stream) {
    if (pass.faces != nullptr)
      throw Error(ErrorKind::internal, "a sweep over these fields cannot send its own halo");
    launch(kernels_->per_cell(norm_of(pass.norms.kind)),
           device::cuda::blocks_for(pass.region.cells(), block_threads, most_blocks_of_sweep),
           work_for(pass), pass, stream);
  }

  void launch(Kernel kernel, unsigned blocks, const Arguments& work, const Pass& pass,
              Stream stream, std::size_t block_bytes = 0) {
    const unsigned reduction = pass.reduction.parts != nullptr ? 1 : 0;
    device::cuda::launch({start_, block_bytes}, kernel, blocks + reduction, block_threads, stream,
                         work, work_of(pass.reduction), kernels_->constants());
    next_part_ = work.first_part + blocks;
  }

  void add_to_sum(const Pass& pass, Stream stream) const {
    ReduceWork work{};
    work.parts = static_cast<const PartialNorms*>(parts_.get());
    work.kind = norm_of(pass.norms.kind);
    work.sum = pass.norms.sum;
    work.stop_seen = pass.stop;
    launch_reduction(work, stream);
  }

  /// Of all arrays: check_pass() has seen to it that they are alike.
  static BrickPlaces places_of(const FieldStorage& field, const Box& region) {
    BrickPlaces places{};
    if (!field.as_bricks()) return places;
    const Bricks& bricks = *field.as_bricks();
    places.any = true;
    for (int axis = 0; axis < 3; ++axis) {
      places.shift[axis] = static_cast<int>(bricks.shift[axis]);
      places.brick_step[axis] = bricks.brick_step[axis];
      places.cell_step[axis] = bricks.cell_step[axis];
      places.first[axis] = region.lower[axis] - field.shape().owned.lower[axis];
    }
    return places;
  }

  Arguments work_for(const Pass& pass) const {
    const Box& region = pass.region;
    const Int3 extent = region.extent();
    Arguments work{};
    for (std::size_t i = 0; i < operands_.inputs.size(); ++i)
      work.in[i] =
          array_of<const Real>(input_of(pass.in, pass.coefficients, operands_.inputs[i]), region);
    for (std::size_t o = 0; o < operands_.outputs.size(); ++o)
      work.out[o] = array_of<Real>(pass.out[operands_.outputs[o]], region);
    work.bricks = places_of(pass.out[0], region);
    for (int axis = 0; axis < 3; ++axis) {
      work.cells[axis] = extent[axis];
      work.origin[axis] = region.lower[axis];
    }
    for (std::size_t axis = 0; axis < 3; ++axis)
      work.around[axis] = pass.wraps[axis] ? work.cells[axis] : 0;
    work.time = pass.time();
    work.clock = pass.clock;
    work.owned = owned_within(region, pass.out[0].shape().owned);
    work.parts =
        pass.norms.parts != nullptr ? pass.norms.parts : static_cast<PartialNorms*>(parts_.get());
    // Without the caller's memory for partial norms, each region is reduced at once.
    const bool reduced_at_once = pass.norms.parts == nullptr;
    work.first_part = pass.is_first || reduced_at_once ? 0 : next_part_;
    work.is_last = pass.is_last || reduced_at_once;
    work.stop = pass.stop;
    if (pass.faces != nullptr) work.faces = *pass.faces;
    return work;
  }

  /// Returns the walks of a sweep.
  std::int64_t tiles_of(const Arguments& work, int rows) const {
    return model_.axes == 2 ? Tiles<Real, 2>::of(work, rows).count()
                            : Tiles<Real, 3>::of(work, rows).count();
  }

  /// Sets the lengths of walks. Those at ends where a neighbour waits come first, and cover all
  /// layers that are sent to it and all that need its own.
  void divide_into_walks(const March<Kernel>& march, Arguments& work) const {
    const bool has_lower = work.faces.lower.raise != nullptr;
    const bool has_upper = work.faces.upper.raise != nullptr;
    const Index all = work.cells[model_.axes - 1];
    // The cells that neighbours wait for are sent when a walk is done. With short walks at the
    // ends, star7 256^3 on two H100 takes 57.5 us instead of 67.5 in fp64, 30.3 instead of 38.4 in
    // fp32; with ends of 4 layers 57.0 and 31.7, of 12 57.3 and 34.0. In 2-D, where updates may
    // read 8 rows, laplace 4096^2 in fp32 with a norm each sweep takes 20.2 us on two H200 with
    // ends of 8 rows or 4, and 20.9 with 12 or as many as others have
    // (bench/results/h200x2/gpu-walks-tried.txt).
    const Index least = std::max<Index>(
        {1, reach_.lower, reach_.upper, work.faces.lower.layers, work.faces.upper.layers});
    const Index few = std::max<Index>(model_.axes == 2 ? 8 : 2, least);
    if (!march.by_planes() && all > 2 * few) {
      if (has_lower) work.ends[0] = few;
      if (has_upper) work.ends[1] = few;
    }
    work.layers = layers_of_walk(march, work);
    if ((!has_lower && !has_upper) || work.ends[0] + work.ends[1] > 0) return;
    work.layers = std::max(work.layers, least);
    if (all - work.layers < least) {
      work.layers = all;
    } else {
      work.ends[0] = work.layers;
      work.ends[1] = std::min(work.layers, all - work.layers);
    }
  }

  /// Returns the layers of a walk: in large regions as many as there may be, in others those with
  /// which all take the least time. Walks take turns, as many at once as the GPU runs. An H200 runs
  /// 256^3 in f32 at 434 GLUP/s by walks of 32 layers, which take one turn, at 410 by 43, one turn,
  /// too, and at 405 by 16, two turns.
  std::int64_t layers_of_walk(const March<Kernel>& march, Arguments work) const {
    constexpr std::int64_t many_turns = 4;
    const std::int64_t all = work.cells[model_.axes - 1] - work.ends[0] - work.ends[1];
    const std::int64_t at_once = std::max<std::int64_t>(march.at_once, 1);
    work.layers = work.cells[model_.axes - 1] = all;
    work.ends[0] = work.ends[1] = 0;  // short, and done before others
    const std::int64_t across = tiles_of(work, march.tile_rows());
    const std::int64_t longest = std::min(all, most_layers(march, work));
    std::int64_t best = longest, least = std::numeric_limits<std::int64_t>::max();
    for (std::int64_t layers = longest; layers >= 1; --layers) {
      const std::int64_t pieces = (all + layers - 1) / layers, walks = across * pieces;
      if (layers == longest && walks > many_turns * at_once) break;
      layers = (all + pieces - 1) / pieces;  // of pieces that are alike
      const std::int64_t turns = (walks + at_once - 1) / at_once;
      const std::int64_t cost = turns * march.cost_of_walk(layers, reach_.lower + reach_.upper);
      if (cost < least) least = cost, best = layers;
    }
    return best;
  }

  /// Returns the most layers of a walk. Planes of at most 1 MiB stay in the cache during a long
  /// walk of a warp, which loads fewer of them twice: 75 us instead of 81 at 256^3 in fp64, 287
  /// instead of 293 at 512^3 in fp32. Larger planes do not: 582 us instead of 549 at 500^3 in fp64
  /// (bench/results/h200/gpu-shapes.txt).
  std::int64_t most_layers(const March<Kernel>& march, const Arguments& work) const {
    constexpr std::int64_t most_bytes = 1 << 20, long_walk = 64;
    const std::int64_t plane =
        work.cells[0] * work.cells[1] * static_cast<std::int64_t>(sizeof(Real));
    const bool is_long = model_.axes == 3 && !march.by_planes() && plane <= most_bytes;
    return is_long ? long_walk : march.layers;
  }

  void begin_at_boundary(Arguments& work) const {
    if (work.bricks.any) {
      work.lead = static_cast<int>(work.bricks.first[0] & (vector_cells<Real> - 1));
      work.bricks.first[0] -= work.lead;
      return;
    }
    work.lead = lead_of<Real>(reinterpret_cast<const std::byte*>(work.out[0].cell));
    for (std::size_t i = 0; i < operands_.inputs.size(); ++i) work.in[i].cell -= work.lead;
    for (std::size_t o = 0; o < operands_.outputs.size(); ++o) work.out[o].cell -= work.lead;
  }

  std::unique_ptr<AnyKernels> kernels_;
  std::unique_ptr<Passes> passes_;  ///< null until they are made
  Operands operands_;
  const problem::Model& model_;
  Reach reach_;
  device::cuda::Start start_;
  std::shared_ptr<void> parts_;  // partial norms that are reduced at once
  Index next_part_ = 0;
};

}  // namespace halocline::stencil::cuda

// SPDX-License-Identifier: Apache-2.0
// Chooses a kernel for fields and region, and launches it.

#include <algorithm>
#include <cstdint>

#include "device/buffer.hpp"
#include "device/cuda/launch.cuh"
#include "field/cells.hpp"
#include "stencil/check.hpp"
#include "stencil/cuda/arguments.hpp"
#include "stencil/cuda/march.cuh"
#include "stencil/cuda/per_cell.cuh"
#include "stencil/cuda/reduce.cuh"
#include "stencil/cuda/sweep.hpp"
#include "stencil/formulas.hpp"

namespace halocline::stencil::cuda {
namespace {

// Least layers of a walk: each walk loads two layers more than it updates.
constexpr std::int64_t fewest_layers = 4;

/// Returns the cells from the 16-byte boundary at or before `cell` to `cell`.
template <class Real>
int lead_of(const std::byte* cell) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(cell) % vector_bytes / sizeof(Real));
}

Range owned_within(const Box& region, const Box& owned) {
  const Box both = intersect(region, owned);
  Range range{};
  for (int axis = 0; axis < 3; ++axis) {
    range.lower[axis] = both.lower[axis] - region.lower[axis];
    range.upper[axis] = both.upper[axis] - region.lower[axis];
  }
  return range;
}

__global__ void __launch_bounds__(block_threads) reduce_alone(ReduceWork work) { reduce(work); }

template <int axes, class Real, class Formula>
class CudaSweep final : public stencil::Sweep {
 public:
  CudaSweep(const Formula& formula, const SweepNeeds& needs)
      : formula_(formula),
        needs_(needs),
        multiprocessors_(device::cuda::multiprocessors()),
        start_(device::cuda::earliest_start()),
        parts_(device::allocate(Memory::device, bytes_of_partial_norms)) {
    load<Norm::none>();
    load<Norm::max>();
    load<Norm::l2>();
    device::cuda::load(reduce_alone);
  }

  void run(const SweepArguments& arguments, Stream stream) override {
    check_arguments(arguments, needs_, stream);
    if (arguments.region.empty()) return;
    if (arguments.norm == halocline::Norm::max)
      run_with<Norm::max>(arguments, stream);
    else if (arguments.norm == halocline::Norm::l2)
      run_with<Norm::l2>(arguments, stream);
    else
      run_with<Norm::none>(arguments, stream);
    // The caller wants the sum now, not during the next sweep.
    if (arguments.norm != halocline::Norm::none && arguments.partial_norms == nullptr)
      add_to_sum(arguments, stream);
  }

  void reduce(const NormReduction& reduction, Stream stream) override {
    device::cuda::launch(reduce_alone, 1, block_threads, stream, work_of(reduction));
  }

  PartialNorms* room_for_partial_norms() override {
    return static_cast<PartialNorms*>(parts_.get());
  }

  bool can_push(const FieldStorage& in, const FieldStorage& out) const override {
    return axes > 1 && marches(in, out, out.shape().owned);
  }

  std::string_view simd() const override { return ""; }

 private:
  static bool marches(const FieldStorage& in, const FieldStorage& out, const Box& region) {
    return has_rows_of_vectors(in, sizeof(Real)) && has_rows_of_vectors(out, sizeof(Real)) &&
           lead_of<Real>(field::address_of(in, region.lower)) ==
               lead_of<Real>(field::address_of(out, region.lower));
  }

  template <Norm kind>
  static void load() {
    if constexpr (axes > 1) device::cuda::load(march<kind, axes, Real, Formula>);
    device::cuda::load(per_cell<kind, axes, Real, Formula>);
  }

  template <Norm kind>
  void run_with(const SweepArguments& arguments, Stream stream) {
    Work<Real> work = work_for(arguments);
    if constexpr (axes > 1) {
      if (marches(arguments.in, arguments.out, arguments.region)) {
        using Chosen = ShapeFor<kind, axes, Real>;
        begin_at_boundary<Chosen>(work);
        const std::int64_t tiles = Tiles<Chosen, Real, axes>::of(work).count();
        launch(march<kind, axes, Real, Formula>,
               device::cuda::blocks_for(tiles, block_warps, most_blocks_of_sweep), work, arguments,
               stream);
        return;
      }
    }
    if (arguments.faces != nullptr)
      throw Error(ErrorKind::internal, "a sweep over these fields cannot send its own halo");
    launch(per_cell<kind, axes, Real, Formula>,
           device::cuda::blocks_for(arguments.region.cells(), block_threads, most_blocks_of_sweep),
           work, arguments, stream);
  }

  void launch(void (*kernel)(Work<Real>, ReduceWork, Formula), unsigned blocks,
              const Work<Real>& work, const SweepArguments& arguments, Stream stream) {
    const unsigned reduction = arguments.reduction.parts != nullptr ? 1 : 0;
    device::cuda::launch(start_, kernel, blocks + reduction, block_threads, stream, work,
                         work_of(arguments.reduction), formula_);
    next_part_ = work.first_part + blocks;
  }

  void add_to_sum(const SweepArguments& arguments, Stream stream) const {
    ReduceWork work{};
    work.parts = static_cast<const PartialNorms*>(parts_.get());
    work.kind = norm_of(arguments.norm);
    work.sum = arguments.norm_sum;
    work.stop_seen = arguments.stop;
    device::cuda::launch(reduce_alone, 1, block_threads, stream, work);
  }

  Work<Real> work_for(const SweepArguments& arguments) const {
    const Box& region = arguments.region;
    const Int3 extent = region.extent();
    Work<Real> work{};
    work.in = reinterpret_cast<const Real*>(field::address_of(arguments.in, region.lower));
    work.out = reinterpret_cast<Real*>(field::address_of(arguments.out, region.lower));
    for (int axis = 0; axis < 3; ++axis) {
      work.in_step[axis] = field::steps_of(arguments.in)[axis];
      work.out_step[axis] = field::steps_of(arguments.out)[axis];
      work.cells[axis] = extent[axis];
    }
    work.owned = owned_within(region, arguments.out.shape().owned);
    work.parts = arguments.partial_norms != nullptr ? arguments.partial_norms
                                                    : static_cast<PartialNorms*>(parts_.get());
    // Without the caller's memory for partial norms, each region is reduced at once.
    const bool reduced_at_once = arguments.partial_norms == nullptr;
    work.first_part = arguments.is_first || reduced_at_once ? 0 : next_part_;
    work.is_last = arguments.is_last || reduced_at_once;
    work.stop = arguments.stop;
    if (arguments.faces != nullptr) work.faces = *arguments.faces;
    return work;
  }

  /// Returns the layers of a walk in large regions. Planes of at most 1 MiB stay in the cache
  /// during a long walk, which loads fewer of them twice: 75 us instead of 81 at 256^3 in fp64, 287
  /// instead of 293 at 512^3 in fp32. Larger planes do not: 582 us instead of 549 at 500^3 in fp64
  /// (bench_gpu_shapes).
  template <class Chosen>
  static std::int64_t layers_of_walk(const Work<Real>& work) {
    constexpr std::int64_t most_bytes = 1 << 20, long_walk = 64;
    const bool is_small =
        axes == 3 &&
        work.cells[0] * work.cells[1] * static_cast<std::int64_t>(sizeof(Real)) <= most_bytes;
    return is_small ? long_walk : Chosen::layers;
  }

  template <class Chosen>
  void begin_at_boundary(Work<Real>& work) const {
    work.lead = lead_of<Real>(reinterpret_cast<const std::byte*>(work.in));
    work.in -= work.lead;
    work.out -= work.lead;
    work.layers = layers_of_walk<Chosen>(work);
    // In small regions shorten the walks, by whole groups of layers while possible, until each
    // multiprocessor has 12 warps.
    const std::int64_t wanted = std::int64_t{12} * multiprocessors_;
    while (work.layers > fewest_layers && Tiles<Chosen, Real, axes>::of(work).count() < wanted)
      work.layers = work.layers > Chosen::ahead ? work.layers - Chosen::ahead : work.layers / 2;
  }

  Formula formula_;
  SweepNeeds needs_;
  int multiprocessors_;
  device::cuda::Start start_;
  std::shared_ptr<void> parts_;  // partial norms that are reduced at once
  Index next_part_ = 0;
};

struct Maker {
  using Result = std::unique_ptr<stencil::Sweep>;
  SweepNeeds needs;

  template <class Real, int axes, class Formula>
  Result make(const Formula& formula) const {
    return std::make_unique<CudaSweep<axes, Real, Formula>>(formula, needs);
  }
};

}  // namespace

std::unique_ptr<stencil::Sweep> make_sweep(const problem::Problem& problem,
                                           const problem::Setting& setting,
                                           problem::Precision precision) {
  return make_of_formula(problem::Catalogue{}, problem, setting, precision,
                         Maker{{setting.axes, precision, true}});
}

}  // namespace halocline::stencil::cuda

// Chooses a kernel for the fields and the region at hand, and starts it.

#include <algorithm>
#include <cstdint>

#include "device/buffer.hpp"
#include "device/cuda/launch.cuh"
#include "stencil/check.hpp"
#include "stencil/cuda/march.cuh"
#include "stencil/cuda/per_cell.cuh"
#include "stencil/cuda/sweep.hpp"
#include "stencil/formulas.hpp"
#include "stencil/scalar_cells.hpp"

namespace halocline::stencil::cuda {
namespace {

constexpr std::int64_t vector_bytes = 16;
// Beyond this, warps take several tiles in turn, so that the list of partial sums has an end.
constexpr std::int64_t most_blocks = 65536;
// Layers that a warp walks at the least: each walk loads two layers more than it updates.
constexpr std::int64_t fewest_layers = 4;

/// Cells from the 16-byte boundary at or before `cell` to it.
template <class Real>
int lead_of(const std::byte* cell) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(cell) % vector_bytes / sizeof(Real));
}

/// Whether rows of vectors can be read: rows without gaps, each on the same side of a boundary,
/// in memory of ours, which has room for the rest of the last vector.
template <class Real>
bool suits_march(const FieldStorage& field) {
  const Strides& step = field.strides();
  const auto aligned = [](std::int64_t cells) {
    return cells * static_cast<std::int64_t>(sizeof(Real)) % vector_bytes == 0;
  };
  return field.allocated_bytes() > 0 && step.x == 1 && aligned(step.y) && aligned(step.z) &&
         reinterpret_cast<std::uintptr_t>(field.first_owned()) % vector_bytes == 0;
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

device::Meeting meeting_of(const NormVerdict& verdict) {
  return verdict.meeting != nullptr ? *verdict.meeting : device::Meeting{};
}

template <Norm kind>
__global__ void __launch_bounds__(block_threads) settle_last(NormPlace place) {
  // Where the run has stopped, some ranks have sent no more numbers.
  if (place.stop == nullptr || *place.stop == 0) settle<kind>(place);
}

template <int axes, class Real, class Formula>
class CudaSweep final : public stencil::Sweep {
 public:
  CudaSweep(const Formula& formula, const SweepNeeds& needs)
      : formula_(formula),
        needs_(needs),
        multiprocessors_(device::cuda::multiprocessors()),
        partials_(device::allocate(Memory::device, most_blocks * std::int64_t{sizeof(double)})),
        arrived_(device::allocate(Memory::device, sizeof(unsigned))) {}

  void run(const SweepArguments& arguments, Stream stream) override {
    check_arguments(arguments, needs_, stream);
    if (arguments.region.empty()) return;
    if (arguments.norm == problem::NormKind::max)
      run_with<Norm::max>(arguments, stream);
    else if (arguments.norm == problem::NormKind::l2)
      run_with<Norm::l2>(arguments, stream);
    else
      run_with<Norm::none>(arguments, stream);
  }

  void settle(const NormVerdict& verdict, problem::NormKind kind, Stream stream) override {
    NormPlace place{};
    place.norm = verdict.norm;
    place.stop = verdict.stop;
    place.tolerance = verdict.tolerance;
    place.meeting = meeting_of(verdict);
    device::cuda::launch(
        kind == problem::NormKind::max ? settle_last<Norm::max> : settle_last<Norm::l2>, 1,
        block_threads, stream, place);
  }

  std::string_view simd() const override { return ""; }

 private:
  template <Norm kind>
  void run_with(const SweepArguments& arguments, Stream stream) const {
    Work<Real> work = work_for(arguments);
    if constexpr (axes > 1) {
      if (suits_march<Real>(arguments.in) && suits_march<Real>(arguments.out) &&
          lead_of<Real>(address_of(arguments.in, arguments.region.lower)) ==
              lead_of<Real>(address_of(arguments.out, arguments.region.lower))) {
        using Chosen = ShapeFor<kind, axes, Real>;
        begin_at_boundary<Chosen>(work);
        const std::int64_t tiles = Tiles<Chosen, Real, axes>::of(work).count();
        device::cuda::launch(march<kind, axes, Real, Formula>,
                             device::cuda::blocks_for(tiles, block_warps, most_blocks),
                             block_threads, stream, work, formula_);
        return;
      }
    }
    device::cuda::launch(
        per_cell<kind, axes, Real, Formula>,
        device::cuda::blocks_for(arguments.region.cells(), block_threads, most_blocks),
        block_threads, stream, work, formula_);
  }

  Work<Real> work_for(const SweepArguments& arguments) const {
    const Box& region = arguments.region;
    const Int3 extent = region.extent();
    Work<Real> work{};
    work.in = reinterpret_cast<const Real*>(address_of(arguments.in, region.lower));
    work.out = reinterpret_cast<Real*>(address_of(arguments.out, region.lower));
    for (int axis = 0; axis < 3; ++axis) {
      work.in_step[axis] = steps_of(arguments.in)[axis];
      work.out_step[axis] = steps_of(arguments.out)[axis];
      work.cells[axis] = extent[axis];
    }
    work.owned = owned_within(region, arguments.out.shape().owned);
    work.norm = {.sum = arguments.norm_sum,
                 .partials = static_cast<double*>(partials_.get()),
                 .arrived = static_cast<unsigned*>(arrived_.get()),
                 .ends = arguments.verdict.is_wanted(),
                 .norm = arguments.verdict.norm,
                 .stop = arguments.verdict.stop,
                 .tolerance = arguments.verdict.tolerance,
                 .meeting = meeting_of(arguments.verdict)};
    work.stop = arguments.stop;
    return work;
  }

  template <class Chosen>
  void begin_at_boundary(Work<Real>& work) const {
    work.lead = lead_of<Real>(reinterpret_cast<const std::byte*>(work.in));
    work.in -= work.lead;
    work.out -= work.lead;
    work.layers = Chosen::layers;
    // Small regions: shorter walks, of whole groups as long as they can be, until there are 12
    // warps for each multiprocessor.
    const std::int64_t wanted = std::int64_t{12} * multiprocessors_;
    while (work.layers > fewest_layers && Tiles<Chosen, Real, axes>::of(work).count() < wanted)
      work.layers = work.layers > Chosen::ahead ? work.layers - Chosen::ahead : work.layers / 2;
  }

  Formula formula_;
  SweepNeeds needs_;
  int multiprocessors_;
  std::shared_ptr<void> partials_, arrived_;
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

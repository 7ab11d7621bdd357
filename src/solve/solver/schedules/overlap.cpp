// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <halocline/exchange.hpp>

#include "device/queue.hpp"
#include "solver/runner.hpp"
#include "solver/schedules/schedules.hpp"
#include "solver/schedules/single_sweeps.hpp"

namespace halocline::solver {
namespace {

// Cells swept between two looks at MPI: about 90 us at 3 GLUP/s per rank, so that a rendezvous
// of several steps still finishes within a sweep of a millisecond, at a cost of 0.1 us each.
constexpr std::int64_t cells_between_progress = 1 << 18;

class OverlapStepper final : public SingleSweeps {
 public:
  explicit OverlapStepper(Runner& runner) : SingleSweeps(runner) {
    if (!runner.target().stream().is_host()) branch_.emplace();
  }

 private:
  void exchange_and_sweep(const Step& step, Stream stream) override {
    const Box interior = intersect(runner().grid().interior(), step.arguments.region);
    const std::vector<Box> rim = subtract(step.arguments.region, interior);
    if (stream.is_host())
      run_on_host(step, interior, rim);
    else
      run_on_gpu(step, interior, rim, stream);
  }

  void run_on_host(const Step& step, const Box& interior, const std::vector<Box>& rim) {
    runner().exchange().start(step.level, Stream::host());
    sweep_with_progress(step, interior);
    runner().exchange().finish(step.level, Stream::host());
    Part part = interior.empty() ? Part::first : Part::more;
    for (const Box& box : rim)
      sweep(step.arguments, box, std::exchange(part, Part::more), Stream::host());
  }

  void sweep_with_progress(const Step& step, const Box& interior) {
    if (interior.empty()) return;
    const Int3 extent = interior.extent();
    const int axis = extent.z > 1 ? 2 : extent.y > 1 ? 1 : 0;
    const std::int64_t cells_per_layer = interior.cells() / extent[axis];
    const std::int64_t layers = std::max<std::int64_t>(1, cells_between_progress / cells_per_layer);
    for (std::int64_t at = interior.lower[axis]; at < interior.upper[axis]; at += layers) {
      Box slab = interior;
      slab.lower[axis] = at;
      slab.upper[axis] = std::min(at + layers, interior.upper[axis]);
      sweep(step.arguments, slab, at == interior.lower[axis] ? Part::first : Part::more,
            Stream::host());
      runner().exchange().progress(step.level);
    }
  }

  /// On four H200 laplace in f32 on 16384x16384 cells and a process grid of 1x4 took 142 us a sweep
  /// with peer (one stream for all 155, sequential 146) and 156 with staged (169, 216); star7 in
  /// f64 with 512^3 cells for each of 2x2x1 took 808 with peer (838; sequential 655, since an
  /// interior that begins within a vector, and rims one cell wide, cost more than is hidden) and
  /// 2593 with staged (2462, 2772). To sweep the rim first, and send it while the interior is
  /// swept, would make the same chain: halo, rim, next halo beside one interior.
  ///
  /// The halo, the rim and the norm to reduce go by a branch; the interior waits for nobody. So it
  /// is right in whatever order the two are done, also one after the other: what a rank waits for
  /// is in other ranks' branches only, halos packed before halos awaited, norms sent after them.
  void run_on_gpu(const Step& step, const Box& interior, const std::vector<Box>& rim,
                  Stream stream) {
    stencil::Sweep& sweep = runner().sweep();
    stencil::SweepArguments arguments = step.arguments;
    const stencil::NormReduction reduction = std::exchange(arguments.reduction, {});
    // A norm that would be added up after each region is once all are done.
    const bool adds_up = arguments.norm != Norm::none && arguments.norm_parts == nullptr;
    if (adds_up) arguments.norm_parts = sweep.room_for_parts();

    const Stream branch = branch_->fork(stream);
    runner().exchange().start(step.level, branch);
    arguments.region = interior;
    arguments.is_last = rim.empty();
    if (rim.empty()) arguments.reduction = reduction;
    if (!interior.empty()) clock().time(stream, 0, [&] { sweep.run(arguments, stream); });
    runner().exchange().finish(step.level, branch);
    for (std::size_t box = 0; box < rim.size(); ++box) {
      arguments.region = rim[box];
      arguments.is_first = interior.empty() && box == 0;
      arguments.is_last = box + 1 == rim.size();
      arguments.reduction = box == 0 ? reduction : stencil::NormReduction{};
      // Beside the interior, which is timed.
      sweep.run(arguments, branch);
    }
    branch_->join(stream);
    if (adds_up)
      sweep.reduce(
          {.parts = arguments.norm_parts, .kind = arguments.norm, .sum = arguments.norm_sum},
          stream);
  }

  std::optional<device::Branch> branch_;  // on a GPU
};

class Overlap final : public Schedule {
 public:
  std::string_view name() const override { return "overlap"; }
  MadeStepper make(Runner& runner) const override {
    return {.stepper = std::make_unique<OverlapStepper>(runner)};
  }
  /// It pays where the host has to wait for others to send. Copies on the node use the same memory
  /// as the sweep: nothing is gained by doing both at once.
  bool is_preferred(const Runner& runner) const override { return runner.needs_progress(); }
  bool is_about_halos() const override { return true; }
};

}  // namespace

const Schedule& overlap_schedule() {
  static const Overlap schedule;
  return schedule;
}

}  // namespace halocline::solver

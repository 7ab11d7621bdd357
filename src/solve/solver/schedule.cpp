// SPDX-License-Identifier: Apache-2.0
#include "solver/schedule.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>

#include <halocline/error.hpp>

namespace halocline::solver {
namespace {

// Cells swept between two looks at MPI: about 90 us at 3 GLUP/s per rank, so that a rendezvous
// of several steps still finishes within a sweep of a millisecond, at a cost of 0.1 us each.
constexpr std::int64_t cells_between_progress = 1 << 18;

class Sequential final : public Schedule {
 public:
  std::string_view name() const override { return "sequential"; }
  void run(const Step& step, Stream stream) const override {
    step.exchange.run(stream);
    sweep_timed(step, step.arguments.region, Part::first, stream);
  }
};

/// Sweeps the cells that need no halo while the halo is on its way.
class Overlap final : public Schedule {
 public:
  std::string_view name() const override { return "overlap"; }
  void run(const Step& step, Stream stream) const override {
    const Box interior = intersect(step.grid.interior(), step.arguments.region);
    const std::vector<Box> rim = subtract(step.arguments.region, interior);
    if (stream.is_host())
      run_on_host(step, interior, rim);
    else
      run_on_gpu(step, interior, rim, stream);
  }

 private:
  static void run_on_host(const Step& step, const Box& interior, const std::vector<Box>& rim) {
    step.exchange.start(Stream::host());
    sweep_with_progress(step, interior);
    step.exchange.finish(Stream::host());
    Part part = interior.empty() ? Part::first : Part::more;
    for (const Box& box : rim)
      sweep_timed(step, box, std::exchange(part, Part::more), Stream::host());
  }

  static void sweep_with_progress(const Step& step, const Box& interior) {
    if (interior.empty()) return;
    const Int3 extent = interior.extent();
    const int axis = extent.z > 1 ? 2 : extent.y > 1 ? 1 : 0;
    const std::int64_t cells_per_layer = interior.cells() / extent[axis];
    const std::int64_t layers = std::max<std::int64_t>(1, cells_between_progress / cells_per_layer);
    for (std::int64_t at = interior.lower[axis]; at < interior.upper[axis]; at += layers) {
      Box slab = interior;
      slab.lower[axis] = at;
      slab.upper[axis] = std::min(at + layers, interior.upper[axis]);
      sweep_timed(step, slab, at == interior.lower[axis] ? Part::first : Part::more,
                  Stream::host());
      step.exchange.progress();
    }
  }

  /// On four H200 laplace in f32 on 16384x16384 cells and a process grid of 1x4 took 142 us a sweep
  /// with peer (one stream for all 155, sequential 146) and 156 with staged (169, 216); star7 in
  /// f64 with 512^3 cells for each of 2x2x1 took 808 with peer (838; sequential 655, since an
  /// interior that begins within a vector, and rims one cell wide, cost more than is hidden) and
  /// 2593 with staged (2462, 2772). To sweep the rim first, and send it while the interior is
  /// swept, would make the same chain: halo, rim, next halo beside one interior.
  ///
  /// The halo, the rim and the norm to settle go by a branch; the interior waits for nobody. So it
  /// is right in whatever order the two are done, also one after the other: what a rank waits for
  /// is in other ranks' branches only, halos packed before halos awaited, norms sent after them.
  static void run_on_gpu(const Step& step, const Box& interior, const std::vector<Box>& rim,
                         Stream stream) {
    stencil::SweepArguments arguments = step.arguments;
    const stencil::Settling settling = std::exchange(arguments.settling, {});
    // A norm that would be added up after each region is once all are done.
    const bool adds_up =
        arguments.norm != problem::NormKind::none && arguments.norm_parts == nullptr;
    if (adds_up) arguments.norm_parts = step.sweep.room_for_parts();

    const Stream branch = step.branch->fork(stream);
    step.exchange.start(branch);
    arguments.region = interior;
    arguments.is_last = rim.empty();
    if (rim.empty()) arguments.settling = settling;
    if (!interior.empty()) step.clock.time(stream, 0, [&] { step.sweep.run(arguments, stream); });
    step.exchange.finish(branch);
    for (std::size_t box = 0; box < rim.size(); ++box) {
      arguments.region = rim[box];
      arguments.is_first = interior.empty() && box == 0;
      arguments.is_last = box + 1 == rim.size();
      arguments.settling = box == 0 ? settling : stencil::Settling{};
      // Beside the interior, which is timed.
      step.sweep.run(arguments, branch);
    }
    step.branch->join(stream);
    if (adds_up)
      step.sweep.settle(
          {.parts = arguments.norm_parts, .kind = arguments.norm, .sum = arguments.norm_sum},
          stream);
  }
};

/// Leaves halos to the sweep itself: one launch does all.
class Fused final : public Schedule {
 public:
  std::string_view name() const override { return "fused"; }
  bool needs_links() const override { return true; }
  std::string_view needs() const override {
    return "transport peer, one GPU for each rank and a process grid that splits the last axis "
           "only";
  }
  void run(const Step& step, Stream stream) const override {
    if (step.faces == nullptr)
      throw Error(ErrorKind::internal, "a sweep shall send its halo itself and has no links");
    if (step.is_first) step.exchange.run(stream);
    Step pushing = step;
    pushing.arguments.faces = step.faces;
    sweep_timed(pushing, step.arguments.region, Part::first, stream);
  }
};

/// Cells stay in the GPU's registers: see stencil/persistent.hpp. Sweeps outside of a batch run as
/// in `sequential`.
class Persistent final : public Schedule {
 public:
  std::string_view name() const override { return "persistent"; }
  void run(const Step& step, Stream stream) const override {
    step.exchange.run(stream);
    sweep_timed(step, step.arguments.region, Part::first, stream);
  }
  bool needs_links() const override { return true; }
  bool takes_batches() const override { return true; }
  std::string_view needs() const override {
    return "a grid of two axes whose cells find room in the GPUs' registers, transport peer, one "
           "GPU for each rank and a process grid that splits the last axis only";
  }
};

}  // namespace

void sweep_timed(const Step& step, const Box& region, Part part, Stream stream) {
  stencil::SweepArguments arguments = step.arguments;
  arguments.region = region;
  arguments.is_first = part == Part::first;
  if (!arguments.is_first) arguments.settling = {};
  step.clock.time(stream, 0, [&] { step.sweep.run(arguments, stream); });
}

std::span<const Schedule* const> schedules() {
  static const Sequential sequential;
  static const Overlap overlap;
  static const Fused fused;
  static const Persistent persistent;
  static const std::array<const Schedule*, 4> all{&sequential, &overlap, &fused, &persistent};
  return all;
}

const Schedule& find_schedule(std::string_view name) {
  std::string names = "auto";
  for (const Schedule* schedule : schedules()) {
    if (schedule->name() == name) return *schedule;
    names += fmt::format(", {}", schedule->name());
  }
  throw Error(ErrorKind::usage,
              fmt::format("there is no schedule '{}'; there are: {}", name, names));
}

}  // namespace halocline::solver

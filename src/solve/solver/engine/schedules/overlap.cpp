// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <halocline/exchange.hpp>

#include "device/queue.hpp"
#include "solver/engine/runner.hpp"
#include "solver/engine/schedules/pass_stepper.hpp"
#include "solver/engine/schedules/schedules.hpp"

namespace halocline::solver {
namespace {

// Cells swept between two calls of progress(): about 90 us at 3 GLUP/s per rank, so that a
// rendezvous of several steps still finishes within a sweep of a millisecond, at a cost of 0.1 us
// per call.
constexpr std::int64_t cells_between_progress = 1 << 18;
// Of each sweep of a pass by several: some 3 % of the layers of a piece are computed twice.
constexpr std::int64_t layers_of_pieces = 32;

class OverlapStepper final : public PassStepper {
 public:
  explicit OverlapStepper(Runner& runner) : PassStepper(runner) {
    if (!runner.target().stream().is_host()) branch_.emplace();
  }

 private:
  void exchange_and_sweep(const Step& step, Stream stream) override {
    const HaloWidths reach = runner().the_case().halo(step.pass.sweeps);
    const Box interior = intersect(runner().exchange_grid().interior(reach), step.pass.region);
    const std::vector<Box> rim = subtract(step.pass.region, interior);
    if (stream.is_host())
      run_on_host(step, interior, rim);
    else
      run_on_gpu(step, interior, rim, stream);
  }

  void run_on_host(const Step& step, const Box& interior, const std::vector<Box>& rim) {
    runner().exchange().start(step.level, Stream::host());
    fill_ghosts(step, stencil::Ghosts::Beside::owned, Stream::host());
    sweep_with_progress(step, interior);
    runner().exchange().finish(Stream::host());
    fill_ghosts(step, stencil::Ghosts::Beside::held, Stream::host());
    Part part = interior.empty() ? Part::first : Part::more;
    for (const Box& box : rim)
      sweep(step.pass, box, std::exchange(part, Part::more), Stream::host());
  }

  void sweep_with_progress(const Step& step, const Box& interior) {
    if (interior.empty()) return;
    const Int3 extent = interior.extent();
    const int axis = extent.z > 1 ? 2 : extent.y > 1 ? 1 : 0;
    const std::int64_t cells_per_layer = interior.cells() / extent[axis];
    // Each piece of several sweeps computes some layers beyond it, too.
    const std::int64_t beyond = (step.pass.sweeps - 1) * layers_of_pieces;
    const std::int64_t layers =
        std::max<std::int64_t>(1 + beyond, cells_between_progress / cells_per_layer);
    for (std::int64_t at = interior.lower[axis]; at < interior.upper[axis]; at += layers) {
      Box slab = interior;
      slab.lower[axis] = at;
      slab.upper[axis] = std::min(at + layers, interior.upper[axis]);
      sweep(step.pass, slab, at == interior.lower[axis] ? Part::first : Part::more, Stream::host());
      runner().exchange().progress();
    }
  }

  /// The exchange, the rim and the reduction of the previous norm run on a branch of the stream;
  /// the interior waits for no rank. The result is right in any order of the two, even one after
  /// the other: a rank waits only for other ranks' branches, which pack halos before they wait for
  /// halos, and send norms after that.
  ///
  /// On four H200, laplace in f32 on 16384x16384 cells and a process grid of 1x4 took 142 us per
  /// sweep with peer (155 on one stream, 146 with sequential) and 156 with staged (169, 216); star7
  /// in f64 with 512^3 cells per rank and a process grid of 2x2x1 took 808 us with peer (838; 655
  /// with sequential: an interior that begins within a vector, and rims one cell wide, cost more
  /// than the overlap hides) and 2593 with staged (2462, 2772). Sweeping the rim first and sending
  /// it during the interior would form the same chain: halo, rim and next halo, in parallel
  /// with one interior.
  void run_on_gpu(const Step& step, const Box& interior, const std::vector<Box>& rim,
                  Stream stream) {
    stencil::Sweep& sweep = runner().sweep();
    stencil::Pass pass = step.pass;
    const stencil::NormReduction reduction = std::exchange(pass.reduction, {});
    // Add up the norm once after all regions, not after each.
    const bool adds_up = pass.norms.kind != Norm::none && pass.norms.parts == nullptr;
    if (adds_up) pass.norms.parts = sweep.room_for_partial_norms();

    fill_ghosts(step, stencil::Ghosts::Beside::owned, stream);
    const Stream branch = branch_->fork(stream);
    runner().exchange().start(step.level, branch);
    pass.region = interior;
    pass.is_last = rim.empty();
    if (rim.empty()) pass.reduction = reduction;
    if (!interior.empty()) clock().time(stream, 0, [&] { sweep.run(pass, stream); });
    runner().exchange().finish(branch);
    // Ghosts next to owned cells are filled again, with the same values.
    fill_ghosts(step, stencil::Ghosts::Beside::held, branch);
    for (std::size_t box = 0; box < rim.size(); ++box) {
      pass.region = rim[box];
      pass.is_first = interior.empty() && box == 0;
      pass.is_last = box + 1 == rim.size();
      pass.reduction = box == 0 ? reduction : stencil::NormReduction{};
      // Not timed: it runs at the same time as the interior, which is.
      sweep.run(pass, branch);
    }
    branch_->join(stream);
    if (adds_up)
      sweep.reduce({.parts = pass.norms.parts, .kind = pass.norms.kind, .sum = pass.norms.sum},
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
  /// Pays where messages take a network. Copies within a node share the memory bandwidth with the
  /// sweep, so that overlap gains nothing.
  bool is_preferred(const Runner& runner) const override {
    return runner.needs_progress() || runner.calls_between_nodes();
  }
  bool does_passes() const override { return true; }
  bool is_about_halos() const override { return true; }
};

}  // namespace

const Schedule& overlap_schedule() {
  static const Overlap schedule;
  return schedule;
}

}  // namespace halocline::solver

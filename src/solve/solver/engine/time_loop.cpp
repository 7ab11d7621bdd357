// SPDX-License-Identifier: Apache-2.0
#include "solver/engine/time_loop.hpp"

#include <algorithm>
#include <limits>

#include <halocline/exchange.hpp>

#include "comm/collectives.hpp"
#include "device/queue.hpp"
#include "link/wait_for.hpp"
#include "solver/engine/runner.hpp"

namespace halocline::solver {

bool Pauses::is_due(std::int64_t sweeps) const {
  return std::any_of(intervals.begin(), intervals.end(),
                     [&](std::int64_t interval) { return sweeps % interval == 0; }) ||
         (later && sweeps >= later->sweeps && (sweeps - later->sweeps) % later->interval == 0);
}

std::int64_t Pauses::sweeps_left(std::int64_t sweeps) const {
  std::int64_t left = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t interval : intervals) left = std::min(left, interval - sweeps % interval);
  if (later)
    left = std::min(left, sweeps < later->sweeps
                              ? later->sweeps - sweeps
                              : later->interval - (sweeps - later->sweeps) % later->interval);
  return left;
}

namespace {

/// Of sweeps that are done again: nothing stops them. They have their norms, which nobody reads,
/// for kernels without one may not have been compiled.
class NeverStopping final : public Stopping {
 public:
  NeverStopping(const Case& the_case, const RunState& start, stencil::Sweep& sweep)
      : Stopping(the_case, start), sweep_(sweep) {}
  void begin(stencil::Pass& pass, Stream stream) override {
    if (stream.is_host()) return;  // without norms
    pass.norms = norms_of(pass);
    pass.norms.parts = sweep_.room_for_partial_norms();
  }
  void end(const stencil::Pass&, Stream) override {}
  bool stops_before(std::int64_t) override { return false; }
  std::optional<double> norm_of_last(std::int64_t) override { return std::nullopt; }
  std::int64_t finish(std::int64_t sweeps) override { return sweeps; }

 private:
  stencil::Sweep& sweep_;
};

/// Returns the level with the result of the sweeps that count. Where the run stopped within a pass,
/// its first sweeps are queued again, one by one.
std::size_t level_of(std::int64_t counted, const Run& run, Stepper& stepper,
                     stencil::Sweep& sweep) {
  const Held held = run.held_at(counted);
  if (held.sweeps == counted) return held.level;
  const RunState start{.sweep = held.sweeps, .level = held.level};
  NeverStopping stopping(run.the_case, start, sweep);
  Run again{.the_case = run.the_case, .stopping = stopping, .at = start};
  while (again.at.sweep < counted) stepper.advance(again, counted - again.at.sweep);
  return again.at.level;
}

}  // namespace

LoopResult run_loop(Runner& runner, Stepper& stepper, Run run, const AfterSweep& after_sweep,
                    const Pauses& pauses) {
  const std::int64_t sweeps = run.the_case.sweeps, begin = run.at.sweep;
  const Stream stream = runner.target().stream();
  Recorder& recorder = comm::recorder(runner.communicator());
  comm::barrier(runner.communicator());
  if (!run.at.continues) recorder.reset_totals();
  auto begun = Clock::now();
  double first_sweep_seconds = 0;

  // Returns false if the run ends there or has stopped before.
  const auto pause = [&] {
    link::wait_for(runner.communicator(), stream);
    if (run.stopping.stopped_within(run.at.sweep)) return false;
    const auto stopped = Clock::now();
    const Pauses::Next next = pauses.on_pause(run.at.sweep, run.at.level, run.stopping);
    begun += Clock::now() - stopped;
    return next == Pauses::Next::resume;
  };

  while (run.at.sweep < sweeps && !run.stopping.stops_before(run.at.sweep)) {
    const bool is_asked = pauses.is_requested && pauses.is_requested(run.at.sweep);
    if ((is_asked || pauses.is_due(run.at.sweep)) && !pause()) break;
    const bool is_first = run.at.sweep == run.first && !run.at.continues;
    const std::int64_t at_once = is_first ? 1
                                          : std::min(run.stopping.sweeps_at_once(run.at.sweep),
                                                     pauses.sweeps_left(run.at.sweep));
    stepper.advance(run, std::min(at_once, sweeps - run.at.sweep));
    if (is_first) {
      link::wait_for(runner.communicator(), stream);
      first_sweep_seconds = seconds_since(begun);
      recorder.reset_totals();
      begun = Clock::now();
    }
    after_sweep(run.at.sweep - 1);
  }
  const std::int64_t counted = run.stopping.finish(run.at.sweep);
  const std::size_t last_level = level_of(counted, run, stepper, runner.sweep());
  link::wait_for(runner.communicator(), stream);
  // Throws if a kernel gave up waiting for a neighbour.
  runner.exchange().progress();
  stepper.check();
  const double loop_seconds = seconds_since(begun);
  comm::barrier(runner.communicator());
  recorder.collect();
  // Some may be queued beyond the end, before the norm is known.
  const auto of_result = [&](std::int64_t done) { return std::min(done, counted - begin); };
  return {.sweeps = counted,
          .level = last_level,
          .exchanges = run.exchanges,
          .sweeps_in_graphs = of_result(run.sweeps_in_graphs),
          .sweeps_in_passes = of_result(run.sweeps_in_passes),
          .first_sweep_seconds = first_sweep_seconds,
          .loop_seconds = loop_seconds};
}

}  // namespace halocline::solver

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
         (one_later && sweeps > 0 && (sweeps - 1) % *one_later == 0);
}

std::int64_t Pauses::sweeps_left(std::int64_t sweeps) const {
  std::int64_t left = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t interval : intervals) left = std::min(left, interval - sweeps % interval);
  if (one_later) left = std::min(left, sweeps == 0 ? 1 : *one_later - (sweeps - 1) % *one_later);
  return left;
}

LoopResult run_loop(Runner& runner, Stepper& stepper, Run run, const AfterSweep& after_sweep,
                    const Pauses& pauses) {
  const std::int64_t sweeps = run.the_case.sweeps;
  const RunState start = run.at;
  const Stream stream = runner.target().stream();
  Recorder& recorder = comm::recorder(runner.communicator());
  comm::barrier(runner.communicator());
  recorder.reset_totals();
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
    const bool is_first = run.at.sweep == run.first;
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
  link::wait_for(runner.communicator(), stream);
  // Throws if a kernel gave up waiting for a neighbour.
  for (std::int64_t level = 0; level < runner.exchange().levels(); ++level)
    runner.exchange().progress(level);
  stepper.check();
  const double loop_seconds = seconds_since(begun);
  comm::barrier(runner.communicator());
  recorder.collect();
  // Surplus sweeps have not overwritten the level of the last sweep that counts.
  const auto done = static_cast<std::size_t>(counted - start.sweep);
  return {.sweeps = counted,
          .level = (start.level + done) % runner.levels().size(),
          .exchanges = run.exchanges,
          .sweeps_in_graphs = run.sweeps_in_graphs,
          .first_sweep_seconds = first_sweep_seconds,
          .loop_seconds = loop_seconds};
}

}  // namespace halocline::solver

// SPDX-License-Identifier: Apache-2.0
#include "solver/time_loop.hpp"

#include <algorithm>

#include <halocline/exchange.hpp>

#include "comm/collectives.hpp"
#include "device/queue.hpp"
#include "link/wait_for.hpp"
#include "solver/runner.hpp"

namespace halocline::solver {

LoopResult run_loop(Runner& runner, Stepper& stepper, Run run, const AfterSweep& after_sweep) {
  const std::int64_t sweeps = run.the_case.sweeps;
  const RunState start = run.at;
  const Stream stream = runner.target().stream();
  Recorder& recorder = comm::recorder(runner.communicator());
  comm::barrier(runner.communicator());
  recorder.reset_totals();
  auto begun = Clock::now();
  double first_sweep_seconds = 0;

  while (run.at.sweep < sweeps && !run.stopping.stops_before(run.at.sweep)) {
    const bool is_first = run.at.sweep == run.first;
    const std::int64_t at_once = is_first ? 1 : run.stopping.sweeps_at_once(run.at.sweep);
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
  for (const std::int64_t level : {0, 1}) runner.exchange().progress(level);
  stepper.check();
  const double loop_seconds = seconds_since(begun);
  comm::barrier(runner.communicator());
  recorder.collect();
  // Surplus sweeps have not overwritten the level of the last sweep that counts.
  const auto done = static_cast<std::size_t>(counted - start.sweep);
  return {.sweeps = counted,
          .level = (start.level + done) % 2,
          .exchanges = run.exchanges,
          .sweeps_in_graphs = run.sweeps_in_graphs,
          .first_sweep_seconds = first_sweep_seconds,
          .loop_seconds = loop_seconds};
}

}  // namespace halocline::solver

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sweep after sweep, until the last or until a norm stops the run.

#include <functional>

#include "solver/stepper.hpp"
#include "solver/stopping.hpp"

namespace halocline::solver {

class Runner;

struct LoopResult {
  std::int64_t sweeps;  ///< done by all runs so far that count: the one that stopped it is the last
  std::size_t level;    ///< which level holds the result
  std::int64_t exchanges;                    ///< done one by one
  std::int64_t sweeps_in_graphs;             ///< of those begun
  double first_sweep_seconds, loop_seconds;  ///< of this rank; the loop without the first sweep
};

/// Called after a sweep, or after the last of some queued at once, with its number from 0; must be
/// cheap.
using AfterSweep = std::function<void(std::int64_t sweep)>;

/// Runs a case from where `start` stands to its last sweep. Collective.
LoopResult run_loop(Runner& runner, Stepper& stepper, Run run, const AfterSweep& after_sweep);

}  // namespace halocline::solver

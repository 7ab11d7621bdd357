// SPDX-License-Identifier: Apache-2.0
#pragma once
// The time loop: sweeps until the last one, or until a norm stops the run.

#include <functional>
#include <optional>
#include <vector>

#include "solver/engine/stepper.hpp"
#include "solver/engine/stopping.hpp"

namespace halocline::solver {

class Runner;

struct LoopResult {
  std::int64_t sweeps;            ///< of this and earlier runs, up to the sweep that stopped it
  std::size_t level;              ///< the level with the result
  std::int64_t exchanges;         ///< queued outside graphs
  std::int64_t sweeps_in_graphs;  ///< of the sweeps queued
  std::int64_t sweeps_in_passes;  ///< of the sweeps queued, by several a pass over memory
  double first_sweep_seconds, loop_seconds;  ///< of this rank; the loop excludes the first sweep
};

/// Called after queueing a sweep, or the last of several, with its number from 0; must be cheap.
using AfterSweep = std::function<void(std::int64_t sweep)>;

/// When a run pauses so that its fields can be read: at multiples of an interval of sweeps,
/// optionally some sweeps later, or on request, but not after the last sweep.
struct Pauses {
  std::vector<std::int64_t> intervals = {};
  /// As many sweeps, at most the interval, after its multiples.
  struct Later {
    std::int64_t interval, sweeps;
  };
  std::optional<Later> later = {};
  /// Called on every rank, at the same sweeps, as often as sweeps are queued; must be cheap.
  /// Returns, the same on every rank, whether the run pauses there.
  std::function<bool(std::int64_t sweeps)> is_requested = {};
  enum class Next { resume, end };
  /// Called on every rank, after the same number of sweeps, all of which count; the level has
  /// the values after them. It must not change them. Its time counts as none of the loop's.
  /// Returns, the same on every rank, whether the run ends there.
  std::function<Next(std::int64_t sweeps, std::size_t level, Stopping& stopping)> on_pause = {};

  bool is_due(std::int64_t sweeps) const;
  /// Returns how many sweeps are left until the next one, at least 1.
  std::int64_t sweeps_left(std::int64_t sweeps) const;
};

/// Runs a case from the state `run.at` to its last sweep, and waits until all sweeps are done.
/// Collective. Throws communication if a neighbour does not answer.
LoopResult run_loop(Runner& runner, Stepper& stepper, Run run, const AfterSweep& after_sweep,
                    const Pauses& pauses);

}  // namespace halocline::solver

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Steppers: advance a run by passes of one or more sweeps.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "solver/case.hpp"
#include "stencil/graph_clock.hpp"

namespace halocline::solver {

class Stopping;

/// The state of a run between two sweeps, besides the values of its levels. A run may begin at any.
struct RunState {
  std::int64_t sweep = 0;         ///< number of the next sweep, and of sweeps done
  std::size_t level = 0;          ///< the level with the newest values
  std::int64_t fresh_layers = 0;  ///< valid halo layers, counted from the owned cells outward
  std::vector<std::pair<std::int64_t, double>> norms = {};  ///< of earlier sweeps, in order
  bool continues = false;  ///< a run of this process, whose times count with those to come
};

/// What a pass left: the level that holds the result of a number of sweeps.
struct Held {
  std::int64_t sweeps;
  std::size_t level;
  /// Whether the level has the result of the last sweep that counts if a norm stops the run within
  /// the pass. Otherwise what the pass read is still there, to do its first sweeps again.
  bool ends_early = false;
};

/// A run of a case, which a stepper advances.
struct Run {
  const Case& the_case;
  Stopping& stopping;
  RunState at;
  std::int64_t first = at.sweep;                    ///< number of its first sweep
  std::vector<Held> held = {{at.sweep, at.level}};  ///< what passes read and left, the latest last
  std::int64_t exchanges = 0;                       ///< queued outside graphs
  std::int64_t sweeps_in_graphs = 0;                ///< of the sweeps queued
  std::int64_t sweeps_per_pass = 1;                 ///< the most of a pass over memory
  std::int64_t sweeps_in_passes = 0;  ///< of the sweeps queued, by several a pass over memory
  /// While a graph is recorded whose sweeps depend on time: in device memory, where each launch
  /// has the number of its first sweep, and that number now.
  const long long* graph_first = nullptr;
  std::int64_t recorded_first = 0;

  stencil::GraphClock clock_of(std::int64_t sweep) const {
    return {graph_first, sweep - recorded_first, the_case.dt()};
  }
  /// Advances the state by a pass of `sweeps` sweeps, whose result is in `level`.
  void finish_pass(std::int64_t sweeps, std::size_t level, bool ends_early = false);
  /// Returns what holds the result of `sweeps` sweeps, the last of all that have been done, or the
  /// last of those that count: surplus sweeps have not overwritten it. Where that was within a
  /// pass, what the pass read.
  Held held_at(std::int64_t sweeps) const;
};

/// Queues the sweeps of a run on a stream, and their exchanges.
class Stepper {
 public:
  virtual ~Stepper() = default;
  /// Queues the next sweeps, at least one and at most `most`, and advances the run's state. All
  /// neighbours must do the same. `most` is at most Stopping::sweeps_at_once().
  virtual void advance(Run& run, std::int64_t most) = 0;
  /// Throws communication if a kernel gave up waiting for a neighbour. Call it when sweeps are
  /// done.
  virtual void check() {}
  /// Returns how long its own kernels took to compile, if they were when it was made.
  virtual double compile_seconds() const { return 0; }
};

}  // namespace halocline::solver

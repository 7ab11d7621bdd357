// SPDX-License-Identifier: Apache-2.0
#pragma once
// What moves a run on, sweep by sweep or many sweeps at once.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "solver/case.hpp"

namespace halocline::solver {

class Stopping;

/// Where a run stands between two sweeps, beside the values of its levels. A run may begin at any.
struct RunState {
  std::int64_t sweep = 0;         ///< the next one's number: so many are done
  std::size_t level = 0;          ///< that holds the newest values
  std::int64_t fresh_layers = 0;  ///< halo cells still right, from the owned ones outward
  std::vector<std::pair<std::int64_t, double>> norms;  ///< of earlier sweeps, in their order
};

/// A run of a case as its stepper moves it on.
struct Run {
  const Case& the_case;
  Stopping& stopping;
  RunState at;
  std::int64_t first = at.sweep;      ///< the number of its first sweep
  std::int64_t exchanges = 0;         ///< done one by one
  std::int64_t sweeps_in_graphs = 0;  ///< of those begun
};

/// Gives a stream the sweeps of a run, and what is to be done for their halos.
class Stepper {
 public:
  virtual ~Stepper() = default;
  /// Queues the next sweeps, at least one and at most `most`, and moves the run on. All neighbours
  /// must do the same. `most` is not larger than what Stopping::sweeps_at_once() allows.
  virtual void advance(Run& run, std::int64_t most) = 0;
  /// Once sweeps are done: throws communication if a kernel gave up waiting for a neighbour.
  virtual void check() {}
};

}  // namespace halocline::solver

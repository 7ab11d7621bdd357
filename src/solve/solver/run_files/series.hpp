// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sums and probes of a run over time.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/grid.hpp>
#include <halocline/solver.hpp>

#include "solver/case.hpp"
#include "solver/engine/levels.hpp"

namespace halocline::solver {

/// Collects the rows of a series.
class Series {
 public:
  /// The parts must outlive it.
  Series(const Communicator& communicator, const Grid& grid, const Case& the_case, int threads);

  /// Begins with the rows of an earlier run, but for one of its end, which a longer one would not
  /// have.
  void resume(std::vector<SolveResult::Series::Row> rows);
  /// Adds the row of the fields after `sweeps` sweeps, unless it exists. Copies fields in GPU
  /// memory to the host for their sums, and single cells for probes. Collective.
  void add(const Level& level, std::int64_t sweeps);
  /// The same on every rank.
  const SolveResult::Series& so_far() const { return series_; }

 private:
  const Communicator& communicator_;
  const Grid& grid_;
  const Case& case_;
  int threads_;
  SolveResult::Series series_;
};

/// Returns a series as comma-separated values, names in the first line; numbers read back as the
/// same doubles.
std::string csv_of(const SolveResult::Series& series);

}  // namespace halocline::solver

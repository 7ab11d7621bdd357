// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compares a distributed result with the reference solve, cell by cell.

#include <halocline/solver.hpp>

#include "solver/reference_solve.hpp"

namespace halocline::solver {

/// The results to compare: each rank's own part and, on rank 0, the whole result of one rank.
struct Comparison {
  const Communicator& communicator;
  const Case& the_case;
  const Grid& grid;
  const Level& fields;
  const std::vector<std::pair<std::int64_t, double>>& norm_history;
  const ReferenceResult* expected;  ///< on rank 0
  std::string reference;            ///< that made it, for messages
};

/// "(3, 5)"
std::string cell_text(const Int3& cell, int axes);

/// Finds the first cell, in global order, whose bits differ, then compares the norms. Collective;
/// the same result on every rank.
SolveResult::Verification compare(const Comparison& comparison);

}  // namespace halocline::solver

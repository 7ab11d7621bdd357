// SPDX-License-Identifier: Apache-2.0
#pragma once
// Comparing a distributed result with one that was computed alone, cell by cell.

#include <halocline/solver.hpp>

#include "solver/alone.hpp"

namespace halocline::solver {

/// What is compared: on every rank its own part, on rank 0 the whole as computed alone.
struct Comparison {
  const Communicator& communicator;
  const Case& the_case;
  const Grid& grid;
  const FieldStorage& field;
  const std::vector<std::pair<std::int64_t, double>>& norm_history;
  const AloneResult* alone;  ///< on rank 0
  std::string against;       ///< what it was computed with, in words
};

/// Finds the first cell, in global order, whose bits differ, then compares the norms. Collective;
/// the same answer on every rank.
SolveResult::Verification compare(const Comparison& comparison);

}  // namespace halocline::solver

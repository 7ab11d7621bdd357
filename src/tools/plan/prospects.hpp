// SPDX-License-Identifier: Apache-2.0
#pragma once
// The process grids that a run may use, and their costs. Computed without MPI, fields or ranks.

#include <cstdint>
#include <string>
#include <vector>

#include <halocline/solver.hpp>

#include "report/report.hpp"

namespace halocline::plan {

/// One process grid. Values are the maxima over ranks.
struct Prospect {
  Extents process_grid;
  Extents cells_per_rank{};
  std::int64_t messages = 0, bytes = 0;  ///< per exchange, to other ranks
  std::int64_t memory_bytes = 0;         ///< of all levels and coefficients, halos included
  double imbalance = 1;                  ///< cells of the largest part over the mean
  double redundant = 0;                  ///< updates per cell beyond one a sweep
};

struct Refusal {
  Extents process_grid;
  std::string why;
};

struct Plan {
  std::string problem, precision;
  Extents cells;
  int ranks;
  std::int64_t halo_depth, sweeps_per_pass;
  std::vector<Prospect> prospects{};  ///< least traffic cost first
  std::vector<Refusal> refused{};
};

/// Throws usage for options that solve would refuse with any process grid. An impossible process
/// grid that was requested is listed as refused.
Plan make_plan(const SolveOptions& options, int ranks);

Report report_of(const Plan& plan);

}  // namespace halocline::plan

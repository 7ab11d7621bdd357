// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a run would be before it is made: the ways to split its cells, and what each costs. No MPI,
// no memory, no ranks.

#include <cstdint>
#include <string>
#include <vector>

#include <halocline/solver.hpp>

namespace halocline::plan {

/// One process grid. What ranks differ in is that of the rank with most of it.
struct Prospect {
  Extents process_grid;
  Extents cells_per_rank;
  std::int64_t messages, bytes;  ///< per exchange, to other ranks
  std::int64_t memory_bytes;     ///< of two time levels, halos included
  double imbalance;              ///< cells of the largest part over the mean
  double redundant;              ///< updates per cell beyond one, in a deep halo
};

struct Refusal {
  Extents process_grid;
  std::string why;
};

struct Plan {
  std::string problem, precision;
  Extents cells;
  int ranks;
  std::int64_t halo_depth;
  std::vector<Prospect> prospects;  ///< least traffic cost first
  std::vector<Refusal> refused;
};

/// Throws usage for what solve would refuse whatever the process grid. A process grid that is asked
/// for and cannot be is refused in the plan.
Plan make_plan(const SolveOptions& options, int ranks);

}  // namespace halocline::plan

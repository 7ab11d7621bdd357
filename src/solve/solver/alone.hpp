// SPDX-License-Identifier: Apache-2.0
#pragma once
// A solve on one rank, for --verify. Its loop shares only the sweep with the distributed solve: no
// exchange, no decomposition, no late norms. It does not show how fast one rank is: see
// solver/baseline.hpp.

#include <cstdint>
#include <utility>
#include <vector>

#include "solver/case.hpp"
#include "stencil/sweep.hpp"

namespace halocline::solver {

/// Up to so many updates option 'verify' uses plain loops, some seconds on one core; above, the
/// fast backend.
inline constexpr std::int64_t most_updates_by_reference = 1'000'000'000;

struct AloneResult {
  FieldStorage field;
  std::vector<std::pair<std::int64_t, double>> norm_history;
};

struct AloneOptions {
  const stencil::Backend& backend;
  stencil::SweepOptions sweep;
  Memory memory;
  Stream stream;  ///< of the current GPU if the backend sweeps there
};

/// Runs `sweeps` sweeps of a case, whatever its norms. Returns a field that the host can read. Not
/// collective.
AloneResult solve_alone(const Case& the_case, std::int64_t sweeps, const AloneOptions& options);

}  // namespace halocline::solver

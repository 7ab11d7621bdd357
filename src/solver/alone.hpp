#pragma once
// The same problem on one rank by a loop that shares nothing with the distributed one but the
// sweep: no exchange, no decomposition, no late norms. What --verify and --baseline compare with.

#include <utility>
#include <vector>

#include "solver/case.hpp"
#include "stencil/sweep.hpp"

namespace halocline::solver {

struct AloneResult {
  FieldStorage field;
  std::vector<std::pair<std::int64_t, double>> norm_history;
  double first_sweep_seconds, loop_seconds;
};

/// Does `sweeps` sweeps of a case, whatever the norms say. Not collective.
AloneResult solve_alone(const Case& the_case, std::int64_t sweeps, const stencil::Backend& backend,
                        const stencil::SweepOptions& options);

}  // namespace halocline::solver

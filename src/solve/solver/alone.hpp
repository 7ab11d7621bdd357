// SPDX-License-Identifier: Apache-2.0
#pragma once
// The same problem on one rank by a loop that shares nothing with the distributed one but the
// sweep: no exchange, no decomposition, no late norms. What --verify compares with, and so not how
// fast one rank is: see solver/baseline.hpp.

#include <utility>
#include <vector>

#include "solver/case.hpp"
#include "stencil/sweep.hpp"

namespace halocline::solver {

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

/// Does `sweeps` sweeps of a case, whatever the norms say; the field it returns is the host's to
/// read. Not collective.
AloneResult solve_alone(const Case& the_case, std::int64_t sweeps, const AloneOptions& options);

}  // namespace halocline::solver

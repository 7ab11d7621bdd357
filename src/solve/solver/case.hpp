// SPDX-License-Identifier: Apache-2.0
#pragma once
// A problem with all choices that do not depend on the machine: pure data, so that programs can
// check it before they start ranks.

#include <halocline/solver.hpp>

#include "problem/problem.hpp"

namespace halocline::solver {

struct Case {
  const problem::Problem* problem;
  problem::Setting setting;
  problem::Precision precision;
  Norm norm;
  std::int64_t norm_every;
  std::optional<double> tolerance;
  std::int64_t sweeps;
  std::int64_t halo_depth;
  GridOptions grid;
  std::optional<std::string> initial;

  std::int64_t element_bytes() const { return precision == problem::Precision::f32 ? 4 : 8; }
  std::int64_t cells() const { return setting.cells.x * setting.cells.y * setting.cells.z; }
  bool wants_norm(std::int64_t sweep) const {
    return norm != Norm::none && (sweep % norm_every == 0 || sweep == sweeps - 1);
  }
};

/// Makes the case of `options` on so many ranks. Throws usage for options that are invalid for this
/// problem or number of ranks.
Case make_case(const SolveOptions& options, int ranks);

}  // namespace halocline::solver

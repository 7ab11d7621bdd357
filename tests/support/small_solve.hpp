// SPDX-License-Identifier: Apache-2.0
#pragma once
// What tests of the solver have in common.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <halocline/solver.hpp>

#include "support/communicators.hpp"
#include "support/ranks.hpp"

namespace halocline::test {

inline SolveOptions small(const std::string& problem, const Extents& cells, std::int64_t sweeps) {
  SolveOptions options;
  options.problem = problem;
  options.cells = cells;
  options.sweeps = sweeps;
  options.threads = 1;
  return options;
}

/// The first sweep that has a norm and meets the tolerance, or the last one.
inline std::int64_t last_sweep(const std::vector<std::pair<std::int64_t, double>>& history,
                               std::int64_t norm_every, double tolerance) {
  for (const auto& [sweep, norm] : history)
    if (sweep % norm_every == 0 && norm <= tolerance) return sweep;
  return history.back().first;
}

}  // namespace halocline::test

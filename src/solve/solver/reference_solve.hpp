// SPDX-License-Identifier: Apache-2.0
#pragma once
// A solve on one rank whose result others are compared with. Its loop shares only the sweep with
// the distributed solve: no exchange, no decomposition, no late norms. For the speed of one rank
// see solver/baseline.hpp.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "solver/case.hpp"
#include "solver/engine/levels.hpp"
#include "solver/target.hpp"
#include "stencil/sweep.hpp"

namespace halocline::solver {

/// Whether the reference backend sweeps, which then takes some seconds on one core; else the
/// target's own.
bool uses_reference_backend(const Case& the_case, std::int64_t sweeps);

struct ReferenceResult {
  Level fields;
  std::vector<std::pair<std::int64_t, double>> norm_history;
};

/// How the solve runs.
struct Reference {
  const stencil::Backend& backend;
  stencil::SweepOptions sweep;
  Memory memory;
  Stream stream;          ///< of the current GPU if the backend sweeps there
  std::string name = {};  ///< for messages
};

/// Chooses the backend by uses_reference_backend(); `sweep` are the options of the target's own.
Reference choose_reference(const Case& the_case, std::int64_t sweeps, const Target& target,
                           const stencil::SweepOptions& sweep);

/// Runs `sweeps` sweeps of a case, whatever its norms. Returns fields that the host can read. Not
/// collective.
ReferenceResult solve_on_one_rank(const Case& the_case, std::int64_t sweeps,
                                  const Reference& reference);

}  // namespace halocline::solver

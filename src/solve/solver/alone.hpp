// SPDX-License-Identifier: Apache-2.0
#pragma once
// A solve on one rank, for --verify. Its loop shares only the sweep with the distributed solve: no
// exchange, no decomposition, no late norms. It does not show how fast one rank is: see
// solver/baseline.hpp.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "solver/case.hpp"
#include "solver/engine/levels.hpp"
#include "solver/target.hpp"
#include "stencil/sweep.hpp"

namespace halocline::solver {

/// Whether option 'verify' uses plain loops, which then take some seconds on one core; else the
/// fast backend.
bool is_for_reference(const Case& the_case, std::int64_t sweeps);

struct AloneResult {
  Level fields;
  std::vector<std::pair<std::int64_t, double>> norm_history;
};

struct AloneOptions {
  const stencil::Backend& backend;
  stencil::SweepOptions sweep;
  Memory memory;
  Stream stream;  ///< of the current GPU if the backend sweeps there
};

/// Runs `sweeps` sweeps of a case, whatever its norms. Returns fields that the host can read. Not
/// collective.
AloneResult solve_on_one_rank(const Case& the_case, std::int64_t sweeps,
                              const AloneOptions& options);

/// The run that a result is compared with, and its name for messages.
struct Checker {
  AloneOptions options;
  std::string name;
};
/// Chooses plain loops where is_for_reference(), else the target's own backend with these options.
Checker choose_checker(const Case& the_case, std::int64_t sweeps, const Target& target,
                       const stencil::SweepOptions& sweep);

}  // namespace halocline::solver

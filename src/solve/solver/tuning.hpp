// SPDX-License-Identifier: Apache-2.0
#pragma once
// Choosing how a case is run: by rule, or, where the run is long enough, by short measurements.

#include <memory>

#include <halocline/solver.hpp>

#include "base/notes.hpp"
#include "solver/runner.hpp"

namespace halocline::solver {

struct TuningParts {
  const Communicator& communicator;
  const Case& the_case;
  const SolveOptions& options;
  const Target& target;
  stencil::Sweep& sweep;
  int threads;  ///< of each rank
};

struct Chosen {
  std::unique_ptr<Runner> runner;
  Execution execution;
  SolveResult::Choice report;
};

/// Chooses what the options leave open of process grid, schedule and graphs; transports are chosen
/// when an exchange is planned. What the user's tuning file knows is not measured again, and what
/// was measured is kept there. Sweeps over zeros, so fields are to be filled afterwards.
/// Collective; throws unavailable, the same on every rank, if what was asked for by name cannot be.
Chosen choose_execution(const TuningParts& parts, Notes& notes);

/// What choosing may cost.
struct TuningBudget {
  double seconds;
  std::int64_t sweeps;
};

/// Of a case: what its options say, or 2 % of the run and 2 s at most. What is measured for a file
/// pays off in later runs and may take 2 s of any run.
TuningBudget tuning_budget(const Case& the_case, const SolveOptions& options);

}  // namespace halocline::solver

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tuning: chooses how to run a case, by rule or, if the run is long enough, by short measurements.

#include <memory>

#include <halocline/solver.hpp>

#include "base/text/notes.hpp"
#include "solver/engine/runner.hpp"

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
  std::vector<ExchangeInfo::Race> races;  ///< between transports, by exchanges alone
};

/// Chooses process grid, schedule and graphs where the options leave them open; Exchange chooses
/// transports, and between nodes sweeps decide among those that it compared. Reads the choice from
/// the user's tuning file if it has one for this case, and stores its measurements there.
/// Overwrites the levels: fill them afterwards. Collective; throws unavailable, the same on every
/// rank, if a choice that the options name is not available.
Chosen choose_execution(const TuningParts& parts, Notes& notes);

/// The cost that tuning may have.
struct TuningBudget {
  double seconds;
  std::int64_t sweeps;
};

/// Returns the budget of a case: that of its options, or 2 % of its sweeps and at most 2 s. With a
/// tuning file, whose measurements later runs reuse, 2 s for any run.
TuningBudget tuning_budget(const Case& the_case, const SolveOptions& options);

/// Returns how many sweeps, in whole units, to time next for a trial of `wanted` seconds, where
/// `timed` of them took `seconds`: at most ten times as many. The seconds are a difference of two
/// runs, of which a hiccup of the shorter one may leave next to nothing.
std::int64_t next_timed(std::int64_t timed, double seconds, double wanted, std::int64_t unit);

}  // namespace halocline::solver

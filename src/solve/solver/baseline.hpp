// SPDX-License-Identifier: Apache-2.0
#pragma once
// The run on one rank that --baseline compares with: by the same code as a solve on one rank.

#include <cstdint>
#include <optional>
#include <string>

#include <halocline/solver.hpp>

#include "base/text/notes.hpp"
#include "solver/case.hpp"
#include "solver/target.hpp"
#include "stencil/sweep.hpp"

namespace halocline::solver {

/// The run to compare with, as seen by this rank.
struct BaselineParts {
  const Communicator& communicator;
  const Case& the_case;
  const SolveOptions& options;
  const Target& target;
  const stencil::SweepOptions& sweep;
  std::int64_t sweeps;               ///< done by that run
  std::int64_t sweeps_per_pass = 1;  ///< the most, in the end
};

struct Baseline {
  std::string schedule;
  double bytes = 0;  ///< of all levels and coefficients
  std::int64_t sweeps = 0, sweeps_in_graphs = 0;
  double loop_seconds = 0;  ///< without the first sweep
  std::uint64_t checksum = 0;
  Notes notes;
};

/// Runs as many sweeps on this rank alone, as solve() does on one rank: on the same backend and
/// GPU, in the same memory, with this rank's threads. Ignores the options that need several ranks:
/// process grid, transport, halo depth, and the schedules overlap and fused. Allocates two more
/// time levels of the whole grid while it runs. Not collective; throws as solve() does.
Baseline run_baseline(const BaselineParts& parts);

/// Two runs of the same sweeps.
struct RunsCompared {
  int ranks;
  double one_seconds, all_seconds;
  double one_bytes, all_bytes;  ///< of all levels and coefficients of a rank
  std::string one_schedule, all_schedule;

  double speedup() const { return all_seconds > 0 ? one_seconds / all_seconds : 0; }
};

/// Explains a speed-up more than 5 % above the number of ranks; nothing for others.
std::optional<std::string> note_on_speedup(const RunsCompared& runs);

/// Runs the baseline on rank 0, compares the run of `result` with it, and sets result.baseline.
/// Collective; throws, the same on every rank, as run_baseline() does.
void compare_with_baseline(const BaselineParts& parts, const Grid& grid, SolveResult& result,
                           Notes& notes);

}  // namespace halocline::solver

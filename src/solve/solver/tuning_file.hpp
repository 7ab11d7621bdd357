// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ways to run that were measured, kept in a file and used again.

#include <optional>
#include <string>
#include <vector>

#include <halocline/solver.hpp>

#include "base/notes.hpp"
#include "proof/environment_key.hpp"
#include "solver/case.hpp"
#include "solver/target.hpp"

namespace halocline::solver {

/// The fastest way that was found for one case on one machine.
struct TunedExecution {
  proof::EnvironmentKey key;  ///< see tuning_key(): of no use under another
  std::string when;           ///< "2026-01-31T12:00:00Z"
  Extents process_grid;
  std::string transport;  ///< as ExchangeOptions::transport
  std::string schedule;
  bool in_graphs = false;
  double seconds_per_sweep = 0;
};

/// What a way depends on: machine, MPI, driver and the variables that matter; case and ranks; and
/// what the options leave open. The same on every rank. Collective.
proof::EnvironmentKey tuning_key(const Communicator& communicator, const Case& the_case,
                                 const SolveOptions& options, const Target& target, int threads);

/// The way kept for this key, if there is one. A file that cannot be understood is told in a note.
/// The same on every rank. Collective.
std::optional<TunedExecution> find_tuned(const Communicator& communicator, const std::string& path,
                                         const std::string& key_hash, Notes& notes);

/// Adds a way to a file, in place of one of the same key. A file that cannot be written, or is none
/// of ours, is told in a note. Rank 0 writes; collective.
void keep_tuned(const Communicator& communicator, const std::string& path,
                const TunedExecution& execution, Notes& notes);

}  // namespace halocline::solver

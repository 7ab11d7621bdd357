// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tuning file: measured choices, kept for later runs.

#include <optional>
#include <string>
#include <vector>

#include <halocline/solver.hpp>

#include "base/text/notes.hpp"
#include "proof/environment_key.hpp"
#include "solver/case.hpp"
#include "solver/target.hpp"

namespace halocline::solver {

/// The fastest execution measured for one case on one machine.
struct TunedExecution {
  proof::EnvironmentKey key;  ///< from tuning_key(); valid only for an equal key
  std::string when;           ///< "2026-01-31T12:00:00Z"
  Extents process_grid;
  std::string transport;  ///< as ExchangeOptions::transport
  std::string schedule;
  bool in_graphs = false;
  double seconds_per_sweep = 0;
};

/// Returns the key of everything that a choice depends on: machine, MPI, driver and relevant
/// environment variables; case and ranks; and the options that are not open. The same on every
/// rank. Collective.
proof::EnvironmentKey tuning_key(const Communicator& communicator, const Case& the_case,
                                 const SolveOptions& options, const Target& target, int threads);

/// Returns the record of this key, or nothing. Notes a file that it cannot parse. The same on every
/// rank. Collective.
std::optional<TunedExecution> find_tuned(const Communicator& communicator, const std::string& path,
                                         const std::string& key_hash, Notes& notes);

/// Adds a record to a file and replaces one of the same key. Notes a file that it cannot write or
/// that is not a tuning file. Rank 0 writes; collective.
void keep_tuned(const Communicator& communicator, const std::string& path,
                const TunedExecution& execution, Notes& notes);

}  // namespace halocline::solver

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Asking a run that writes checkpoints to stop between two sweeps: by signals of its ranks, or by a
// file in the folder of its checkpoints, which reaches ranks on any node.

#include <optional>
#include <string>

#include <halocline/communicator.hpp>
#include <halocline/solver.hpp>

#include "cli/signals.hpp"

namespace halocline::cli {

/// Returns the folder that a run writes checkpoints to; nothing if it writes none.
std::optional<std::string> checkpoint_folder(const SolveOptions& options);

/// Asks the run of a folder to stop; returns whether it could. Callable from any process.
bool ask_to_stop(const std::string& folder, const std::string& reason);
/// Takes back what an earlier run may not have seen.
void forget_request(const std::string& folder);

/// What this rank has heard, while it lives.
class StopRequests {
 public:
  StopRequests(const Communicator& world, std::string folder);
  /// See SolveOptions::stop_request.
  std::string reason() const;

 private:
  bool is_first_;
  std::string folder_;
  StopSignals signals_;
};

}  // namespace halocline::cli

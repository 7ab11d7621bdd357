// SPDX-License-Identifier: Apache-2.0
#pragma once
// Requests that a run with checkpoints stops between two sweeps: by signals to its ranks, or by a
// file in the checkpoint folder, which reaches ranks on any node.

#include <optional>
#include <string>

#include <halocline/communicator.hpp>
#include <halocline/solver.hpp>

#include "cli/signals.hpp"

namespace halocline::cli {

/// Returns the folder that a run writes checkpoints to; nothing if it writes none.
std::optional<std::string> checkpoint_folder(const SolveOptions& options);

/// Requests the run of a folder to stop; returns whether the request was written. Callable from any
/// process.
bool ask_to_stop(const std::string& folder, const std::string& reason);
/// Removes a request that an earlier run may not have read.
void forget_request(const std::string& folder);

/// Receives requests on this rank.
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

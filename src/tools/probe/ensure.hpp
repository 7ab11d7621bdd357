// SPDX-License-Identifier: Apache-2.0
#pragma once
// Proofs for a command: existing ones, and those it can still make before it uses MPI or a GPU.

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launch/launcher.hpp"
#include "probe/jobs.hpp"
#include "proof/at_hand.hpp"

namespace halocline::probe {

/// The part of a process in making proofs.
enum class ProofRole {
  maker,         ///< not started by a launcher, or the first rank of one that permits probe jobs
  other_rank,    ///< leaves the proofs to the first rank
  ours,          ///< a rank started by our own command, which has made the proofs
  no_probe_jobs  ///< a rank of srun, PALS or Flux, where a nested job would hang or be refused
};
ProofRole proof_role(const Variables& variables);

/// Returns the proofs that a tried path makes under a key: one for each kind of pair, or none if
/// the path could not be tried.
std::vector<proof::Proof> proofs_of(const PathResult& result, const proof::EnvironmentKey& key);

struct ProofsWanted {
  std::optional<proof::ProofsFile> file;  ///< to read and to write
  std::vector<GpuPair> pairs;
  std::vector<Path> paths;
  std::string program;                                              ///< path of a halocline
  std::string launcher_hint = {};                                   ///< see find_launcher()
  std::chrono::milliseconds time_limit = std::chrono::seconds(60);  ///< limit on silence of a probe
  /// Called once before the first probe job, which takes some seconds.
  std::function<void()> on_start = {};
};

/// Reads proofs; the maker makes and keeps missing ones. This process must not have used MPI or a
/// GPU. Proofs that cannot be made are listed in the result, not thrown. Throws only communication,
/// if a signal stops this process.
proof::ProofsAtHand ensure_proofs(const ProofsWanted& wanted, const Variables& variables);

}  // namespace halocline::probe

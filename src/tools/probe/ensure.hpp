// SPDX-License-Identifier: Apache-2.0
#pragma once
// Proofs for a command: those at hand, and those it can still make before it touches MPI or a GPU.

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launch/launcher.hpp"
#include "probe/jobs.hpp"
#include "proof/at_hand.hpp"

namespace halocline::probe {

/// Where a process stands towards the job it is part of.
enum class ProofRole {
  maker,  ///< started by nobody, or the first rank of a launcher that lets it start a probe job
  other_rank,    ///< the first rank makes what is to be made
  ours,          ///< a rank that a command of ours started, which has made it
  no_probe_jobs  ///< a rank of srun, PALS or Flux: a job inside the job would hang or be refused
};
ProofRole proof_role(const Variables& variables);

/// Returns the proofs that a tried path makes under a key: one for each kind of pair, none of a
/// path that could not be tried.
std::vector<proof::Proof> proofs_of(const PathResult& result, const proof::EnvironmentKey& key);

struct ProofsWanted {
  std::optional<proof::ProofsFile> file;  ///< where to look and to keep
  std::vector<GpuPair> pairs;
  std::vector<Path> paths;
  std::string program;                                              ///< path of a halocline
  std::string launcher_hint = {};                                   ///< as find_launcher() takes it
  std::chrono::milliseconds time_limit = std::chrono::seconds(60);  ///< of silence of a probe
  /// Called once before a probe job is started: it takes some seconds.
  std::function<void()> on_start = {};
};

/// Reads the proofs there are, and lets the maker make and keep those that are missing. Neither
/// MPI nor a GPU may have been used in this process. What cannot be made is told, not thrown;
/// throws only communication if this process is told to stop meanwhile.
proof::ProofsAtHand ensure_proofs(const ProofsWanted& wanted, const Variables& variables);

}  // namespace halocline::probe

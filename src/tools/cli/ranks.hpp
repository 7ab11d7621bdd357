// SPDX-License-Identifier: Apache-2.0
#pragma once
// Work on several ranks, started here or by the user's launcher.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <halocline/communicator.hpp>

#include "cli/limited_runtime.hpp"
#include "cli/proofs.hpp"
#include "files/result_files.hpp"

namespace halocline::cli {

/// The work of a command on ranks.
struct RankJob {
  std::optional<int> ranks;  ///< to start
  double wait_limit_seconds = 120;
  RunFiles files;            ///< checked before the work
  ProofRequest proofs;       ///< made before MPI and GPUs are used
  int threads_per_rank = 0;  ///< 0: by the number of cores
  using Calls = LimitedRuntime::Calls;
  Calls calls_mpi = Calls::from_one_thread;
  std::function<void(int ranks)> check;  ///< throws usage for a number of ranks
  /// Called with the first signal in the process that starts the ranks, see
  /// JobOptions::on_first_signal.
  std::function<bool(int signal)> on_first_signal = {};
  /// Runs on every rank; returns the exit code; throws the same Error on all ranks.
  std::function<int(const Communicator& world)> work;
};

/// Throws usage errors that can be detected before ranks are started.
void check(const RankJob& job);

/// Throws usage for an invalid number of ranks or wait limit; sets a limit out of range for clocks
/// to 0.
void check_rank_options(const std::optional<int>& ranks, double& wait_limit_seconds);

/// Returns a command line for ranks: without --ranks, and in a form of which launchers interpret no
/// part.
std::vector<std::string> words_for_ranks(const std::vector<std::string>& words);

/// Starts ranks if requested and none were started, or works as one of them; returns the exit code.
/// `words` are the command line of started ranks. An error of all ranks is printed once.
int run_on_ranks(const RankJob& job, const std::vector<std::string>& words);

/// Returns whether standard error goes to a terminal, possibly through a launcher's pipe.
bool errors_reach_a_terminal();

}  // namespace halocline::cli

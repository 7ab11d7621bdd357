// SPDX-License-Identifier: Apache-2.0
#pragma once
// Work that several ranks do together: started here, or by somebody's launcher.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <halocline/communicator.hpp>

#include "cli/limited_runtime.hpp"
#include "cli/proofs.hpp"
#include "files/result_files.hpp"

namespace halocline::cli {

/// What a command does on ranks.
struct RankJob {
  std::optional<int> ranks;  ///< to start
  double wait_limit_seconds = 120;
  RunFiles files;            ///< checked before the work
  ProofRequest proofs;       ///< made before MPI and GPUs are used
  int threads_per_rank = 0;  ///< 0: whatever the cores allow
  using Calls = LimitedRuntime::Calls;
  Calls calls_mpi = Calls::from_one_thread;
  std::function<void(int ranks)> check;  ///< throws usage for what is wrong with so many ranks
  /// Called where the ranks were started, with the first signal: see JobOptions::on_first_signal.
  std::function<bool(int signal)> on_first_signal = {};
  /// Done on every rank; throws the same Error on all of them; returns the exit code.
  std::function<int(const Communicator& world)> work;
};

/// Throws usage for what can be seen wrong before any rank is started.
void check(const RankJob& job);

/// Throws usage for a number of ranks or a wait limit that cannot be; a limit that no clock counts
/// becomes none.
void check_rank_options(const std::optional<int>& ranks, double& wait_limit_seconds);

/// A command line as ranks get it: without its --ranks, and so written that no launcher takes a
/// part of it for its own.
std::vector<std::string> words_for_ranks(const std::vector<std::string>& words);

/// Starts ranks if asked to and none were started, or works as one of them; returns the exit
/// code. `words` are the command line of ranks that are started. An error of all ranks is told
/// once.
int run_on_ranks(const RankJob& job, const std::vector<std::string>& words);

/// True where standard error ends at a terminal, maybe behind a launcher's pipe.
bool errors_reach_a_terminal();

}  // namespace halocline::cli

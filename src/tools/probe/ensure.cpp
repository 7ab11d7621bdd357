// SPDX-License-Identifier: Apache-2.0
#include "probe/ensure.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>

#include "base/process/launched.hpp"
#include "comm/collectives.hpp"
#include "launch/settings.hpp"
#include "text/utc.hpp"

namespace halocline::probe {
namespace {

namespace fs = std::filesystem;

pid_t parent_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string line;
  std::getline(file, line);
  // proc(5): "id (name) state parent ..."; the name may contain any characters.
  std::istringstream fields(line.substr(std::min(line.rfind(')'), line.size() - 1) + 1));
  std::string state;
  pid_t parent = 0;
  fields >> state >> parent;
  return parent;
}

/// Returns the launcher that started this process, if it runs on this node: of several
/// installations it is known to be the right one. Empty if there is none.
std::string launcher_above() {
  constexpr std::array<std::string_view, 8> launchers{
      "mpirun",  "orterun",       "prterun",        "prte",
      "mpiexec", "mpiexec.hydra", "mpirun.openmpi", "mpiexec.mpich"};
  pid_t process = ::getpid();
  for (int above = 0; above < 6 && process > 1; ++above) {
    std::error_code ignored;
    const fs::path program = fs::read_symlink(fmt::format("/proc/{}/exe", process), ignored);
    const std::string name = program.filename().string();
    // Open MPI 5 requires that its own mpirun starts prterun.
    const fs::path mpirun = program.parent_path() / "mpirun";
    if (name.starts_with("prte") && fs::exists(mpirun, ignored)) return mpirun.string();
    if (std::find(launchers.begin(), launchers.end(), name) != launchers.end())
      return program.string();
    process = parent_of(process);
  }
  return "";
}

Launcher launcher_for(const ProofsWanted& wanted, const Variables& variables) {
  const std::string above = launcher_above();
  Launcher launcher =
      find_launcher(comm::family(), above.empty() ? wanted.launcher_hint : above, variables);
  // A rank's environment already has the launcher's settings; its probe jobs inherit them.
  return launched_by(variables) ? without_settings(launcher) : launcher;
}

/// Returns the variables that a proof made here holds for: of this rank, or of ranks that this
/// process will start, including settings of the user's launcher.
Variables variables_of_ranks(const ProofsWanted& wanted, const Variables& variables) {
  if (launched_by(variables) || value_of(variables, launcher_variable).empty()) return variables;
  try {
    return variables_in_ranks(launcher_for(wanted, variables), variables);
  } catch (const Error&) {
    return variables;  // errors about that launcher are reported by its users
  }
}

/// With srun a job can be started from the batch script, but not from a rank.
constexpr auto no_probe_jobs =
    "ranks of this launcher cannot start a probe job; to prove it, run a short halocline solve "
    "with --ranks 2 in the batch script itself, before this step";

class ProofMaker {
 public:
  ProofMaker(const ProofsWanted& wanted, const Variables& variables, proof::ProofsAtHand& at_hand)
      : wanted_(wanted), variables_(variables), at_hand_(at_hand) {}

  void make() {
    for (const GpuPair pair : wanted_.pairs) {
      const std::vector<Path> paths = missing(pair);
      if (!paths.empty()) make(pair, paths);
    }
    if (new_.empty() || !wanted_.file) return;
    Notes notes;
    proof::keep_proofs(*wanted_.file, new_, notes);
    at_hand_.notes.insert(at_hand_.notes.end(), notes.all().begin(), notes.all().end());
  }

  std::vector<Path> missing(GpuPair pair) const {
    std::vector<Path> paths;
    for (const Path& path : wanted_.paths)
      if (!proof::find(at_hand_.proofs,
                       {.path = path.transport, .pair = pair, .memory = path.memory},
                       at_hand_.key.hash))
        paths.push_back(path);
    return paths;
  }

  void note_missing(GpuPair pair, const std::vector<Path>& paths, const std::string& why) {
    std::set<std::string> transports;
    for (const Path& path : paths) transports.insert(path.transport);
    at_hand_.missing.push_back(fmt::format("{} is not proved for {} pairs: {}",
                                           fmt::join(transports, " and "), proof::name_of(pair),
                                           why));
  }

 private:
  void make(GpuPair pair, const std::vector<Path>& missing) {
    if (pair == GpuPair::other_node)
      return note_missing(pair, missing, "a probe job runs on one node only");
    PathsToTry paths{.paths = missing, .timing = Timing::none};
    if (pair == GpuPair::same_gpu) paths.gpus = GpuChoice::first;
    std::vector<PathResult> results;
    try {
      if (!launcher_) launcher_ = launcher_for(wanted_, variables_);
      if (wanted_.on_start && !has_started_) wanted_.on_start();
      has_started_ = true;
      results = try_paths({.launcher = *launcher_,
                           .program = wanted_.program,
                           .time_limit = wanted_.time_limit,
                           .on_bad_end = [this](const std::string& how) { note_bad_end(how); }},
                          paths);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::communication) throw;
      return note_missing(pair, missing, fmt::format("could not be tried: {}", error.what()));
    }
    for (const PathResult& result : results) take(result, pair);
  }

  void take(const PathResult& result, GpuPair wanted) {
    const std::vector<proof::Proof> proofs = proofs_of(result, at_hand_.key);
    if (proofs.empty())
      return note_missing(
          wanted, {result.path},
          fmt::format("{} memory could not be tried: {}", memory_of(result.path), result.how));
    new_.insert(new_.end(), proofs.begin(), proofs.end());
    at_hand_.proofs = proof::merge(proofs, at_hand_.proofs);
    if (std::find(result.pairs.begin(), result.pairs.end(), wanted) == result.pairs.end())
      note_missing(wanted, {result.path},
                   fmt::format("could not be tried: the two ranks were a {} pair",
                               proof::name_of(result.pairs.front())));
  }

  void note_bad_end(const std::string& how) {
    at_hand_.notes.push_back(fmt::format(
        "the probe job finished its tests, but not MPI_Finalize: {}; see halocline doctor", how));
  }

  const ProofsWanted& wanted_;
  const Variables& variables_;
  proof::ProofsAtHand& at_hand_;
  std::optional<Launcher> launcher_;
  std::vector<proof::Proof> new_;
  bool has_started_ = false;
};

}  // namespace

std::vector<proof::Proof> proofs_of(const PathResult& result, const proof::EnvironmentKey& key) {
  std::vector<proof::Proof> proofs;
  const bool was_tried = result.outcome == Outcome::works || is_failure(result.outcome);
  for (const GpuPair pair : was_tried ? result.pairs : std::vector<GpuPair>{})
    proofs.push_back({.path = result.path.transport,
                      .pair = pair,
                      .memory = result.path.memory,
                      .outcome = result.outcome,
                      .signal = result.signal,
                      .exit_code = result.exit_code,
                      .how = result.how,
                      .sizes = result.tried,
                      .when = now_in_utc(),
                      .key = key.hash,
                      .ingredients = key.ingredients});
  return proofs;
}

ProofRole proof_role(const Variables& variables) {
  if (variables.contains(launched_variable)) return ProofRole::ours;
  const std::optional<Launched> launched = launched_by(variables);
  if (!launched) return ProofRole::maker;
  // Hydra and PALS use the name mpiexec, too.
  const bool starts_probe_jobs =
      (launched->launcher == "mpirun" || launched->launcher == "mpiexec") &&
      !variables.contains("PALS_RANKID");
  if (!starts_probe_jobs || !launched->rank) return ProofRole::no_probe_jobs;
  return *launched->rank == 0 ? ProofRole::maker : ProofRole::other_rank;
}

proof::ProofsAtHand ensure_proofs(const ProofsWanted& wanted, const Variables& variables) {
  proof::ProofsAtHand at_hand =
      proof::proofs_at_hand(wanted.file, variables_of_ranks(wanted, variables));
  ProofMaker maker(wanted, variables, at_hand);
  const ProofRole role = proof_role(variables);
  if (role == ProofRole::maker) {
    maker.make();
  } else if (role == ProofRole::no_probe_jobs) {
    for (const GpuPair pair : wanted.pairs)
      if (const std::vector<Path> missing = maker.missing(pair); !missing.empty())
        maker.note_missing(pair, missing, no_probe_jobs);
  }
  return at_hand;
}

}  // namespace halocline::probe

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Probes: jobs that try what may crash or hang, separate from this process and with a time limit.

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "launch/job.hpp"
#include "launch/launcher.hpp"
#include "probe/paths.hpp"
#include "probe/prober.hpp"

namespace halocline::probe {

// Ranks start within seconds, even with programs on network disks and busy cores, and answer each
// other sooner. Beyond these limits they hang; beyond shorter limits they may just be slow.
inline constexpr std::chrono::milliseconds conclusive_start = std::chrono::seconds(10),
                                           conclusive_answer = std::chrono::seconds(4);

/// Returns how long healthy ranks may be silent: 20 s, and proportionally more on a busy machine;
/// at most 5 minutes. `load` is that of the last minute.
std::chrono::milliseconds limit_under(double load, int threads);

/// The subcommand of the program that runs in the ranks.
inline constexpr const char* examine_command = "examine-paths";

struct Probes {
  Launcher launcher;
  std::string program;  ///< path of a halocline
  int ranks = 2;
  int nodes = 1;  ///< to spread ranks over evenly, if the launcher's options are ours
  std::chrono::milliseconds time_limit{};  ///< on silence; on a job, multiplied by its paths
  std::vector<std::string> without = {};   ///< variables of this process that ranks do not get
  Variables with = {};                     ///< additional variables of ranks
  /// Called with a description for a job that failed after its ranks had finished.
  std::function<void(const std::string& how)> on_bad_end = {};
};

/// How a probe's job ended.
struct ProbeEnd {
  JobEnd job = {};
  std::string how = {};               ///< for people; empty if it ended normally
  int signal = 0;                     ///< that ended a rank; 0: none known
  std::chrono::milliseconds limit{};  ///< that ended the job, if one did
  bool finished = false;              ///< the ranks completed all but MPI_Finalize

  bool ended_by_limit() const {
    return job.how == JobEnd::How::timed_out || job.how == JobEnd::How::fell_silent;
  }
  /// Returns whether a limit ended the job that healthy ranks may exceed.
  bool is_out_of_time(std::chrono::milliseconds telling) const {
    return ended_by_limit() && limit < telling;
  }
};

/// "the time limit of 1 s was too short".
std::string short_limit(const Probes& probes);

/// Runs the program's examine_command with these words on ranks of this node, or of several nodes
/// if the launcher chooses them, in this process's environment with `with`; without variables that
/// this process got as a rank. A job may take the time limit for each of its parts. This process
/// must not have used MPI or a GPU. Throws communication if a signal stops this process, and
/// resource.
ProbeEnd run_probe(const Probes& probes, std::size_t parts, std::vector<std::string> words,
                   const Variables& with = {});

/// Tries paths in one job, and one or two more for each path that crashes or hangs. `with` are
/// settings for these jobs alone. Throws as run_probe() does.
std::vector<PathResult> try_paths(const Probes& probes, PathsToTry wanted,
                                  const Variables& with = {});

}  // namespace halocline::probe

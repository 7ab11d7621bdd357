// SPDX-License-Identifier: Apache-2.0
#pragma once
// Probes: jobs of ranks that try what may crash or hang, in the place of ours, with a limit in
// time.

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "launch/job.hpp"
#include "launch/launcher.hpp"
#include "probe/paths.hpp"
#include "probe/prober.hpp"

namespace halocline::probe {

// Ranks start within seconds, also where programs lie on a disk of other nodes and the cores are
// busy; those that have started answer each other sooner. What takes longer than such a limit
// hangs, what takes longer than a shorter limit may be just slow.
inline constexpr std::chrono::milliseconds conclusive_start = std::chrono::seconds(10),
                                           conclusive_answer = std::chrono::seconds(4);

/// Returns how long sound ranks may be silent: 20 s, and longer the more processes wanted each
/// hardware thread in the minute before; at most 5 minutes.
std::chrono::milliseconds limit_under(double load, int threads);

/// The subcommand of the program that runs in the ranks.
inline constexpr const char* examine_command = "examine-paths";

struct Probes {
  Launcher launcher;
  std::string program;  ///< path of a halocline
  int ranks = 2;
  int nodes = 1;  ///< over which they are spread evenly, where the launcher is told so by us
  std::chrono::milliseconds time_limit{};  ///< of silence; of a job, times its paths
  std::vector<std::string> without = {};   ///< variables of this process that ranks do not get
  Variables with = {};                     ///< that they get besides
  /// Called for a job whose ranks had said all they had to, and that did not end well all the same,
  /// with how it ended.
  std::function<void(const std::string& how)> on_bad_end = {};
};

/// How a probe's job ended.
struct ProbeEnd {
  JobEnd job = {};
  std::string how = {};               ///< for people; empty if it ended well
  int signal = 0;                     ///< that ended a rank; 0 if none is known
  std::chrono::milliseconds limit{};  ///< by which it ended, if it did
  bool finished = false;              ///< what is left then is MPI_Finalize

  bool ended_by_limit() const {
    return job.how == JobEnd::How::timed_out || job.how == JobEnd::How::fell_silent;
  }
  /// Ended by a limit under which sound ranks end too.
  bool is_out_of_time(std::chrono::milliseconds telling) const {
    return ended_by_limit() && limit < telling;
  }
};

/// "the time limit of 1 s was too short".
std::string short_limit(const Probes& probes);

/// Runs the program's examine_command with these words on ranks of this node, or of several if the
/// launcher so wills, in this process's environment, of a rank without what its launcher has told
/// it alone, and with `with`. A job of several parts may take its time as long as it says what it
/// is at. Neither MPI nor a GPU may have been used in this process. Throws communication if this
/// process is told to stop meanwhile, resource.
ProbeEnd run_probe(const Probes& probes, std::size_t parts, std::vector<std::string> words,
                   const Variables& with = {});

/// Tries paths in as few jobs as it takes: one if nothing crashes or hangs, one or two more for
/// each path that does. `with` are settings for these jobs alone. Throws as run_probe().
std::vector<PathResult> try_paths(const Probes& probes, PathsToTry wanted,
                                  const Variables& with = {});

}  // namespace halocline::probe

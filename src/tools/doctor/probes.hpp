// SPDX-License-Identifier: Apache-2.0
#pragma once
// Jobs of doctor's own: ranks that examine what may crash or hang, with a limit in time.

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "doctor/facts.hpp"
#include "doctor/paths.hpp"
#include "launch/launcher.hpp"
#include "probe/probe.hpp"

namespace halocline::doctor {

// Ranks start within seconds, also where programs lie on a disk of other nodes and the cores are
// busy; those that have started answer each other sooner. What takes longer than such a limit
// hangs, what takes longer than a shorter limit may be just slow.
inline constexpr std::chrono::milliseconds telling_start = std::chrono::seconds(10),
                                           telling_answer = std::chrono::seconds(4);

/// Returns how long sound ranks may be silent: 20 s, and longer the more processes wanted each hardware
/// thread in the minute before; at most 5 minutes.
std::chrono::milliseconds limit_under(double load, int threads);

/// The subcommand of the program that runs in the ranks.
inline constexpr const char* examine_command = "examine-paths";

struct Probes {
  Launcher launcher;
  std::string program;  ///< path of a halocline
  int ranks = 2;
  int nodes = 1;  ///< over which they are spread evenly, where the launcher is told so by us
  std::chrono::milliseconds time_limit{};  ///< of silence; of a job, times its paths
  std::vector<std::string> without = {};  ///< variables of this process that ranks do not get
  /// Called for a job whose ranks had said all they had to, and that did not end well all the same,
  /// with how it ended.
  std::function<void(const std::string& how)> on_bad_end = {};
};

/// Asks the ranks of a job for facts. How it ended is among them. Throws communication if this
/// process is told to stop meanwhile, resource.
RankFacts ask_ranks(const Probes& probes);

/// Tries paths in as few jobs as it takes: one if nothing crashes or hangs, one more for each path
/// that does. `with` are settings for these jobs alone. Throws as ask_ranks().
std::vector<PathResult> try_paths(const Probes& probes, std::vector<Path> paths,
                                  proof::GpuChoice gpus, const Variables& with = {});

}  // namespace halocline::doctor

// SPDX-License-Identifier: Apache-2.0
#pragma once
// A process and its descendants, found in /proc.

#include <cstdint>
#include <vector>

#include <sys/types.h>

namespace halocline {

/// A process, identified by number and start time, as numbers are reused.
struct Process {
  pid_t id = 0;
  std::uint64_t start = 0;  ///< clock ticks since boot
};

/// Lists the living descendants of `root`, without itself. Launchers put each rank into its own
/// process group, so no signal to a group reaches all.
std::vector<Process> descendants_of(pid_t root);

/// Returns the processes that are alive.
std::vector<Process> living(const std::vector<Process>& processes);
/// Sends a signal to those that still exist.
void signal_all(const std::vector<Process>& processes, int signal);
void kill_all(const std::vector<Process>& processes);

}  // namespace halocline

// SPDX-License-Identifier: Apache-2.0
#pragma once
// A process and everything it started, found through /proc.

#include <cstdint>
#include <vector>

#include <sys/types.h>

namespace halocline {

/// A process number is used again some time; together with the start it is unique.
struct Process {
  pid_t id = 0;
  std::uint64_t start = 0;  ///< clock ticks since boot
};

/// Lists the living descendants of `root`, without itself. Launchers put each rank into a process
/// group of its own, so that no signal to a group reaches them all.
std::vector<Process> descendants_of(pid_t root);

/// Returns those that still live.
std::vector<Process> living(const std::vector<Process>& processes);
/// Sends a signal to those that still live.
void signal_all(const std::vector<Process>& processes, int signal);
/// Kills those that still live.
void kill_all(const std::vector<Process>& processes);

}  // namespace halocline

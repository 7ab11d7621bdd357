// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a command to its end, whatever that end is, and leaves nothing of it behind.

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/libraries/find_program.hpp"
#include "base/process/variables.hpp"
#include "launch/output_filter.hpp"

namespace halocline {

/// What becomes of the job's standard output and error.
enum class JobOutput {
  inherit,  ///< they are ours
  relay,    ///< passed on to ours as they come, and kept in JobEnd too
  capture   ///< kept in JobEnd
};

struct JobOptions {
  JobOutput output = JobOutput::inherit;
  std::optional<std::chrono::milliseconds> time_limit = {};
  /// How long the job may say nothing, where its output comes by us.
  std::optional<std::chrono::milliseconds> silence_limit = {};
  /// How long the job has to end by itself after the time limit or a signal.
  std::chrono::milliseconds grace = std::chrono::seconds(5);
  /// Called with the first signal that asks for the end. If it returns true, the job was asked by
  /// other means and may take its time: only the next signal ends it.
  std::function<bool(int signal)> on_first_signal = {};
  /// Called if no line with the mark has come by then.
  std::function<void()> on_slow_start = {};
  std::chrono::milliseconds slow_start = std::chrono::seconds(20);
  /// Variables of this process that the job does not get.
  std::vector<std::string> without = {};
  /// Lines with this text in them are kept in JobEnd::marked instead; empty: there are none.
  std::string mark = {};
  /// What the launcher explains is kept in JobEnd::withheld instead.
  Explanations explanations = Explanations::passed;
  /// How much of each stream is kept: its end.
  std::size_t kept_bytes = 1 << 20;
};

struct JobEnd {
  enum class How {
    exited,       ///< see exit_code
    signalled,    ///< a signal killed it, see signal
    timed_out,    ///< the time limit passed, and it was ended
    fell_silent,  ///< so did the limit of silence
    interrupted,  ///< this process got `signal` and passed it on
    not_started   ///< see error and reason
  };
  How how = How::exited;
  int exit_code = 0;
  int signal = 0;
  int error = 0;                         ///< errno
  int relay_error = 0;                   ///< errno of our standard output, if it took no more
  std::string out;                       ///< with relay or capture
  std::string err;                       ///< with relay or capture
  std::vector<std::string> marked = {};  ///< what stood behind the mark, line by line
  std::string withheld = {};             ///< see JobOptions::explanations
  std::string reason;                    ///< in words, for all but exit code 0

  bool succeeded() const { return how == How::exited && exit_code == 0; }
};

/// Runs command[0], looked up on PATH, with the other words as arguments, in this process's
/// environment changed by `extra`, with nothing on standard input, and waits. Flush your own
/// streams first if the job shares them. Signals that ask this process to end (see Interrupts) end
/// the job instead: the first asks it to, what is left after the grace is killed, with MPI's files.
/// SIGTSTP stops the job too, until this process continues. When the job is over, or ended for the
/// time limit, its processes, also those in groups of their own, are gone. Should this process be
/// killed, the command is terminated. Callable from any thread; calls take turns. Throws resource
/// if there are no more files or threads.
JobEnd run_job(const std::vector<std::string>& command, const Variables& extra = {},
               const JobOptions& options = {});

}  // namespace halocline

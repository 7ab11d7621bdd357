// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a command to its end, and leaves no process or file of it behind.

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

/// Destination of the job's standard output and error.
enum class JobOutput {
  inherit,  ///< our own streams
  relay,    ///< forwarded to our own streams, and kept in JobEnd
  capture   ///< kept in JobEnd
};

struct JobOptions {
  JobOutput output = JobOutput::inherit;
  std::optional<std::chrono::milliseconds> time_limit = {};
  /// Limit on time without output; with relay or capture.
  std::optional<std::chrono::milliseconds> silence_limit = {};
  /// Time for the job to end by itself after a limit or a signal.
  std::chrono::milliseconds grace = std::chrono::seconds(5);
  /// Called with the first signal that requests the end. Returns true if it has requested the end
  /// by other means; then only the next signal ends the job.
  std::function<bool(int signal)> on_first_signal = {};
  /// Called if no line with the mark has come after `slow_start`.
  std::function<void()> on_slow_start = {};
  std::chrono::milliseconds slow_start = std::chrono::seconds(20);
  /// Variables of this process that the job does not get.
  std::vector<std::string> without = {};
  /// Lines that contain this text are moved to JobEnd::marked; empty: none.
  std::string mark = {};
  /// With `withheld`, the launcher's explanations are moved to JobEnd::withheld.
  Explanations explanations = Explanations::passed;
  /// Bytes kept of the end of each stream.
  std::size_t kept_bytes = 1 << 20;
};

struct JobEnd {
  enum class How {
    exited,       ///< see exit_code
    signalled,    ///< a signal killed it, see signal
    timed_out,    ///< ended after the time limit
    fell_silent,  ///< ended after the silence limit
    interrupted,  ///< this process received `signal` and forwarded it
    not_started   ///< see error and reason
  };
  How how = How::exited;
  int exit_code = 0;
  int signal = 0;
  int error = 0;                         ///< errno
  int relay_error = 0;                   ///< errno of our standard output, if writing failed
  std::string out = {};                  ///< with relay or capture
  std::string err = {};                  ///< with relay or capture
  std::vector<std::string> marked = {};  ///< text after the mark, by line
  std::string withheld = {};             ///< see JobOptions::explanations
  std::string reason = {};               ///< in words; empty for exit code 0

  bool succeeded() const { return how == How::exited && exit_code == 0; }
};

/// Runs command[0], looked up in PATH, with the other words as arguments, in this process's
/// environment changed by `extra`, with empty standard input, and waits for it. Flush your own
/// streams first if the job shares them. Signals that would end this process (see Interrupts) end
/// the job instead: it is requested to end, and killed after the grace period, and MPI's files are
/// removed. SIGTSTP also stops the job, until this process continues. On return all processes of
/// the job are gone, including those in groups of their own. If this process is killed, the command
/// is terminated. Thread-safe; calls are serialized. Throws resource if there are no descriptors or
/// threads left.
JobEnd run_job(const std::vector<std::string>& command, const Variables& extra = {},
               const JobOptions& options = {});

}  // namespace halocline

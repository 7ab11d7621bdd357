// SPDX-License-Identifier: Apache-2.0
#pragma once
// Signals that end a process which computes: a rank, or a run without a launcher.

#include <signal.h>

#include <string>
#include <utility>
#include <vector>

namespace halocline::cli {

/// While it lives, a signal that would end the process removes its temporary files first, then ends
/// it as ever; only a pipe without a reader ends nothing. Signals that the user had ignored stay
/// ignored.
class EndingSignals {
 public:
  enum class Message {
    printed,  ///< one line on standard error with the signal
    none      ///< a launcher says it, once for all ranks
  };
  explicit EndingSignals(Message message);
  ~EndingSignals();
  EndingSignals(const EndingSignals&) = delete;
  EndingSignals& operator=(const EndingSignals&) = delete;

 private:
  void replace(int signal, const struct sigaction& action);

  std::vector<std::pair<int, struct sigaction>> before_;
};

/// While it lives, signals that would end the process ask a run to stop instead: the first one is
/// noted. A second SIGINT ends the process as ever. One at a time.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// "SIGTERM"; empty if none came.
  static std::string noted();

 private:
  std::vector<std::pair<int, struct sigaction>> before_;
};

/// "SIGTERM", or "signal 42".
std::string name_of_signal(int signal);

/// Lets a file that grows beyond the limit of the shell (ulimit -f) be an error of the system call,
/// which the command can tell, instead of a signal that kills.
void let_large_files_be_errors();

}  // namespace halocline::cli

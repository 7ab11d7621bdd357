// SPDX-License-Identifier: Apache-2.0
#pragma once
// Signals that end a rank, or a run without a launcher.

#include <signal.h>

#include <string>
#include <utility>
#include <vector>

namespace halocline::cli {

/// While an object exists, signals that would end the process first remove its temporary files.
/// SIGPIPE is ignored. Signals that the user ignores stay ignored.
class EndingSignals {
 public:
  enum class Message {
    printed,  ///< a line on standard error with the signal
    none      ///< the launcher prints it, once for all ranks
  };
  explicit EndingSignals(Message message);
  ~EndingSignals();
  EndingSignals(const EndingSignals&) = delete;
  EndingSignals& operator=(const EndingSignals&) = delete;

 private:
  void replace(int signal, const struct sigaction& action);

  std::vector<std::pair<int, struct sigaction>> before_;
};

/// While an object exists, signals that would end the process request a run to stop instead: the
/// first one is recorded. A second SIGINT ends the process. At most one object may exist.
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

/// Makes exceeding the limit on file sizes (ulimit -f) an error of the system call, which the
/// command can report, instead of a fatal signal.
void let_large_files_be_errors();

}  // namespace halocline::cli

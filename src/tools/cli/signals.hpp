// SPDX-License-Identifier: Apache-2.0
#pragma once
// Signals that end a process which computes: a rank, or a run without a launcher.

#include <signal.h>

#include <utility>
#include <vector>

namespace halocline::cli {

/// While it lives, a signal that would end the process removes its temporary files first, then ends
/// it as ever; only a pipe without a reader ends nothing. Signals that the user had ignored stay
/// ignored.
class EndingSignals {
 public:
  enum class Says {
    which,   ///< one line on standard error with the signal
    nothing  ///< a launcher says it, once for all ranks
  };
  explicit EndingSignals(Says says);
  ~EndingSignals();
  EndingSignals(const EndingSignals&) = delete;
  EndingSignals& operator=(const EndingSignals&) = delete;

 private:
  void replace(int signal, const struct sigaction& action);

  std::vector<std::pair<int, struct sigaction>> before_;
};

/// Lets a file that grows beyond the limit of the shell (ulimit -f) be an error of the system call,
/// which the command can tell, instead of a signal that kills.
void let_large_files_be_errors();

}  // namespace halocline::cli

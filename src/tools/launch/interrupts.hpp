// SPDX-License-Identifier: Apache-2.0
#pragma once
// Signals that ask this process to end or to pause, while it has jobs.

#include <optional>
#include <string>
#include <vector>

namespace halocline {

/// While an object exists, signals that would end this process are recorded instead: run_job()
/// forwards them to its job, and starts no job after the first signal. Keep an object across
/// several jobs to clean up between them. Signals that the user ignores stay ignored; SIGPIPE is
/// ignored, so that writing to a closed pipe is an error. Objects nest; the outermost restores the
/// handlers.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  /// Returns the first signal that requested the end, if any.
  static std::optional<int> first();

  /// Returns a descriptor that becomes readable after a signal.
  static int descriptor();
  /// Reads the next signal, including SIGTSTP; nothing if none is left.
  static std::optional<int> next();
  /// Lists the handled signals, which a new process must reset to their default action.
  static std::vector<int> watched();
};

/// "signal 15 (Terminated)".
std::string signal_in_words(int signal);

}  // namespace halocline

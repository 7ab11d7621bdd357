// SPDX-License-Identifier: Apache-2.0
#pragma once
// Signals that ask this process to end or to pause, while it has jobs.

#include <optional>
#include <string>
#include <vector>

namespace halocline {

/// While one lives, signals that would end this process are noted instead: run_job() passes them
/// on to its job, and starts none after the first. Keep one from before the first of several jobs
/// to after the last, where something is to be tidied up between them. Those that the user ignores
/// stay ignored; SIGPIPE is ignored, so that writing to a closed pipe is an error. They nest; the
/// outermost puts the handlers back.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  /// Returns the first signal that asked for the end, if one came.
  static std::optional<int> first();

  /// Returns a descriptor that can be read from after a signal.
  static int descriptor();
  /// Reads the next signal, SIGTSTP included; nothing if none is left.
  static std::optional<int> next();
  /// Lists signals that a new process must get the default action of.
  static std::vector<int> watched();
};

/// "signal 15 (Terminated)".
std::string signal_in_words(int signal);

}  // namespace halocline

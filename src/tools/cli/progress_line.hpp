// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a long run gets on, on standard error.

#include <mutex>
#include <string>

#include <halocline/solver.hpp>

namespace halocline::cli {

/// One line of a terminal that is written over and goes away, or a line a minute in a log.
class ProgressLine {
 public:
  enum class Where { terminal, log };

  explicit ProgressLine(Where where) : where_(where) {}
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Shows nothing of the first two seconds on a terminal, or of the first minute in a log.
  void show(const SolveOptions::Progress& progress);
  /// Complains, on a line of its own that stays. In any thread.
  void interrupt(const std::string& text);
  void clear();

 private:
  std::mutex one_at_a_time_;
  Where where_;
  bool shown_ = false;
  double next_ = 0;
};

}  // namespace halocline::cli

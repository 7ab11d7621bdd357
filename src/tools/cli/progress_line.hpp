// SPDX-License-Identifier: Apache-2.0
#pragma once
// Progress of a long run, on standard error.

#include <mutex>
#include <string>

#include <halocline/solver.hpp>

namespace halocline::cli {

/// One line on a terminal that is overwritten and removed at the end, or a line per minute in a
/// log.
class ProgressLine {
 public:
  enum class Where { terminal, log };

  explicit ProgressLine(Where where) : where_(where) {}
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Shows nothing in the first two seconds on a terminal, or the first minute in a log.
  void show(const SolveOptions::Progress& progress);
  /// Prints an error on a separate line. Thread-safe.
  void interrupt(const std::string& text);
  void clear();

 private:
  std::mutex one_at_a_time_;
  Where where_;
  bool shown_ = false;
  double next_ = 0;
};

}  // namespace halocline::cli

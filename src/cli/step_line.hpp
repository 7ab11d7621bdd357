#pragma once
// `halocline bench step`, read.

#include <memory>

#include "cli/command_line.hpp"

namespace CLI {
class App;
}

namespace halocline::cli {

/// Adds `step` to the command line of `bench`, and reads it.
class StepLine {
 public:
  explicit StepLine(CLI::App& bench);
  ~StepLine();
  StepLine(const StepLine&) = delete;
  StepLine& operator=(const StepLine&) = delete;

  /// True once the command line has asked for it.
  bool parsed() const;
  /// Throws usage.
  BenchCommand finish() const;

 private:
  struct Words;
  std::unique_ptr<Words> words_;
};

}  // namespace halocline::cli

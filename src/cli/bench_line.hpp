#pragma once
// `halocline bench`, read.

#include "cli/command_line.hpp"
#include "cli/halo_line.hpp"
#include "cli/step_line.hpp"

namespace halocline::cli {

/// Adds `bench` and what belongs to it to a command line, and reads it.
class BenchLine {
 public:
  explicit BenchLine(CLI::App& app);

  /// True once the command line has asked for it.
  bool parsed() const;
  /// The words before --help: "bench halo ".
  std::string name() const;
  /// Throws usage.
  BenchCommand finish() const;

 private:
  CLI::App& bench_;
  HaloLine halo_;
  StepLine step_;
};

}  // namespace halocline::cli

#pragma once
// `halocline bench halo`, read.

#include <memory>

#include "cli/command_line.hpp"

namespace CLI {
class App;
}

namespace halocline::cli {

/// Adds `bench` and what belongs to it to a command line, and reads it.
class BenchLine {
 public:
  explicit BenchLine(CLI::App& app);
  ~BenchLine();
  BenchLine(const BenchLine&) = delete;
  BenchLine& operator=(const BenchLine&) = delete;

  /// True once the command line has asked for it.
  bool parsed() const;
  /// The words before --help: "bench halo ".
  std::string name() const;
  /// Throws usage.
  BenchCommand finish() const;

 private:
  struct Words;
  std::unique_ptr<Words> words_;
};

}  // namespace halocline::cli

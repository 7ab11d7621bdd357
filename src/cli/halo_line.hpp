#pragma once
// `halocline bench halo`, read.

#include <memory>

#include "cli/command_line.hpp"

namespace CLI {
class App;
}

namespace halocline::cli {

/// Adds `halo` to the command line of `bench`, and reads it.
class HaloLine {
 public:
  explicit HaloLine(CLI::App& bench);
  ~HaloLine();
  HaloLine(const HaloLine&) = delete;
  HaloLine& operator=(const HaloLine&) = delete;

  /// True once the command line has asked for it.
  bool parsed() const;
  /// Throws usage.
  BenchCommand finish() const;

 private:
  struct Words;
  std::unique_ptr<Words> words_;
};

}  // namespace halocline::cli

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Benchmarks on a command line: those of `halocline bench`, one row each, and those of other
// programs.

#include <memory>
#include <string>
#include <vector>

#include "cli/benchmark.hpp"

namespace halocline::cli {

/// Each adds itself to `bench`.
std::unique_ptr<Benchmark> make_bench_halo(Syntax& bench);
std::unique_ptr<Benchmark> make_bench_step(Syntax& bench);
std::unique_ptr<Benchmark> make_bench_p2p(Syntax& bench);
std::unique_ptr<Benchmark> make_bench_layout(Syntax& bench);

/// Benchmarks as subcommands of a command.
class Benchmarks {
 public:
  using Make = std::unique_ptr<Benchmark> (*)(Syntax& syntax);
  Benchmarks(Syntax& syntax, const std::vector<Make>& makers);

  /// True once the command line has asked for one, or for the command and nothing more.
  bool parsed() const { return syntax_.parsed(); }
  /// Throws usage, also where none was asked for.
  BenchCommand finish() const;

 private:
  Syntax& syntax_;
  std::vector<std::unique_ptr<Benchmark>> benchmarks_;
};

/// Adds `bench` with all its benchmarks.
Benchmarks add_bench(Syntax& syntax);

/// Starts ranks if asked to and none were started, or measures as one of them; returns the exit
/// code. `words` are the whole command line, for the ranks.
int run_bench(const BenchCommand& command, const std::vector<std::string>& words);

}  // namespace halocline::cli

// SPDX-License-Identifier: Apache-2.0
#pragma once
// `halocline bench`: all benchmarks, one row each.

#include <memory>
#include <string>
#include <vector>

#include "cli/benchmark.hpp"

namespace halocline::cli {

/// Each adds itself to `bench`.
std::unique_ptr<Benchmark> make_bench_halo(Syntax& bench);
std::unique_ptr<Benchmark> make_bench_step(Syntax& bench);
std::unique_ptr<Benchmark> make_bench_p2p(Syntax& bench);
std::unique_ptr<Benchmark> make_bench_copy(Syntax& bench);
std::unique_ptr<Benchmark> make_bench_first_use(Syntax& bench);
std::unique_ptr<Benchmark> make_bench_mesh(Syntax& bench);
std::unique_ptr<Benchmark> make_bench_progress(Syntax& bench);
std::unique_ptr<Benchmark> make_bench_overhead(Syntax& bench);
std::unique_ptr<Benchmark> make_bench_layout(Syntax& bench);

/// Adds `bench` and all benchmarks to a command line, and reads them.
class Benchmarks {
 public:
  explicit Benchmarks(Syntax& syntax);

  /// True once the command line has asked for one, or for `bench` and nothing more.
  bool parsed() const;
  /// The words before --help: "bench halo ".
  std::string name() const;
  /// Throws usage.
  BenchCommand finish() const;

 private:
  Syntax& bench_;
  std::vector<std::unique_ptr<Benchmark>> benchmarks_;
  const Benchmark* chosen() const;
};

/// Starts ranks if asked to and none were started, or measures as one of them; returns the exit
/// code. `words` are the whole command line, for the ranks.
int run_bench(const BenchCommand& command, const std::vector<std::string>& words);

}  // namespace halocline::cli

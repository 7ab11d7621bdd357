// SPDX-License-Identifier: Apache-2.0
// halocline-lab: benchmarks that teach, or have settled a question.

#include <optional>
#include <string>
#include <vector>

#include "bench/halo_ways.hpp"
#include "cli/benchmark.hpp"
#include "cli/exit_code.hpp"
#include "cli/print.hpp"
#include "cli/program.hpp"
#include "lab/benchmarks.hpp"
#include "lab/viewed_bricks.hpp"

namespace {

using namespace halocline;

int run(const std::vector<std::string>& words) {
  bench::add_halo_way(bench::mapped_views());
  cli::Syntax syntax("halocline-lab", "Benchmarks that teach, or have settled a question.");
  syntax.offer_help();
  const cli::Benchmarks benchmarks(
      syntax, {cli::make_bench_mesh, cli::make_bench_progress, cli::make_bench_overhead,
               cli::make_bench_copy, cli::make_bench_first_use, cli::make_bench_layout});
  if (const std::optional<std::string> help = syntax.parse(words)) {
    cli::print(*help);
    return cli::exit_ok;
  }
  return cli::run_bench(benchmarks.finish(), words);
}

}  // namespace

int main(int argc, char** argv) { return cli::run_program(argc, argv, run); }

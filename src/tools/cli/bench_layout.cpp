// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/process/launched.hpp"
#include "bench/halo_ways.hpp"
#include "bench/layout_bench.hpp"
#include "cli/benchmark.hpp"
#include "cli/common_options.hpp"
#include "cli/parse.hpp"
#include "proof/surroundings.hpp"

namespace halocline::cli {
namespace {

constexpr auto layout_footer =
    "Separate list entries with commas. Each combination of way, layout and steps is a case: its\n"
    "result is compared with that of a plain run on one rank, bit by bit, and then it is timed.\n"
    "docs/bricks.md describes each way.\n\n"
    "Examples:\n"
    "  {0} layout\n"
    "  {0} layout --ranks 4 --layouts array,brick:32x4x4 --steps 1,2,4\n"
    "  {0} layout --backend cpu --ways shared,derived_types --cells-per-rank 64x64x64\n"
    "  mpirun -n 8 {0} layout --process-grid 2x2x2 --json layout.json\n\n"
    "Exit codes: 0 ok, 1 wrong result, 2 usage, 3 not available here, 4 failure.";

/// Returns one rank for each GPU, at least 2.
int usual_ranks(const bench::LayoutBenchOptions& options) {
  return options.backend == "cpu" ? 2 : std::max(2, proof::gpus_here(current_variables()));
}

/// Lists ways other than transports: for any backend, or for GPUs.
std::string ways_of(bench::Processors processors) {
  std::vector<std::string> names;
  for (const bench::HaloWay& way : bench::halo_ways())
    if (way.memory.has_value() == (processors == bench::Processors::gpus))
      names.emplace_back(way.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

class BenchLayout final : public Benchmark {
 public:
  explicit BenchLayout(Syntax& bench)
      : Benchmark(bench, "layout", "time layouts, ways to move halos, and deep halos",
                  fmt::format(layout_footer, words_for(bench))) {
    bench::LayoutBenchOptions& options = options_;
    const OptionGroup what = group("What to solve");
    what.option("--problem", "PROBLEM", options.problem, "name of a problem [default: star7]");
    what.option("--cells-per-rank", "NXxNY[xNZ]", cells_per_rank_,
                "cells of each rank, x first\n"
                "[default: 512x512x512 on GPUs, 128x128x128 on CPUs]");
    what.option("--precision", "P", options.precision, "f32 or f64 [default: the problem's]");
    what.option("--sweeps", "N", options.sweeps,
                "sweeps of a repetition, a multiple of each of --steps\n[default: 32]");
    what.option("--repetitions", "N", options.repetitions,
                "of each case, fewer where they take longer than 20 s [default: 5]");

    const OptionGroup how = group("How");
    how.option("--layouts", "LIST", layouts_,
               "array, brick, brick:32x4x4: as --layout of solve [default: array,brick]");
    how.option("--ways", "LIST", ways_,
               fmt::format("transports: shared, mpi; on GPUs peer, nccl, nvshmem, gpu_aware,\n"
                           "staged; also {};\n"
                           "on GPUs {}\n"
                           "[default: all that are available and proved here]",
                           ways_of(bench::Processors::cpus), ways_of(bench::Processors::gpus)));
    how.option("--steps", "LIST", steps_, "sweeps per exchange, by deep halos [default: 1,8]");
    add_ranks(how, "one per GPU, 2 at least");
    add_process_grid(how, process_grid_, "as near to a cube as it can be");
    how.option("--backend", "NAME", options.backend, "auto, cuda or cpu [default: auto]");
    how.option("--threads", "N", options.threads,
               "threads per rank [default: its share of the cores]");
    add_proofs(how, options.proofs);
    add_wait_limit(how);
    add_results(group("Results"));
  }

  BenchCommand finish() const override {
    const bench::LayoutBenchOptions options = read();
    BenchCommand command = this->command(options, bench::run_layout_bench);
    if (!command.job.ranks && !launched_by(current_variables()))
      command.job.ranks = usual_ranks(options);
    // auto does not include NCCL.
    if (options.backend != "cpu")
      want_proofs(command.job,
                  options.ways.empty() ? std::vector<std::string>{"auto", "nccl"} : options.ways,
                  {"auto"}, options.proofs);
    command.job.threads_per_rank = options.threads;
    return command;
  }

 private:
  bench::LayoutBenchOptions read() const {
    bench::LayoutBenchOptions options = options_;
    if (cells_per_rank_)
      options.cells_per_rank = parse_extents(*cells_per_rank_, "--cells-per-rank");
    if (process_grid_) options.process_grid = parse_extents(*process_grid_, "--process-grid");
    if (layouts_) options.layouts = parse_list(*layouts_, "--layouts");
    if (ways_) options.ways = parse_list(*ways_, "--ways");
    if (steps_) options.steps = parse_numbers(*steps_, "--steps");
    return options;
  }

  // Words of the command line, before they become options.
  std::optional<std::string> cells_per_rank_, process_grid_, layouts_, ways_, steps_;
  bench::LayoutBenchOptions options_;  // other options
};

}  // namespace

std::unique_ptr<Benchmark> make_bench_layout(Syntax& bench) {
  return std::make_unique<BenchLayout>(bench);
}

}  // namespace halocline::cli

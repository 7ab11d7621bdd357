// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/process/launched.hpp"
#include "bench/step_bench.hpp"
#include "cli/benchmark.hpp"
#include "cli/common_options.hpp"
#include "cli/parse.hpp"
#include "launch/launcher.hpp"
#include "proof/surroundings.hpp"

namespace halocline::cli {
namespace {

const char* step_footer =
    "Separate list entries with commas. Each combination is a case: repeated solves from the same\n"
    "start on the first ranks, while the others wait. Set-up and each first sweep do not count. "
    "Cases\n"
    "with equal cells must give bitwise equal results on any number of ranks.\n\n"
    "Examples:\n"
    "  halocline bench step --cells 1024x1024 --ranks 1,2 --sweeps 200\n"
    "  halocline bench step star7 --cells-per-rank 64x64x64 --process-grid auto,1x2x1\n"
    "  halocline bench step --cells 512x512 --schedule sequential,overlap --json step.json\n"
    "  mpirun -n 2 halocline bench step --cells-per-rank 256x256 --norm-every 1,100\n\n"
    "Exit codes: 0 ok, 1 wrong result, 2 usage, 3 not available here, 4 failure.";

/// Returns the largest requested number of ranks; by default one for each GPU or core.
int most_ranks(const bench::StepBenchOptions& options) {
  if (!options.ranks.empty()) return *std::max_element(options.ranks.begin(), options.ranks.end());
  const int gpus = options.backend == "auto" || options.backend == "cuda"
                       ? proof::gpus_here(current_variables())
                       : 0;
  return gpus > 0 ? gpus : usable_cores();
}

class BenchStep final : public Benchmark {
 public:
  explicit BenchStep(Syntax& bench)
      : Benchmark(bench, "step", "time sweeps on different numbers of ranks", step_footer) {
    bench::StepBenchOptions& options = options_;
    const OptionGroup what = group("What to solve");
    add_problem(problem_);
    what.option("--problem", "PROBLEM", named_problem_, "the same, as an option");
    what.option("--cells", "LIST", cells_,
                "sizes for all ranks together, x first: strong scaling\n[default: the problem's, "
                "without --cells-per-rank]");
    what.option("--cells-per-rank", "LIST", cells_per_rank_, "sizes for each rank: weak scaling");
    what.option("--precision", "LIST", precision_, "f32, f64 [default: the problem's]");
    what.option("--norm", "LIST", norm_, "max, l2, none [default: the problem's]");
    what.option("--norm-every", "LIST", norm_every_,
                "take the norm every K sweeps, and at the last [default: 1]");
    what.option("--sweeps", "N", options.sweeps, "sweeps of each solve [default: the problem's]");
    what.option("--repetitions", "N", options.repetitions, "solves of each case [default: 5]");

    const OptionGroup how = group("How");
    how.option("--ranks", "LIST", ranks_,
               "numbers of ranks; starts the largest [default: 1, 2, 4, ... and all:\n"
               "one per GPU or core, or those of mpirun or srun]");
    how.option("--process-grid", "LIST", process_grid_,
               "ranks along each axis, x first, for cases with that many ranks,\n"
               "or auto: as solve chooses [default: auto]");
    how.option("--halo-depth", "LIST", halo_depth_,
               "exchange every K sweeps, halos K times as deep [default: 1]");
    how.option("--schedule", "LIST", schedule_,
               "auto, sequential, overlap, fused, persistent\n[default: auto]");
    how.option("--transport", "LIST", transport_,
               "as for solve, or one choice per kind of pair:\n"
               "same-node=peer,other-node=staged [default: auto]");
    how.option("--graph", "LIST", graph_,
               "auto, on, off: queue sweeps as CUDA graphs [default: auto]");
    how.option("--backend", "NAME", options.backend,
               "auto, cuda, cpu or reference [default: auto]");
    how.option("--threads", "N", options.threads,
               "threads per rank, the same for all numbers of ranks [default: its\n"
               "share of the cores on the node with most ranks]");
    add_proofs(how, options.proofs);
    add_wait_limit(how);
    add_results(group("Results"));
  }

  BenchCommand finish() const override {
    const bench::StepBenchOptions options = read();
    BenchCommand command = this->command(options, bench::run_step_bench);
    command.ranks_option = BenchCommand::RanksOption::list;
    // A launcher may have started more ranks than the largest requested number.
    if (!launched_by(current_variables())) command.job.ranks = most_ranks(options);
    if (options.backend == "auto" || options.backend == "cuda")
      want_proofs(command.job, options.transports, {"auto"}, options.proofs);
    command.job.threads_per_rank = options.threads;
    return command;
  }

 private:
  bench::StepBenchOptions read() const {
    bench::StepBenchOptions options = options_;
    if (problem_ && named_problem_)
      throw Error(
          ErrorKind::usage,
          fmt::format("the problem is given twice, as '{}' and as --problem '{}'; give it once",
                      *problem_, *named_problem_));
    if (problem_ || named_problem_) options.problem = problem_ ? *problem_ : *named_problem_;
    const auto read_sizes = [](const std::optional<std::string>& word, const char* option) {
      std::vector<Extents> sizes;
      if (word)
        for (const std::string& size : parse_list(*word, option))
          sizes.push_back(parse_extents(size, option));
      return sizes;
    };
    const auto read_words = [](const std::optional<std::string>& word, const char* option,
                               std::vector<std::string>& list) {
      if (word) list = parse_list(*word, option);
    };
    options.cells = read_sizes(cells_, "--cells");
    options.cells_per_rank = read_sizes(cells_per_rank_, "--cells-per-rank");
    if (ranks_) options.ranks = parse_ranks(*ranks_, "--ranks");
    if (process_grid_)
      for (const std::string& grid : parse_list(*process_grid_, "--process-grid"))
        options.process_grids.push_back(grid == "auto" ? Extents()
                                                       : parse_extents(grid, "--process-grid"));
    if (halo_depth_) options.halo_depths = parse_numbers(*halo_depth_, "--halo-depth");
    read_words(schedule_, "--schedule", options.schedules);
    if (transport_ && transport_->find('=') != std::string::npos)
      options.transports = {*transport_};
    else
      read_words(transport_, "--transport", options.transports);
    read_words(graph_, "--graph", options.graphs);
    read_words(precision_, "--precision", options.precisions);
    read_words(norm_, "--norm", options.norms);
    if (norm_every_) options.norms_every = parse_numbers(*norm_every_, "--norm-every");
    return options;
  }

  // Words of the command line, before they become options.
  std::optional<std::string> problem_, named_problem_, cells_, cells_per_rank_, ranks_,
      process_grid_, halo_depth_, schedule_, transport_, graph_, precision_, norm_, norm_every_;
  bench::StepBenchOptions options_;  // other options
};

}  // namespace

std::unique_ptr<Benchmark> make_bench_step(Syntax& bench) {
  return std::make_unique<BenchStep>(bench);
}

}  // namespace halocline::cli

#include "cli/step_line.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/checked.hpp"
#include "cli/common_options.hpp"
#include "cli/parse.hpp"
#include "cli/ranks.hpp"

namespace halocline::cli {
namespace {

const char* footer =
    "Lists are written with commas. Every combination is a case: some solves from the same start\n"
    "on the first ranks, while the others wait. Set-up and each first sweep do not count. Results\n"
    "of equal cells have to be equal, to the bit, whatever the ranks.\n\n"
    "Examples:\n"
    "  halocline bench step --cells 1024x1024 --ranks 1,2 --sweeps 200\n"
    "  halocline bench step --problem star7 --cells-per-rank 64x64x64 --process-grid auto,1x2x1\n"
    "  halocline bench step --cells 512x512 --schedule sequential,overlap --json step.json\n"
    "  mpirun -n 2 halocline bench step --cells-per-rank 256x256 --norm-every 1,100\n\n"
    "Exit codes: 0 ok, 1 wrong result, 2 usage, 3 not available here, 4 failure.";

}  // namespace

/// Words as the user wrote them, before they become options.
struct StepLine::Words {
  CLI::App* step = nullptr;
  std::optional<std::string> cells, cells_per_rank, ranks, process_grid, schedule, transport, graph,
      precision, norm_every;
  bool quiet = false;
  bench::StepBenchOptions options;
  BenchCommand command;
};

StepLine::StepLine(CLI::App& bench) : words_(std::make_unique<Words>()) {
  Words& words = *words_;
  bench::StepBenchOptions& options = words.options;
  words.step = bench.add_subcommand("step", "time sweeps over numbers of ranks");
  CLI::App& step = *words.step;
  step.footer(footer);
  const auto add_list = [&](const char* name, std::optional<std::string>& word, const char* help,
                            const char* group) {
    step.add_option(name, word, help)->type_name("LIST")->group(group);
  };

  const auto* what = "What to solve";
  step.add_option("--problem", options.problem, "name of a problem (laplace)")
      ->type_name("PROBLEM")
      ->group(what);
  add_list("--cells", words.cells, "sizes for all ranks together, x first: strong scaling", what);
  add_list("--cells-per-rank", words.cells_per_rank, "sizes for each rank: weak scaling", what);
  add_list("--precision", words.precision, "f32, f64 (the problem's own)", what);
  add_list("--norm-every", words.norm_every, "take the norm every K sweeps (1)", what);
  step.add_option("--sweeps", options.sweeps, "of each solve (the problem's own)")
      ->type_name("N")
      ->group(what);
  step.add_option("--repetitions", options.repetitions, "solves of each case (5)")
      ->type_name("N")
      ->group(what);

  const auto* how = "How";
  add_list("--ranks", words.ranks,
           "numbers of ranks, the largest of which is started (1, 2, 4, ... and\n"
           "all: one for each GPU or core, or those of mpirun or srun)",
           how);
  add_list("--process-grid", words.process_grid,
           "ranks along each axis, for the number of ranks that they make, or\n"
           "auto: as solve chooses (auto)",
           how);
  add_list("--schedule", words.schedule, "auto, sequential, overlap, fused, persistent (auto)",
           how);
  add_list("--transport", words.transport,
           "as for solve, or one choice by kind of pair:\nsame-node=peer,other-node=staged (auto)",
           how);
  add_list("--graph", words.graph, "auto, on, off: queue sweeps as CUDA graphs (auto)", how);
  step.add_option("--backend", options.backend, "auto, cuda, cpu or reference (auto)")
      ->type_name("NAME")
      ->group(how);
  step.add_option("--threads", options.threads,
                  "of each rank, the same for all numbers of ranks (its share of\nthe cores where "
                  "most ranks work)")
      ->type_name("N")
      ->group(how);
  add_proofs(step, how, options.proofs);
  add_wait_limit(step, how, words.command.wait_limit_seconds);

  const auto* results = "Results";
  add_json(step, results, words.command.json);
  add_quiet(step, results, words.quiet);
}

StepLine::~StepLine() = default;

bool StepLine::parsed() const { return words_->step->parsed(); }

BenchCommand StepLine::finish() const {
  const Words& words = *words_;
  bench::StepBenchOptions options = words.options;
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
  options.cells = read_sizes(words.cells, "--cells");
  options.cells_per_rank = read_sizes(words.cells_per_rank, "--cells-per-rank");
  if (words.ranks)
    for (const std::int64_t ranks : parse_numbers(*words.ranks, "--ranks"))
      options.ranks.push_back(checked_cast<int>(ranks));
  if (words.process_grid)
    for (const std::string& grid : parse_list(*words.process_grid, "--process-grid"))
      options.process_grids.push_back(grid == "auto" ? Extents()
                                                     : parse_extents(grid, "--process-grid"));
  read_words(words.schedule, "--schedule", options.schedules);
  if (words.transport && words.transport->find('=') != std::string::npos)
    options.transports = {*words.transport};
  else
    read_words(words.transport, "--transport", options.transports);
  read_words(words.graph, "--graph", options.graphs);
  read_words(words.precision, "--precision", options.precisions);
  if (words.norm_every) options.norms_every = parse_numbers(*words.norm_every, "--norm-every");
  BenchCommand command = words.command;
  command.options = std::move(options);
  command.quiet = words.quiet ? BenchCommand::Flag::yes : BenchCommand::Flag::no;
  check_rank_options(std::nullopt, command.wait_limit_seconds);
  return command;
}

}  // namespace halocline::cli

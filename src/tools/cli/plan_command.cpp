// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_command.hpp"

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "cli/common_options.hpp"
#include "cli/exit_code.hpp"
#include "cli/options.hpp"
#include "cli/parse.hpp"
#include "cli/print.hpp"
#include "solver/option_words.hpp"

namespace halocline::cli {
namespace {

const char* plan_footer =
    "Counts cells, messages and memory without running. For times run 'halocline bench step' on "
    "the\n"
    "target machine.\n\n"
    "Examples:\n"
    "  halocline plan laplace --cells 16384x16384 --ranks 4\n"
    "  halocline plan star7 --cells 512x512x512 --ranks 64 --halo-depth 2\n"
    "  halocline plan heat --cells-per-rank 200x200x200 --ranks 8 --json plan.json\n\n"
    "Exit codes: 0 ok, 2 usage, 4 failure.";

}  // namespace

/// Words as the user wrote them, before they become options.
struct PlanLine::Words {
  const Syntax* plan = nullptr;
  std::string problem;
  std::optional<std::string> cells, cells_per_rank, process_grid, precision;
  PlanCommand command;
};

PlanLine::PlanLine(Syntax& syntax) : words_(std::make_unique<Words>()) {
  Words& words = *words_;
  Syntax& plan =
      syntax.subcommand("plan", "count cells, messages and memory of a run, without running it");
  words.plan = &plan;
  plan.footer(plan_footer);
  plan.word("problem", "PROBLEM", words.problem, "name of a problem, or a problem file (.toml)");
  const OptionGroup what = plan.group("What to solve");
  what.option("--cells", "NXxNY[xNZ]", words.cells,
              "unknowns along each axis, x first: 256x128\n[default: the problem's]");
  what.option("--cells-per-rank", "NXxNY[xNZ]", words.cells_per_rank,
              "cells of each rank, instead of --cells");
  what.option("--precision", "P", words.precision, "f32 or f64 [default: the problem's]");
  const OptionGroup how = plan.group("How");
  how.option("--ranks", "N", words.command.ranks, "ranks of the planned run [default: 1]");
  add_process_grid(how, words.process_grid, "all possible ones");
  how.option("--halo-depth", "K", words.command.options.halo_depth,
             "exchange every K sweeps, halos K times as deep [default: 1]");
  add_json(plan.group("Results"), words.command.json);
}

PlanLine::~PlanLine() = default;

bool PlanLine::parsed() const { return words_->plan->parsed(); }

PlanCommand PlanLine::finish() const {
  const Words& words = *words_;
  PlanCommand command = words.command;
  command.options.problem = words.problem;
  if (words.cells) command.options.cells = parse_extents(*words.cells, "--cells");
  if (words.cells_per_rank)
    command.options.cells_per_rank = parse_extents(*words.cells_per_rank, "--cells-per-rank");
  if (words.process_grid)
    command.options.process_grid = parse_extents(*words.process_grid, "--process-grid");
  if (words.precision) command.options.precision = solver::read_precision(*words.precision);
  if (command.ranks < 1)
    throw Error(ErrorKind::usage,
                fmt::format("{} ranks cannot be planned for; use at least 1", command.ranks));
  return command;
}

plan::Plan plan_of(const PlanCommand& command) {
  return plan::make_plan(command.options, command.ranks);
}

int run_plan(const PlanCommand& command) {
  write_report(plan::report_of(plan_of(command)), command.json, Text::shown);
  return exit_ok;
}

}  // namespace halocline::cli

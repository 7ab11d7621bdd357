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

PlanLine::PlanLine(Syntax& syntax)
    : syntax_(syntax.subcommand("plan",
                                "count cells, messages and memory of a run, without running it")) {
  syntax_.footer(plan_footer);
  syntax_.word("problem", "PROBLEM", problem_, "name of a problem, or a problem file (.toml)");
  const OptionGroup what = syntax_.group("What to solve");
  what.option("--cells", "NXxNY[xNZ]", cells_,
              "unknowns along each axis, x first: 256x128\n[default: the problem's]");
  what.option("--cells-per-rank", "NXxNY[xNZ]", cells_per_rank_,
              "cells of each rank, instead of --cells");
  what.option("--precision", "P", precision_, "f32 or f64 [default: the problem's]");
  const OptionGroup how = syntax_.group("How");
  how.option("--ranks", "N", command_.ranks, "ranks of the planned run [default: 1]");
  add_process_grid(how, process_grid_, "all possible ones");
  how.option("--halo-depth", "K", command_.options.halo_depth,
             "exchange every K sweeps, halos K times as deep [default: 1]");
  how.option("--sweeps-per-pass", "N", command_.options.sweeps_per_pass,
             "sweeps in one pass over memory, on GPUs [default: 1]");
  add_json(syntax_.group("Results"), command_.json);
}

bool PlanLine::parsed() const { return syntax_.parsed(); }

PlanCommand PlanLine::finish() const {
  PlanCommand command = command_;
  command.options.problem = problem_;
  if (cells_) command.options.cells = parse_extents(*cells_, "--cells");
  if (cells_per_rank_)
    command.options.cells_per_rank = parse_extents(*cells_per_rank_, "--cells-per-rank");
  if (process_grid_) command.options.process_grid = parse_extents(*process_grid_, "--process-grid");
  if (precision_) command.options.precision = solver::read_precision(*precision_);
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

// SPDX-License-Identifier: Apache-2.0
// Cases of bench layout from options, without MPI.

#include <algorithm>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/text/words.hpp"
#include "bench/halo_ways.hpp"
#include "bench/layout_bench.hpp"
#include "grid/decomposition.hpp"
#include "problem/catalogue.hpp"
#include "problem/model.hpp"
#include "solver/option_words.hpp"
#include "text/refuse.hpp"

namespace halocline::bench {
namespace {

constexpr std::int64_t most_sweeps = 1'000'000'000;

void check_steps(const LayoutBenchOptions& options) {
  if (options.sweeps < 1 || options.sweeps > most_sweeps)
    refuse(fmt::format("{} cannot be timed; use 1 to {}", counted(options.sweeps, "sweep"),
                       most_sweeps));
  for (const std::int64_t steps : options.steps) {
    if (steps < 1)
      refuse(fmt::format("an exchange cannot serve {} sweeps; use --steps 1 or more", steps));
    // Otherwise a repetition would contain partial exchanges.
    if (options.sweeps % steps != 0)
      refuse(fmt::format("{} are no whole number of exchanges that serve {} each; use --sweeps {}",
                         counted(options.sweeps, "sweep"), steps,
                         (options.sweeps / steps + 1) * steps));
  }
}

void check_words(const LayoutBenchOptions& options) {
  if (options.repetitions < 1)
    refuse(fmt::format("{} repetitions cannot be timed; use 1 or more", options.repetitions));
  for (const std::string& way : options.ways) check_way(way);
  if (options.backend != "auto" && options.backend != "cpu" && options.backend != "cuda")
    refuse(fmt::format("layouts cannot be timed with backend '{}'; use auto, cpu or cuda",
                       options.backend));
}

/// Returns the process grid nearest to a cube, so that there are neighbours across faces, edges and
/// corners.
Extents usual_process_grid(int axes, int ranks) {
  const auto longest = [](const Extents& grid) {
    return std::max({grid.values().x, grid.values().y, grid.values().z});
  };
  const std::vector<Extents> grids = grid::all_process_grids(ranks, axes);
  return *std::min_element(grids.begin(), grids.end(), [&](const Extents& a, const Extents& b) {
    return longest(a) < longest(b);
  });
}

SolveOptions plain_options(const LayoutBenchOptions& options, int ranks, Processors processors) {
  const problem::ProblemText text = problem::find_problem(options.problem);
  const problem::Model model = problem::model_of(problem::read_text(text.name, text.text), {});
  SolveOptions solve;
  solve.problem = options.problem;
  solve.cells_per_rank = options.cells_per_rank.axes() > 0 ? options.cells_per_rank
                                                           : usual_cells(model.axes, processors);
  solve.process_grid = options.process_grid.axes() > 0
                           ? options.process_grid
                           : usual_process_grid(solve.cells_per_rank.axes(), ranks);
  if (!options.precision.empty()) solve.precision = solver::read_precision(options.precision);
  solve.norm = Norm::none;  // only halos synchronize ranks
  solve.sweeps = options.sweeps + 1;
  return solve;
}

}  // namespace

Extents usual_cells(int axes, Processors processors) {
  const bool large = processors == Processors::gpus;
  if (axes == 1) return {large ? 1 << 27 : 1 << 21};
  if (axes == 2) return large ? Extents{8192, 8192} : Extents{1536, 1536};
  return large ? Extents{512, 512, 512} : Extents{128, 128, 128};
}

std::vector<LayoutCase> layout_cases(const LayoutBenchOptions& options, int ranks,
                                     Processors processors) {
  check_steps(options);
  check_words(options);
  if (ranks < 2) refuse("one rank has no neighbour to exchange halos with; use --ranks 2 or more");
  SolveOptions solve = plain_options(options, ranks, processors);
  std::vector<LayoutCase> cases;
  for (const std::string& layout : options.layouts)
    for (const std::int64_t steps : options.steps) {
      solve.layout = layout;
      solve.halo_depth = steps;
      cases.push_back({layout, steps, solver::make_case(solve, ranks)});
      cases.back().the_case.model = cases.front().the_case.model;
    }
  return cases;
}

void check(const LayoutBenchOptions& options, int ranks) {
  const bool may_use_gpus = options.backend != "cpu";
  layout_cases(options, ranks, may_use_gpus ? Processors::gpus : Processors::cpus);
}

}  // namespace halocline::bench

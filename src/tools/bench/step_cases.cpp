// SPDX-License-Identifier: Apache-2.0
// Cases of bench step from options, without MPI.

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>

#include "base/text/words.hpp"
#include "bench/step_bench.hpp"
#include "grid/text.hpp"
#include "problem/catalogue.hpp"
#include "problem/model.hpp"
#include "solver/engine/schedule.hpp"
#include "solver/option_words.hpp"
#include "text/refuse.hpp"
#include "transport/transport.hpp"

namespace halocline::bench {
namespace {

std::vector<int> numbers_of_ranks(const StepBenchOptions& options, int most) {
  if (!options.ranks.empty()) return options.ranks;
  std::vector<int> numbers;
  for (int ranks = 1; ranks < most; ranks *= 2) numbers.push_back(ranks);
  numbers.push_back(most);
  return numbers;
}

std::int64_t ranks_of(const Extents& process_grid) {
  std::int64_t ranks = 1;
  for (int axis = 0; axis < process_grid.axes(); ++axis) ranks *= process_grid[axis];
  return ranks;
}

/// Returns the process grids for a number of ranks, or an empty one.
std::vector<Extents> process_grids_for(const StepBenchOptions& options, int ranks) {
  std::vector<Extents> grids;
  for (const Extents& grid : options.process_grids)
    if (grid.axes() == 0 || ranks_of(grid) == ranks) grids.push_back(grid);
  if (grids.empty()) grids.emplace_back();
  return grids;
}

/// Returns each norm with its intervals; Norm::none has one interval.
std::vector<std::pair<Norm, std::int64_t>> norms_of(const StepBenchOptions& options,
                                                    const problem::Model& model) {
  std::vector<Norm> kinds;
  for (const std::string& norm : options.norms) kinds.push_back(solver::read_norm(norm));
  if (kinds.empty()) kinds.push_back(model.norm);
  std::vector<std::pair<Norm, std::int64_t>> norms;
  for (const Norm norm : kinds) {
    if (norm == Norm::none) norms.emplace_back(norm, 1);
    for (const std::int64_t every : options.norms_every)
      if (norm != Norm::none) norms.emplace_back(norm, every);
  }
  const auto is_none = [](const auto& norm) { return norm.first == Norm::none; };
  if (std::all_of(norms.begin(), norms.end(), is_none) &&
      options.norms_every != std::vector<std::int64_t>{1})
    refuse(fmt::format(
        "{} has no norm to take every {} sweeps; choose one with --norm max or --norm l2",
        model.name, fmt::join(options.norms_every, ", ")));
  return norms;
}

void check_values(const StepBenchOptions& options, const std::vector<int>& numbers, int most) {
  for (const int ranks : numbers)
    if (ranks < 1 || ranks > most)
      refuse(fmt::format("{} ranks cannot be timed; use 1 to {}", ranks, most));
  for (const Extents& grid : options.process_grids)
    if (grid.axes() > 0 &&
        std::find(numbers.begin(), numbers.end(), ranks_of(grid)) == numbers.end())
      refuse(fmt::format("the process grid {} is for {}, but the runs use {}", grid::text_of(grid),
                         counted(ranks_of(grid), "rank"), fmt::join(numbers, ", ")));
  if (options.repetitions < 1)
    refuse(fmt::format("{} repetitions cannot be timed; use 1 or more", options.repetitions));
  if (options.sweeps && *options.sweeps < 2)
    refuse(fmt::format("{} cannot be timed, since the first one does not count; use 2 or more",
                       counted(*options.sweeps, "sweep")));
  for (const std::string& transport : options.transports)
    if (transport != "auto" && transport.find('=') == std::string::npos)
      transport::find_transport(transport);
  for (const std::string& schedule : options.schedules)
    if (schedule != "auto") solver::find_schedule(schedule);
}

}  // namespace

std::vector<StepCase> step_cases(const StepBenchOptions& options, int ranks) {
  const problem::ProblemText text = problem::find_problem(options.problem);
  const problem::Model model = problem::model_of(problem::read_text(text.name, text.text), {});
  const std::vector<int> numbers = numbers_of_ranks(options, ranks);
  check_values(options, numbers, ranks);
  const auto norms = norms_of(options, model);

  StepCase one;
  one.solve.problem = options.problem;
  one.solve.sweeps = options.sweeps;
  one.solve.backend = options.backend;
  one.solve.threads = options.threads;
  one.solve.proofs = options.proofs;
  one.solve.tuning_seconds = 0;  // tuning could choose differently in each repetition

  std::vector<StepCase> cases;
  const auto add_transports = [&] {
    // One rank has no transport.
    const auto transports = one.ranks > 1 ? options.transports : std::vector<std::string>{"auto"};
    for (const std::string& transport : transports)
      for (const std::string& graph : options.graphs) {
        one.solve.transport = transport;
        one.solve.graph = solver::read_graphs(graph);
        halocline::check(one.solve, one.ranks);
        cases.push_back(one);
      }
  };
  const auto add_schedules = [&] {
    const auto depths = one.ranks > 1 ? options.halo_depths : std::vector<std::int64_t>{1};
    for (const std::int64_t depth : depths)
      for (const std::string& schedule : options.schedules) {
        one.solve.halo_depth = depth;
        one.solve.schedule = schedule;
        add_transports();
      }
  };
  const auto add_ranks = [&] {
    for (const int number : numbers)
      for (const Extents& grid : process_grids_for(options, number)) {
        one.ranks = number;
        one.solve.process_grid = grid;
        add_schedules();
      }
  };
  const auto add_size = [&](Scaling scaling, const Extents& size) {
    one.scaling = scaling;
    (scaling == Scaling::strong ? one.solve.cells : one.solve.cells_per_rank) = size;
    for (const std::string& precision : options.precisions.empty()
                                            ? std::vector{std::string(name_of(model.precision))}
                                            : options.precisions)
      for (const auto& [norm, norm_every] : norms) {
        one.solve.precision = solver::read_precision(precision);
        one.solve.norm = norm;
        one.solve.norm_every = norm_every;
        // Tolerance 0 lets the solve run to its last sweep.
        one.solve.tolerance = norm == Norm::none ? std::nullopt : std::optional(0.0);
        add_ranks();
      }
    one.solve.cells = one.solve.cells_per_rank = {};
  };
  for (const Extents& size : options.cells) add_size(Scaling::strong, size);
  for (const Extents& size : options.cells_per_rank) add_size(Scaling::weak, size);
  if (cases.empty()) add_size(Scaling::strong, Extents(model.cells, model.axes));
  return cases;
}

void check(const StepBenchOptions& options, int ranks) { step_cases(options, ranks); }

}  // namespace halocline::bench

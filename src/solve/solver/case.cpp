// SPDX-License-Identifier: Apache-2.0
#include "solver/case.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/checked.hpp"
#include "base/words.hpp"
#include "grid/halo_regions.hpp"
#include "grid/text.hpp"
#include "machine/cores.hpp"
#include "problem/catalogue.hpp"
#include "solver/target.hpp"

namespace halocline::solver {
namespace {

using problem::ProblemInfo;

[[noreturn]] void refuse(const std::string& text) { throw Error(ErrorKind::usage, text); }

Extents cells_of(const SolveOptions& options, const ProblemInfo& info, int ranks) {
  Extents cells = options.cells;
  if (options.cells_per_rank.axes() > 0) {
    if (cells.axes() > 0) refuse("give the cells of the whole grid or those of one rank, not both");
    const Extents& each = options.cells_per_rank;
    // For parts of a given size, splitting only the slowest axis causes the least halo traffic.
    Int3 parts{1, 1, 1};
    parts[each.axes() - 1] = ranks;
    if (options.process_grid.axes() > 0) parts = options.process_grid.values();
    Int3 all;
    for (int axis = 0; axis < each.axes(); ++axis)
      all[axis] = checked_multiply(each[axis], parts[axis], "cells");
    cells = Extents(all, each.axes());
  }
  if (cells.axes() == 0) cells = Extents(info.cells, info.axes);
  if (cells.axes() < info.fewest_axes || cells.axes() > info.most_axes)
    refuse(info.fewest_axes == info.most_axes
               ? fmt::format("{} has {}, but cells {} have {}", info.name,
                             counted(info.fewest_axes, "axis"), grid::text_of(cells), cells.axes())
               : fmt::format("{} has {} to {} axes, but cells {} have {}", info.name,
                             info.fewest_axes, info.most_axes, grid::text_of(cells), cells.axes()));
  return cells;
}

std::vector<double> parameters_of(const SolveOptions& options, const ProblemInfo& info) {
  std::vector<double> values;
  std::string names;
  for (const problem::Parameter& parameter : info.parameters) {
    values.push_back(parameter.value);
    names += fmt::format("{}{}", names.empty() ? "" : ", ", parameter.name);
  }
  for (const auto& [name, value] : options.parameters) {
    std::size_t index = 0;
    while (index < values.size() && info.parameters[index].name != name) ++index;
    if (index == values.size())
      refuse(names.empty()
                 ? fmt::format("{} has no parameters, so '{}' cannot be set", info.name, name)
                 : fmt::format("{} has no parameter '{}'; it has: {}", info.name, name, names));
    if (!std::isfinite(value))
      refuse(fmt::format("parameter {} cannot be {}; use a finite number", name, value));
    values[index] = value;
  }
  return values;
}

Norm norm_of(const SolveOptions& options, const ProblemInfo& info) {
  if (options.norm) return *options.norm;
  // A tolerance needs a norm, also for problems without one.
  return options.tolerance && info.norm == Norm::none ? Norm::max : info.norm;
}

std::optional<double> tolerance_of(const SolveOptions& options, const ProblemInfo& info,
                                   Norm norm) {
  if (options.tolerance && norm == Norm::none)
    refuse("a tolerance needs a norm, but the norm is 'none'; choose max or l2");
  if (options.tolerance && !(*options.tolerance >= 0))
    refuse(fmt::format("tolerance {} is invalid; use 0 or more", *options.tolerance));
  if (norm == Norm::none) return std::nullopt;
  return options.tolerance ? options.tolerance : info.tolerance;
}

}  // namespace

Case make_case(const SolveOptions& options, int ranks) {
  const problem::Problem& problem = problem::find_problem(options.problem);
  const ProblemInfo& info = problem.info();
  const Extents cells = cells_of(options, info, ranks);
  const Norm norm = norm_of(options, info);
  const std::int64_t sweeps = options.sweeps.value_or(info.sweeps);
  if (sweeps < 0) refuse(fmt::format("cannot run {} sweeps; use 0 or more", sweeps));
  if (options.norm_every < 1)
    refuse(
        fmt::format("cannot compute a norm every {} sweeps; use at least 1", options.norm_every));
  if (options.halo_depth < 1)
    refuse(fmt::format("halo depth {} is invalid; use at least 1", options.halo_depth));
  if (options.tuning_seconds &&
      !(*options.tuning_seconds >= 0 && std::isfinite(*options.tuning_seconds)))
    refuse(
        fmt::format("cannot spend {} seconds on tuning; use 0 or more", *options.tuning_seconds));
  if (options.threads > machine::most_threads)
    refuse(fmt::format("{} threads per rank are too many; use at most {}", options.threads,
                       machine::most_threads));
  if (options.threads < 0)
    refuse(fmt::format("cannot run {} threads per rank; use 1 or more", options.threads));

  Case result{.problem = &problem,
              .setting = {.cells = cells.values(),
                          .axes = cells.axes(),
                          .parameters = parameters_of(options, info),
                          .seed = options.seed},
              .precision = options.precision.value_or(info.precision),
              .norm = norm,
              .norm_every = options.norm_every,
              .tolerance = tolerance_of(options, info, norm),
              .sweeps = sweeps,
              .halo_depth = options.halo_depth,
              .grid = {.cells = cells,
                       .periodic = info.periodic,
                       .process_grid = options.process_grid,
                       .expected_halo = options.halo_depth},
              .initial = options.initial};
  if (options.cells_per_rank.axes() > 0 && options.process_grid.axes() == 0) {
    Int3 parts{1, 1, 1};
    parts[cells.axes() - 1] = ranks;
    result.grid.process_grid = Extents(parts, cells.axes());
  }
  problem.check(result.setting);
  const Grid grid(0, ranks, result.grid);
  // Also where nobody sends such a halo: its cells would only take memory, or exceed 64 bits.
  const std::int64_t longest = std::max({cells.values().x, cells.values().y, cells.values().z});
  if (options.halo_depth > longest)
    refuse(
        fmt::format("halo depth {} is more than the {} cells of the longest axis; use at most {}",
                    options.halo_depth, longest, longest));
  grid::check_widths(grid, HaloWidths(options.halo_depth));
  return result;
}

}  // namespace halocline::solver

namespace halocline {

void check(const SolveOptions& options, int ranks) {
  solver::make_case(options, ranks);
  solver::check_target(options);
}

}  // namespace halocline

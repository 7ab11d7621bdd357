// SPDX-License-Identifier: Apache-2.0
#include "grid/decomposition.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/text/words.hpp"
#include "grid/text.hpp"

namespace halocline::grid {
namespace {

// The cost of a face's cell, relative to a z face. An x face of 64^3, 128^3 and 256^3 fp64 cells
// took 1.2, 1.4 and 4.0 times as long over mpi, 0.9, 1.2 and 5.3 times over shared; a y face 1.0 to
// 1.2 (bench/results/epyc-2cores/faces.txt).
constexpr double axis_cost[3] = {2.0, 1.0, 1.0};

std::int64_t narrowest_part(const GridOptions& options, int axis) {
  return std::max<std::int64_t>(
      1, std::max(options.expected_halo.lower[axis], options.expected_halo.upper[axis]));
}

/// An upper bound. Where one side's halo is narrower, the part at that edge may be too.
double most_parts(const GridOptions& options, int axis) {
  const bool has_free_edge = !options.periodic[static_cast<std::size_t>(axis)] &&
                             options.expected_halo.lower[axis] != options.expected_halo.upper[axis];
  return std::max(1.0, std::floor(static_cast<double>(options.cells[axis]) /
                                  static_cast<double>(narrowest_part(options, axis)))) +
         (has_free_edge ? 1 : 0);
}

/// "1 cell along each split axis", or the cells along each axis.
std::string narrowest_parts_text(const GridOptions& options) {
  const HaloWidths& halo = options.expected_halo;
  const int axes = options.cells.axes();
  bool is_uniform = true;
  std::string of_each;
  for (int axis = 0; axis < axes; ++axis) {
    is_uniform &= narrowest_part(options, axis) == narrowest_part(options, 0);
    of_each += fmt::format("{}{} along {}",
                           axis == 0          ? ""
                           : axis + 1 == axes ? " and "
                                              : ", ",
                           counted(narrowest_part(options, axis), "cell"), "xyz"[axis]);
  }
  std::string text = is_uniform
                         ? counted(narrowest_part(options, 0), "cell") + " along each split axis"
                         : of_each + " where they are split";
  if (!(halo == HaloWidths(1))) text += ", as wide as the halo";
  return text;
}

std::optional<Misfit> misfit_along(int axis, std::int64_t cells, std::int64_t parts, bool periodic,
                                   const HaloWidths& widths) {
  // The first part, the first with a neighbour below and the first of the smaller ones.
  for (const std::int64_t place : {std::int64_t{0}, std::int64_t{1}, cells % parts}) {
    if (place >= parts) continue;
    const Interval part = part_of(cells, parts, place);
    const std::int64_t here = part.upper - part.lower;
    // A neighbour's lower halo is filled from the part below it.
    const bool has_above = place + 1 < parts || periodic, has_below = place > 0 || periodic;
    if (has_above && widths.lower[axis] > here)
      return Misfit{axis, place, here, widths.lower[axis]};
    if (has_below && widths.upper[axis] > here)
      return Misfit{axis, place, here, widths.upper[axis]};
  }
  return std::nullopt;
}

/// Cost of the cells that the largest part sends per exchange, or nothing if the split does not
/// fit.
std::optional<double> cost_of(const Int3& parts, const GridOptions& options) {
  Int3 largest{1, 1, 1};
  for (int axis = 0; axis < options.cells.axes(); ++axis) {
    const std::int64_t cells = options.cells[axis];
    if (cells < parts[axis]) return std::nullopt;
    // With one part, the halo of a periodic axis is no reason to choose another split.
    const bool periodic = options.periodic[static_cast<std::size_t>(axis)];
    if (parts[axis] > 1 && misfit_along(axis, cells, parts[axis], periodic, options.expected_halo))
      return std::nullopt;
    largest[axis] = (cells + parts[axis] - 1) / parts[axis];
  }
  double cost = 0;
  for (int axis = 0; axis < options.cells.axes(); ++axis) {
    if (parts[axis] == 1) continue;
    double face = axis_cost[axis];
    for (int other = 0; other < 3; ++other)
      if (other != axis) face *= static_cast<double>(largest[other]);
    const HaloWidths& halo = options.expected_halo;
    cost += face * static_cast<double>(halo.lower[axis] + halo.upper[axis]);
  }
  return cost;
}

/// Largest first.
std::vector<std::int64_t> divisors_of(std::int64_t number) {
  std::vector<std::int64_t> small, divisors;
  for (std::int64_t one = 1; one * one <= number; ++one) {
    if (number % one != 0) continue;
    small.push_back(one);
    if (number / one != one) divisors.push_back(number / one);
  }
  divisors.insert(divisors.end(), small.rbegin(), small.rend());
  return divisors;
}

}  // namespace

Interval part_of(std::int64_t cells, std::int64_t parts, std::int64_t part) {
  const std::int64_t base = cells / parts, extra = cells % parts;
  const std::int64_t lower = part * base + std::min(part, extra);
  return {lower, lower + base + (part < extra ? 1 : 0)};
}

std::optional<Misfit> find_misfit(const GridOptions& options, const Extents& process_grid,
                                  const HaloWidths& widths) {
  for (int axis = 0; axis < options.cells.axes(); ++axis)
    if (const auto misfit = misfit_along(axis, options.cells[axis], process_grid[axis],
                                         options.periodic[static_cast<std::size_t>(axis)], widths))
      return misfit;
  return std::nullopt;
}

std::vector<Extents> all_process_grids(int ranks, int axes) {
  const std::vector<std::int64_t> divisors = divisors_of(ranks);
  std::vector<Extents> grids;
  for (const std::int64_t z : divisors) {
    if (axes < 3 && z > 1) continue;
    for (const std::int64_t y : divisors)
      if ((ranks / z) % y == 0 && (axes > 1 || y == 1))
        grids.emplace_back(Int3{ranks / z / y, y, z}, axes);
  }
  return grids;
}

std::vector<Extents> process_grids(int ranks, const GridOptions& options) {
  std::vector<std::pair<double, Extents>> all;
  for (const Extents& grid : all_process_grids(ranks, options.cells.axes()))
    if (const std::optional<double> cost = cost_of(grid.values(), options))
      all.emplace_back(*cost, grid);
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Extents> grids;
  for (const auto& entry : all) grids.push_back(entry.second);
  return grids;
}

Extents choose_process_grid(int ranks, const GridOptions& options) {
  if (const std::vector<Extents> grids = process_grids(ranks, options); !grids.empty())
    return grids.front();
  const int axes = options.cells.axes();
  double parts_there = 1;
  for (int axis = 0; axis < axes; ++axis) parts_there *= most_parts(options, axis);
  auto most = static_cast<std::int64_t>(std::min(parts_there, ranks - 1.0));
  while (most > 1 && process_grids(static_cast<int>(most), options).empty()) --most;
  throw Error(ErrorKind::usage,
              fmt::format("{} cannot be split over {} ranks: every rank needs at least {}; "
                          "use at most {}",
                          cells_text(options.cells), ranks, narrowest_parts_text(options),
                          counted(most, "rank")));
}

void check_process_grid(const Extents& process_grid, int ranks, const Extents& cells) {
  if (process_grid.axes() != cells.axes())
    throw Error(
        ErrorKind::usage,
        fmt::format("the process grid {} has {}, but the grid of {} has {}", text_of(process_grid),
                    counted(process_grid.axes(), "axis"), cells_text(cells), cells.axes()));
  const Int3& parts = process_grid.values();
  if (parts.x < 1 || parts.y < 1 || parts.z < 1)
    throw Error(ErrorKind::usage,
                fmt::format("the process grid {} needs at least 1 part along each axis",
                            text_of(process_grid)));
  // In floating point: a product that overflows is not the number of ranks either.
  const double product =
      static_cast<double>(parts.x) * static_cast<double>(parts.y) * static_cast<double>(parts.z);
  if (product != static_cast<double>(ranks))
    throw Error(ErrorKind::usage,
                fmt::format("the process grid {} is for {:.0f} ranks, but there are {}; give a "
                            "process grid whose product is {}, or start {:.0f} ranks",
                            text_of(process_grid), product, ranks, ranks, product));
  for (int axis = 0; axis < cells.axes(); ++axis)
    if (parts[axis] > cells[axis])
      throw Error(ErrorKind::usage,
                  fmt::format("the process grid {} has {} parts along {}, but the grid has only {} "
                              "cells along it; use at most one part per cell",
                              text_of(process_grid), parts[axis], "xyz"[axis], cells[axis]));
}

}  // namespace halocline::grid

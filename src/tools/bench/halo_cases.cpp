// SPDX-License-Identifier: Apache-2.0
// Cases of bench halo from options, without MPI.

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/checked.hpp"
#include "base/text/words.hpp"
#include "bench/halo_bench.hpp"
#include "bench/rivals.hpp"
#include "grid/halo_regions.hpp"
#include "grid/text.hpp"
#include "text/refuse.hpp"
#include "transport/transport.hpp"

namespace halocline::bench {
namespace {

constexpr std::int64_t most_fields = 1000;

/// Returns sizes dominated by latency, by bandwidth, and in between.
std::vector<Extents> usual_sizes(int axes) {
  std::vector<Extents> sizes;
  if (axes == 1) return {{1 << 20}};
  if (axes != 3) sizes = {{64, 64}, {1024, 1024}, {4096, 4096}};
  if (axes != 2) sizes.insert(sizes.end(), {{32, 32, 32}, {128, 128, 128}, {256, 256, 256}});
  return sizes;
}

HaloCase make_case(const HaloBenchOptions& options, const Extents& each, int ranks) {
  HaloCase result;
  result.cells_per_rank = each;
  Int3 parts{1, 1, 1};
  parts[each.axes() - 1] = ranks;
  if (options.process_grid.axes() > 0) {
    if (options.process_grid.axes() != each.axes())
      refuse(
          fmt::format("the process grid {} has {} axes, the cells per rank {} have {}; give "
                      "cells per rank for {} axes, or omit the process grid",
                      grid::text_of(options.process_grid), options.process_grid.axes(),
                      grid::text_of(each), each.axes(), options.process_grid.axes()));
    parts = options.process_grid.values();
  }
  Int3 all{1, 1, 1};
  for (int axis = 0; axis < each.axes(); ++axis) {
    if (each[axis] < 1)
      refuse(fmt::format("a rank cannot have {} cells along {}; use at least 1", each[axis],
                         "xyz"[axis]));
    all[axis] = checked_multiply(each[axis], parts[axis], "cells");
  }
  result.grid = {.cells = Extents(all, each.axes()),
                 .periodic = options.periodic,
                 .process_grid = Extents(parts, each.axes())};
  return result;
}

/// Throws usage for a halo wider than the neighbour's cells.
void check_width(const HaloCase& the_case, std::int64_t width) {
  const Extents& each = the_case.cells_per_rank;
  for (int axis = 0; axis < each.axes(); ++axis) {
    const auto index = static_cast<std::size_t>(axis);
    const bool is_filled = the_case.grid.process_grid[axis] > 1 || the_case.grid.periodic[index];
    if (is_filled && width > each[axis])
      refuse(
          fmt::format("a halo of width {} is wider than a rank's {} along {}; use at most "
                      "--width {}, or more cells per rank",
                      width, counted(each[axis], "cell"), "xyz"[axis], each[axis]));
  }
}

/// Returns whether some rank has a neighbour, which may be itself.
bool something_moves(const Grid& grid) {
  for (int axis = 0; axis < grid.axes(); ++axis)
    if (grid.process_grid()[axis] > 1 || grid.periodic(axis)) return true;
  return false;
}

void check_values(const HaloBenchOptions& options) {
  if (options.precision != "f32" && options.precision != "f64")
    refuse(fmt::format("unknown precision '{}'; choose one of: f32, f64", options.precision));
  for (const std::int64_t width : options.widths)
    if (width < 1) refuse(fmt::format("a halo of width {} is empty; use --width 1 or more", width));
  for (const std::int64_t fields : options.fields)
    if (fields < 1 || fields > most_fields)
      refuse(
          fmt::format("{} fields cannot be exchanged together; use 1 to {}", fields, most_fields));
  check(options.loop);
  for (const std::string& graph : options.graphs)
    if (graph != "off" && graph != "on")
      refuse(fmt::format("unknown --graph value '{}'; use off or on", graph));
  for (const std::string& transport : options.transports)
    if (transport != "auto" && transport.find('=') == std::string::npos)
      transport::find_transport(transport);
  for (const std::string& rival : options.rivals) find_rival(rival);
}

}  // namespace

std::vector<HaloCase> halo_cases(const HaloBenchOptions& options, int ranks) {
  check_values(options);
  const std::vector<Extents> sizes = options.cells_per_rank.empty()
                                         ? usual_sizes(options.process_grid.axes())
                                         : options.cells_per_rank;
  std::vector<HaloCase> cases;
  for (const Extents& each : sizes) {
    HaloCase one = make_case(options, each, ranks);
    const Grid grid(0, ranks, one.grid);
    if (!something_moves(grid))
      refuse(
          "one rank has no neighbour to exchange with; use more (--ranks 2), or wrap an axis "
          "around (--periodic x)");
    for (const std::int64_t width : options.widths) {
      check_width(one, width);
      grid::check_widths(grid, HaloWidths(width));
      for (const std::int64_t fields : options.fields) {
        one.width = width;
        one.fields = fields;
        cases.push_back(one);
      }
    }
  }
  return cases;
}

}  // namespace halocline::bench

// SPDX-License-Identifier: Apache-2.0
#include "plan/prospects.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/text/words.hpp"
#include "exchange/messages.hpp"
#include "grid/decomposition.hpp"
#include "grid/halo_regions.hpp"
#include "grid/text.hpp"
#include "solver/case.hpp"
#include "solver/engine/levels.hpp"
#include "stencil/sweep.hpp"

namespace halocline::plan {
namespace {

using solver::Case;

struct Traffic {
  std::int64_t messages = 0, bytes = 0;
};

Traffic traffic_of(const Case& the_case, const Grid& grid) {
  Traffic traffic;
  const std::vector<HaloWidths> widths(the_case.exchanged_fields().size(), the_case.halo());
  for (const exchange::PeerMessage& message :
       exchange::messages_of(grid, grid.rank(), widths, the_case.neighbours())) {
    if (message.peer == grid.rank()) continue;
    ++traffic.messages;
    for (const exchange::HaloPart& piece : message.send)
      traffic.bytes += piece.box.cells() * the_case.element_bytes();
  }
  return traffic;
}

/// `in_pass`: redundant updates of a pass over memory, in the middle of a rank's part.
Prospect prospect_of(const Case& the_case, double in_pass, int ranks, const Extents& process_grid) {
  GridOptions options = the_case.grid;
  options.process_grid = process_grid;
  Prospect prospect{.process_grid = process_grid};
  // The first parts of an axis have one cell more, and inner parts have most neighbours, so the
  // busiest rank is among the first three along each axis.
  const Int3 parts = process_grid.values();
  const auto few = [](std::int64_t count) { return std::min<std::int64_t>(count, 3); };
  std::int64_t most_cells = 0;
  for (std::int64_t z = 0; z < few(parts.z); ++z)
    for (std::int64_t y = 0; y < few(parts.y); ++y)
      for (std::int64_t x = 0; x < few(parts.x); ++x) {
        const Grid grid(static_cast<int>(x + parts.x * (y + parts.y * z)), ranks, options);
        grid::check_widths(grid, the_case.halo());
        const Traffic traffic = traffic_of(the_case, grid);
        prospect.messages = std::max(prospect.messages, traffic.messages);
        prospect.bytes = std::max(prospect.bytes, traffic.bytes);
        const double redundant =
            (1 + in_pass) * (1 + solver::redundant_updates(the_case, grid)) - 1;
        prospect.redundant = std::max(prospect.redundant, redundant);
        if (grid.owned().cells() <= most_cells) continue;
        most_cells = grid.owned().cells();
        prospect.cells_per_rank = Extents(grid.owned().extent(), grid.axes());
        prospect.memory_bytes =
            static_cast<std::int64_t>(std::min(solver::bytes_of_all(the_case, grid), 9e18));
      }
  prospect.imbalance =
      static_cast<double>(most_cells) * ranks / static_cast<double>(the_case.cells());
  return prospect;
}

/// Returns why the cells cannot be split like this, in the words of Grid and Exchange.
std::string why_not(const Case& the_case, const Extents& process_grid) {
  for (int axis = 0; axis < process_grid.axes(); ++axis) {
    const std::int64_t cells = the_case.grid.cells[axis], parts = process_grid[axis];
    if (parts > cells)
      return fmt::format("{} parts along {}, but only {}", parts, "xyz"[axis],
                         counted(cells, "cell"));
    const HaloWidths halo = the_case.halo();
    const std::int64_t width = std::max(halo.lower[axis], halo.upper[axis]);
    if (parts > 1 && cells / parts < width)
      return fmt::format("parts of {} along {} are thinner than the halo's {}",
                         counted(cells / parts, "cell"), "xyz"[axis], width);
  }
  return "a halo is wider than the neighbouring part";
}

/// Lets the case do so many sweeps in one pass over memory, as GPUs can. Returns their redundant
/// updates.
double take_passes(Case& the_case, std::int64_t sweeps, int ranks) {
  if (sweeps <= 1) return 0;
  const stencil::Backend& gpus = stencil::find_backend("cuda");
  if (const auto why_not = solver::no_passes_because(the_case, gpus))
    throw Error(ErrorKind::usage,
                fmt::format("a pass of {} sweeps cannot be planned: {}", sweeps, *why_not));
  solver::allow_passes(the_case, sweeps, ranks);
  return gpus.redundant_in_pass(*the_case.model, sweeps);
}

}  // namespace

Plan make_plan(const SolveOptions& options, int ranks) {
  // A requested process grid may be refused with a reason.
  SolveOptions open = options;
  if (options.cells_per_rank.axes() == 0) open.process_grid = {};
  Case the_case = solver::make_case(open, ranks);
  if (options.process_grid.axes() > 0) {
    grid::check_process_grid(options.process_grid, ranks, the_case.grid.cells);
    the_case.grid.process_grid = options.process_grid;
  }
  const double in_pass = take_passes(the_case, options.sweeps_per_pass, ranks);
  Plan plan{.problem = the_case.model->name,
            .precision = std::string(name_of(the_case.precision())),
            .cells = the_case.grid.cells,
            .ranks = ranks,
            .halo_depth = the_case.halo_depth,
            .sweeps_per_pass = the_case.sweeps_per_pass};
  GridOptions any = the_case.grid;
  any.process_grid = {};
  std::vector<Extents> possible = grid::process_grids(ranks, any);
  std::vector<Extents> all = grid::all_process_grids(ranks, the_case.model->axes);
  const Extents fixed = the_case.grid.process_grid;
  const auto is_out = [&](const Extents& grid) { return fixed.axes() > 0 && !(grid == fixed); };
  std::erase_if(possible, is_out);
  std::erase_if(all, is_out);
  for (const Extents& grid : possible) {
    try {
      plan.prospects.push_back(prospect_of(the_case, in_pass, ranks, grid));
    } catch (const Error& error) {
      plan.refused.push_back({grid, error.what()});
    }
  }
  // From few parts along z to many.
  for (auto grid = all.rbegin(); grid != all.rend(); ++grid)
    if (std::find(possible.begin(), possible.end(), *grid) == possible.end())
      plan.refused.push_back({*grid, why_not(the_case, *grid)});
  return plan;
}

}  // namespace halocline::plan

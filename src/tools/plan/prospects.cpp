// SPDX-License-Identifier: Apache-2.0
#include "plan/prospects.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/words.hpp"
#include "exchange/messages.hpp"
#include "grid/decomposition.hpp"
#include "grid/halo_regions.hpp"
#include "grid/text.hpp"
#include "solver/case.hpp"
#include "solver/levels.hpp"

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

Prospect prospect_of(const Case& the_case, int ranks, const Extents& process_grid) {
  GridOptions options = the_case.grid;
  options.process_grid = process_grid;
  Prospect prospect{.process_grid = process_grid,
                    .cells_per_rank = {},
                    .messages = 0,
                    .bytes = 0,
                    .memory_bytes = 0,
                    .imbalance = 1,
                    .redundant = 0,
                    .times = {}};
  // The first parts of an axis have one cell more, those inside have most neighbours: the busiest
  // rank is among the first three along each.
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
        prospect.redundant =
            std::max(prospect.redundant, solver::redundant_updates(the_case, grid));
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

/// Why a split of the cells cannot be, as Grid and exchange would say it.
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

/// What would make the figures like the run, as a clause that ends with a command.
std::string words_for(Unlike unlike, const Plan& plan, const Prospect& prospect) {
  const std::string step =
      fmt::format("halocline bench step {} --ranks {} --json FILE", plan.problem, plan.ranks);
  switch (unlike) {
    case Unlike::ranks:
      return fmt::format(
          "the figures are of another number of ranks than {}, or left cores idle; ranks that "
          "share caches and the "
          "bandwidth of memory slow each other down, and others have other neighbours: use {}",
          plan.ranks, step);
    case Unlike::cells:
      return fmt::format(
          "the figures are of less than two thirds or more than 1.5 times as many cells per rank; "
          "rates "
          "change where fields no longer fit in a cache: use {} --cells {}",
          step, grid::text_of(plan.cells));
    case Unlike::norm:
      return fmt::format(
          "the figures have norms at other intervals than the run, which {}: use {} --norm-every "
          "{}",
          plan.norm_every == 0   ? std::string("has none")
          : plan.norm_every == 1 ? std::string("has one each sweep")
                                 : fmt::format("has one every {} sweeps", plan.norm_every),
          step, std::max<std::int64_t>(1, plan.norm_every));
    case Unlike::split:
      return fmt::format(
          "no figures are of halos that lie in memory as those of this process grid; single cells "
          "take many times as long to pack as whole rows: use {} --process-grid {}",
          step, grid::text_of(prospect.process_grid));
    case Unlike::messages:
      break;
  }
  return fmt::format(
      "the figures have no exchange of as many messages with about as many bytes: use {} --cells "
      "{} "
      "--process-grid {}",
      step, grid::text_of(plan.cells), grid::text_of(prospect.process_grid));
}

/// Notes in what figures are unlike the run, each with the first process grid it holds for.
void note_differences(Plan& plan) {
  for (const Unlike unlike :
       {Unlike::ranks, Unlike::cells, Unlike::norm, Unlike::split, Unlike::messages}) {
    const Prospect* first = nullptr;
    std::size_t count = 0;
    for (const Prospect& prospect : plan.prospects) {
      const std::vector<Unlike>& all = prospect.times->unlike;
      if (std::find(all.begin(), all.end(), unlike) == all.end()) continue;
      if (first == nullptr) first = &prospect;
      ++count;
    }
    if (first == nullptr) continue;
    plan.notes.push_back(fmt::format(
        "times may be off by more than 25 % for {}{}: {}", grid::text_of(first->process_grid),
        count > 1 ? fmt::format(" and {}", counted(count - 1, "other process grid"))
                  : std::string(),
        words_for(unlike, plan, *first)));
  }
}

/// The fastest first; those of one time stay in order.
void sort_by_time(std::vector<Prospect>& prospects) {
  // std::stable_sort brings false warnings of GCC 12, of values that are not initialised.
  std::multimap<double, Prospect> by_seconds;
  for (Prospect& prospect : prospects) {
    const double seconds = prospect.times->together();
    by_seconds.emplace(seconds, std::move(prospect));
  }
  prospects.clear();
  for (auto& [seconds, prospect] : by_seconds) prospects.push_back(std::move(prospect));
}

void predict_all(Plan& plan, const Figures& figures) {
  bool all = !plan.prospects.empty();
  for (Prospect& prospect : plan.prospects) {
    double cells = 1;
    for (int axis = 0; axis < prospect.cells_per_rank.axes(); ++axis)
      cells *= static_cast<double>(prospect.cells_per_rank[axis]);
    prospect.times = predict(figures, {.problem = plan.problem,
                                       .precision = plan.precision,
                                       .ranks = plan.ranks,
                                       .cells = cells,
                                       .norm_every = plan.norm_every,
                                       .messages = prospect.messages,
                                       .bytes = prospect.bytes,
                                       .split = split_of(prospect.process_grid)});
    if (prospect.times) {
      prospect.times->sweep *= 1 + prospect.redundant;
      prospect.times->exchange /= static_cast<double>(plan.halo_depth);
    }
    all &= prospect.times.has_value();
  }
  if (all) {
    sort_by_time(plan.prospects);
    note_differences(plan);
  } else if (!figures.empty()) {
    plan.notes.push_back(fmt::format(
        "the figures do not predict times: they need sweeps of {0} in {1}, and exchanges "
        "if there are several ranks; halocline bench step {0} --ranks {2} has both on "
        "CPUs, on GPUs halocline bench halo --ranks {2} has the exchanges",
        plan.problem, plan.precision, plan.ranks));
  }
}

std::string where_of(const Figures& figures, const Plan& plan) {
  for (const Figures::Rate& rate : figures.rates)
    if (rate.problem == plan.problem && rate.precision == plan.precision) return rate.where;
  return "";
}

}  // namespace

Plan make_plan(const SolveOptions& options, int ranks, const Figures& figures) {
  // What is asked of the process grid is looked at below, each for itself.
  SolveOptions open = options;
  if (options.cells_per_rank.axes() == 0) open.process_grid = {};
  const Case the_case = solver::make_case(open, ranks);
  Plan plan{.problem = the_case.model->name,
            .precision = std::string(name_of(the_case.precision())),
            .cells = the_case.grid.cells,
            .ranks = ranks,
            .halo_depth = the_case.halo_depth,
            .norm_every = the_case.norm == Norm::none ? 0 : the_case.norm_every,
            .prospects = {},
            .refused = {},
            .figures = {},
            .notes = {}};
  if (options.process_grid.axes() > 0)
    grid::check_process_grid(options.process_grid, ranks, the_case.grid.cells);

  GridOptions any = the_case.grid;
  any.process_grid = {};
  std::vector<Extents> possible = grid::process_grids(ranks, any);
  std::vector<Extents> all = grid::all_process_grids(ranks, the_case.model->axes);
  const Extents fixed =
      options.process_grid.axes() > 0 ? options.process_grid : the_case.grid.process_grid;
  const auto is_out = [&](const Extents& grid) { return fixed.axes() > 0 && !(grid == fixed); };
  possible.erase(std::remove_if(possible.begin(), possible.end(), is_out), possible.end());
  all.erase(std::remove_if(all.begin(), all.end(), is_out), all.end());
  for (const Extents& grid : possible) {
    try {
      plan.prospects.push_back(prospect_of(the_case, ranks, grid));
    } catch (const Error& error) {
      plan.refused.push_back({grid, error.what()});
    }
  }
  // From few parts along z to many, as readers expect them.
  for (auto grid = all.rbegin(); grid != all.rend(); ++grid)
    if (std::find(possible.begin(), possible.end(), *grid) == possible.end())
      plan.refused.push_back({*grid, why_not(the_case, *grid)});
  predict_all(plan, figures);
  if (!plan.prospects.empty() && plan.prospects.front().times)
    plan.figures = where_of(figures, plan);
  return plan;
}

}  // namespace halocline::plan

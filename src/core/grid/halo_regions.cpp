// SPDX-License-Identifier: Apache-2.0
#include "grid/halo_regions.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/text/words.hpp"
#include "grid/decomposition.hpp"
#include "grid/text.hpp"

namespace halocline::grid {
namespace {

/// The part of `owned` at its side towards `direction`, as deep as the neighbour's halo that
/// receives it: cells sent up fill the neighbour's lower halo.
Box send_box(const Box& owned, const HaloWidths& widths, Direction direction) {
  Box box = owned;
  for (int axis = 0; axis < 3; ++axis) {
    if (direction[axis] > 0) box.lower[axis] = owned.upper[axis] - widths.lower[axis];
    if (direction[axis] < 0) box.upper[axis] = owned.lower[axis] + widths.upper[axis];
  }
  return box;
}

Box receive_box(const Box& owned, const HaloWidths& widths, Direction direction) {
  Box box = owned;
  for (int axis = 0; axis < 3; ++axis) {
    if (direction[axis] > 0) {
      box.lower[axis] = owned.upper[axis];
      box.upper[axis] = owned.upper[axis] + widths.upper[axis];
    }
    if (direction[axis] < 0) {
      box.lower[axis] = owned.lower[axis] - widths.lower[axis];
      box.upper[axis] = owned.lower[axis];
    }
  }
  return box;
}

/// Returns the remedy for halos that do not fit the parts of a grid.
std::string advice_for(const GridOptions& options, int ranks, const HaloWidths& widths,
                       const Misfit& misfit) {
  GridOptions wanted = options;
  wanted.expected_halo = widths;
  for (const Extents& process_grid : process_grids(ranks, wanted))
    if (!find_misfit(wanted, process_grid, widths))
      return fmt::format(
          "the process grid {} fits: give that one, or none, so that the grid "
          "chooses it, with option 'expected_halo' as wide as the halo",
          text_of(process_grid));
  const std::int64_t most = options.cells[misfit.axis] / misfit.width;
  return most >= 1
             ? fmt::format("use at most {} along {}", counted(most, "rank"), "xyz"[misfit.axis])
             : fmt::format("use a width of at most {}", options.cells[misfit.axis]);
}

}  // namespace

int direction_index(Direction d) {
  return static_cast<int>(d.x + 1 + 3 * (d.y + 1 + 3 * (d.z + 1)));
}

std::string direction_name(Direction direction) {
  std::string name;
  for (int axis = 0; axis < 3; ++axis)
    if (direction[axis] != 0) {
      name += direction[axis] > 0 ? '+' : '-';
      name += "xyz"[axis];
    }
  return name;
}

void check_widths(const Grid& grid, const HaloWidths& widths, std::string_view field) {
  for (int axis = 0; axis < 3; ++axis)
    if (const std::int64_t least = std::min(widths.lower[axis], widths.upper[axis]); least < 0)
      throw Error(ErrorKind::usage,
                  fmt::format("halo width {} along {} is negative", least, "xyz"[axis]));
  const GridOptions options{.cells = grid.cells(),
                            .periodic = {grid.periodic(0), grid.periodic(1), grid.periodic(2)}};
  const std::optional<Misfit> misfit = find_misfit(options, grid.process_grid(), widths);
  if (!misfit) return;
  Int3 at;
  at[misfit->axis] = misfit->place;
  const Int3& parts = grid.process_grid().values();
  throw Error(
      ErrorKind::usage,
      fmt::format("halo width {}{} exceeds the {} that rank {} owns along {}; {}", misfit->width,
                  field.empty() ? std::string() : fmt::format(" of field {}", field),
                  counted(misfit->cells, "cell"), at.x + parts.x * (at.y + parts.y * at.z),
                  "xyz"[misfit->axis], advice_for(options, grid.ranks(), widths, *misfit)));
}

std::vector<HaloRegion> halo_regions(const Grid& grid, int rank, const HaloWidths& widths,
                                     Neighbours neighbours) {
  std::vector<HaloRegion> regions;
  const Box owned = grid.owned(rank);
  for (int index = 0; index < 27; ++index) {
    const Direction direction{index % 3 - 1, index / 3 % 3 - 1, index / 9 - 1};
    int axes_moved = 0;
    bool beyond_axes = false;
    for (int axis = 0; axis < 3; ++axis) {
      axes_moved += direction[axis] != 0 ? 1 : 0;
      beyond_axes |= direction[axis] != 0 && axis >= grid.axes();
    }
    if (axes_moved == 0 || beyond_axes) continue;
    if (neighbours == Neighbours::faces && axes_moved > 1) continue;
    const int peer = grid.neighbour(rank, direction);
    if (peer < 0) continue;
    regions.push_back({direction, peer, send_box(owned, widths, direction),
                       receive_box(owned, widths, direction)});
  }
  return regions;
}

}  // namespace halocline::grid

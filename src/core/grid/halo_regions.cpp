// SPDX-License-Identifier: Apache-2.0
#include "grid/halo_regions.hpp"

#include <cstdlib>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "grid/decomposition.hpp"

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

/// Throws if the part at `place` along `axis` holds fewer cells than the halo that receives them.
void check_part(const Grid& grid, int axis, std::int64_t place, std::int64_t width) {
  const std::int64_t parts = grid.process_grid()[axis];
  const Interval part = part_of(grid.cells()[axis], parts, place);
  const std::int64_t cells = part.upper - part.lower;
  if (width <= cells) return;
  Int3 at;
  at[axis] = place;
  const Int3& grid_parts = grid.process_grid().values();
  const auto rank = at.x + grid_parts.x * (at.y + grid_parts.y * at.z);
  const std::int64_t most = grid.cells()[axis] / width;
  throw Error(
      ErrorKind::usage,
      fmt::format("halo width {} exceeds the {} cells that rank {} owns along {}; {}", width, cells,
                  rank, "xyz"[axis],
                  most >= 1 ? fmt::format("use at most {} ranks along {}", most, "xyz"[axis])
                            : fmt::format("use a width of at most {}", grid.cells()[axis])));
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

void check_widths(const Grid& grid, const HaloWidths& widths) {
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t lower = widths.lower[axis], upper = widths.upper[axis];
    if (lower < 0 || upper < 0)
      throw Error(ErrorKind::usage, fmt::format("halo width {} along {} is negative",
                                                std::min(lower, upper), "xyz"[axis]));
    if (axis >= grid.axes()) continue;
    const std::int64_t parts = grid.process_grid()[axis];
    for (std::int64_t place = 0; place < parts; ++place) {
      const bool has_above = place + 1 < parts || grid.periodic(axis);
      const bool has_below = place > 0 || grid.periodic(axis);
      if (has_above) check_part(grid, axis, place, lower);
      if (has_below) check_part(grid, axis, place, upper);
    }
  }
}

std::vector<HaloRegion> halo_regions(const Grid& grid, int rank, const HaloWidths& widths,
                                     Directions directions) {
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
    if (directions == Directions::faces && axes_moved > 1) continue;
    const int peer = grid.neighbour(rank, direction);
    if (peer < 0) continue;
    regions.push_back({direction, peer, send_box(owned, widths, direction),
                       receive_box(owned, widths, direction)});
  }
  return regions;
}

}  // namespace halocline::grid

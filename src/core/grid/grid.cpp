// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include <halocline/grid.hpp>

#include "base/checked.hpp"
#include "base/text/words.hpp"
#include "grid/decomposition.hpp"

namespace halocline {

Extents::Extents(std::initializer_list<std::int64_t> values)
    : axes_(static_cast<int>(values.size())) {
  if (values.size() < 1 || values.size() > 3)
    throw Error(ErrorKind::usage,
                fmt::format("{} given; a grid has 1, 2 or 3 axes", counted(values.size(), "axis")));
  int axis = 0;
  for (const std::int64_t value : values) values_[axis++] = value;
}

Extents::Extents(const Int3& values, int axes) : axes_(axes) {
  for (int axis = 0; axis < axes; ++axis) values_[axis] = values[axis];
}

Grid::Grid(int rank, int ranks, const GridOptions& options)
    : rank_(rank),
      ranks_(ranks),
      cells_(options.cells),
      periodic_(options.periodic),
      expected_halo_(options.expected_halo) {
  if (cells_.axes() == 0) throw Error(ErrorKind::usage, "a grid needs cells, such as {256, 128}");
  if (rank < 0 || rank >= ranks)
    throw Error(ErrorKind::usage,
                fmt::format("rank {} is out of range: there are {} ranks", rank, ranks));
  std::int64_t count = 1;
  for (int axis = 0; axis < axes(); ++axis) {
    if (cells_[axis] < 1)
      throw Error(ErrorKind::usage, fmt::format("{} cells along {}: at least 1 is needed",
                                                cells_[axis], "xyz"[axis]));
    count = checked_multiply(count, cells_[axis], "cells");
    if (const std::int64_t least = std::min(expected_halo_.lower[axis], expected_halo_.upper[axis]);
        least < 0)
      throw Error(ErrorKind::usage,
                  fmt::format("option 'expected_halo' is {} along {}; a width is at least 0", least,
                              "xyz"[axis]));
  }
  for (int axis = axes(); axis < 3; ++axis) {
    periodic_[static_cast<std::size_t>(axis)] = false;
    expected_halo_.lower[axis] = expected_halo_.upper[axis] = 0;
  }

  if (options.process_grid.axes() == 0) {
    process_grid_ = grid::choose_process_grid(ranks, options);
  } else {
    grid::check_process_grid(options.process_grid, ranks, cells_);
    process_grid_ = options.process_grid;
  }
  owned_ = owned(rank);
}

Int3 Grid::place_of(int rank) const {
  const Int3& parts = process_grid_.values();
  return {rank % parts.x, rank / parts.x % parts.y, rank / (parts.x * parts.y)};
}

Box Grid::owned(int rank) const {
  const Int3 place = place_of(rank);
  Box box;
  for (int axis = 0; axis < 3; ++axis) {
    const grid::Interval part = grid::part_of(cells_[axis], process_grid_[axis], place[axis]);
    box.lower[axis] = part.lower;
    box.upper[axis] = part.upper;
  }
  return box;
}

int Grid::neighbour(int rank, Direction direction) const {
  Int3 place = place_of(rank) + direction;
  const Int3& parts = process_grid_.values();
  for (int axis = 0; axis < 3; ++axis) {
    if (place[axis] >= 0 && place[axis] < parts[axis]) continue;
    if (!periodic(axis)) return -1;
    place[axis] = (place[axis] + parts[axis]) % parts[axis];
  }
  return static_cast<int>(place.x + parts.x * (place.y + parts.y * place.z));
}

Box Grid::interior(const HaloWidths& reach) const {
  Box box = owned_;
  for (int axis = 0; axis < axes(); ++axis) {
    Direction down, up;
    down[axis] = -1;
    up[axis] = 1;
    if (neighbour(rank_, down) >= 0) box.lower[axis] += reach.lower[axis];
    if (neighbour(rank_, up) >= 0) box.upper[axis] -= reach.upper[axis];
  }
  if (box.empty()) return {owned_.lower, owned_.lower};
  return box;
}

std::vector<Box> Grid::boundary(const HaloWidths& reach) const {
  return subtract(owned_, interior(reach));
}

}  // namespace halocline

// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an exchange shall do, cell by cell, from its definition: written without the code that
// does it.

#include <algorithm>
#include <optional>

#include <halocline/exchange.hpp>
#include <halocline/grid.hpp>

namespace halocline::test {

/// The cells of a rank: ranks count fastest along x, and the first parts get one cell more.
inline Box owned_by_formula(const Grid& grid, int rank) {
  const Int3& parts = grid.process_grid().values();
  const Int3 place{rank % parts.x, rank / parts.x % parts.y, rank / (parts.x * parts.y)};
  Box box;
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t cells = grid.cells()[axis], share = cells / parts[axis],
                       longer = cells % parts[axis];
    box.lower[axis] = place[axis] * share + std::min(place[axis], longer);
    box.upper[axis] = box.lower[axis] + share + (place[axis] < longer ? 1 : 0);
  }
  return box;
}

/// The widths that an exchange fills of a field with this halo.
inline HaloWidths widths_filled(const Grid& grid, const HaloWidths& halo,
                                const ExchangeOptions& options) {
  HaloWidths widths = options.widths.value_or(halo);
  for (int axis = grid.axes(); axis < 3; ++axis) widths.lower[axis] = widths.upper[axis] = 0;
  return widths;
}

/// The cell of the domain whose value a cell around `owned` gets; nothing if the exchange leaves
/// it alone.
inline std::optional<Int3> imaged_cell(const Grid& grid, const Box& owned, const HaloWidths& widths,
                                       Neighbours neighbours, Int3 at) {
  int axes_left = 0;
  for (int axis = 0; axis < 3; ++axis) {
    if (at[axis] < owned.lower[axis] - widths.lower[axis]) return std::nullopt;
    if (at[axis] >= owned.upper[axis] + widths.upper[axis]) return std::nullopt;
    const bool left = at[axis] < owned.lower[axis] || at[axis] >= owned.upper[axis];
    axes_left += left ? 1 : 0;
    const std::int64_t cells = grid.cells()[axis];
    if (at[axis] >= 0 && at[axis] < cells) continue;
    if (!grid.periodic(axis)) return std::nullopt;
    at[axis] = (at[axis] + cells) % cells;
  }
  if (axes_left == 0 || (axes_left > 1 && neighbours == Neighbours::faces)) return std::nullopt;
  return at;
}

}  // namespace halocline::test

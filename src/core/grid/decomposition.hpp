// SPDX-License-Identifier: Apache-2.0
#pragma once
// Splits cells over ranks: the number of parts along each axis, and the cells of each part.

#include <vector>

#include <halocline/grid.hpp>

namespace halocline::grid {

struct Interval {
  std::int64_t lower, upper;
};

/// Returns the cells of part `part` of `parts`: the first `cells % parts` parts get one more.
Interval part_of(std::int64_t cells, std::int64_t parts, std::int64_t part);

/// Returns every split over `ranks` ranks that gives each part at least the expected halo width in
/// cells, the one with the least traffic per rank first.
std::vector<Extents> process_grids(int ranks, const GridOptions& options);

/// Chooses parts per axis for `ranks` ranks: the least traffic per rank, with a preference for
/// faces whose cells are contiguous. Throws usage, with the largest possible number of ranks, if no
/// split gives every part at least the expected halo width in cells.
Extents choose_process_grid(int ranks, const GridOptions& options);

/// Throws usage if `process_grid` does not match the ranks or leaves a part without cells.
void check_process_grid(const Extents& process_grid, int ranks, const Extents& cells);

}  // namespace halocline::grid

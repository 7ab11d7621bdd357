// SPDX-License-Identifier: Apache-2.0
#pragma once
// Splits cells over ranks: the number of parts along each axis, and the cells of each part.

#include <optional>
#include <vector>

#include <halocline/grid.hpp>

namespace halocline::grid {

struct Interval {
  std::int64_t lower, upper;
};

/// Returns the cells of part `part` of `parts`: the first `cells % parts` parts get one more.
Interval part_of(std::int64_t cells, std::int64_t parts, std::int64_t part);

/// A part with fewer cells than the halo, `width` cells wide, that a neighbour along `axis` fills
/// from them; `place` is the part's along that axis.
struct Misfit {
  int axis;
  std::int64_t place, cells, width;
};

/// Finds the first part, along x first, that is too narrow for halos of `widths`; where no
/// neighbour is, no halo is filled. `process_grid` is not that of `options`, which gives the rest.
std::optional<Misfit> find_misfit(const GridOptions& options, const Extents& process_grid,
                                  const HaloWidths& widths);

/// Returns all ways to write `ranks` as a product, one factor for each axis: from many parts along
/// z to few, so that among equal costs the split of slow axes comes first.
std::vector<Extents> all_process_grids(int ranks, int axes);

/// Returns every split over `ranks` ranks whose parts have the cells of the expected halos, on each
/// side of each split axis; the one with the least traffic per rank first.
std::vector<Extents> process_grids(int ranks, const GridOptions& options);

/// Chooses parts per axis for `ranks` ranks: the least traffic per rank, with a preference for
/// faces whose cells are contiguous. Throws usage, with the largest possible number of ranks, if
/// the expected halos fit no split.
Extents choose_process_grid(int ranks, const GridOptions& options);

/// Throws usage if `process_grid` does not match the ranks or leaves a part without cells.
void check_process_grid(const Extents& process_grid, int ranks, const Extents& cells);

}  // namespace halocline::grid

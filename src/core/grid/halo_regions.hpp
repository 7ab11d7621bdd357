// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which cells go to which neighbour: pure functions on boxes.

#include <string>
#include <vector>

#include <halocline/grid.hpp>

namespace halocline::grid {

/// The neighbour in one direction, and the boxes that are swapped with it. Coordinates are this
/// rank's: across a periodic edge the halo's lie outside the domain.
struct HaloRegion {
  Direction direction;
  int peer;
  Box send;     ///< owned cells that the peer keeps in its halo
  Box receive;  ///< halo cells on this side
};

enum class Directions { faces, all };

/// Lists the neighbours of `rank` in order of direction_index(). A box is empty if the width on
/// the side that receives it is 0; the neighbour is listed all the same.
std::vector<HaloRegion> halo_regions(const Grid& grid, int rank, const HaloWidths& widths,
                                     Directions directions);

/// Numbers the 27 directions, x fastest: -x-y-z is 0, the centre 13.
int direction_index(Direction direction);
/// Writes a direction as "-x+z".
std::string direction_name(Direction direction);

/// Throws usage if a width is negative or exceeds the cells of a neighbour, anywhere in the
/// grid: every rank throws the same. Axes that the grid does not have are passed over.
void check_widths(const Grid& grid, const HaloWidths& widths);

}  // namespace halocline::grid

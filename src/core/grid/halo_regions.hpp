// SPDX-License-Identifier: Apache-2.0
#pragma once
// The cells that go to each neighbour: pure functions on boxes.

#include <string>
#include <string_view>
#include <vector>

#include <halocline/grid.hpp>

namespace halocline::grid {

/// The neighbour in one direction, and the boxes exchanged with it. Coordinates are this rank's:
/// across a periodic edge the halo lies outside the domain.
struct HaloRegion {
  Direction direction;
  int peer;
  Box send;     ///< owned cells that fill the peer's halo
  Box receive;  ///< halo cells of this rank
};

/// Lists the neighbours of `rank` in order of direction_index(), also those whose boxes are empty
/// because the width on the receiving side is 0.
std::vector<HaloRegion> halo_regions(const Grid& grid, int rank, const HaloWidths& widths,
                                     Neighbours neighbours);

/// Numbers the 27 directions, x fastest: -x-y-z is 0, the centre 13.
int direction_index(Direction direction);
/// Writes a direction as "-x+z".
std::string direction_name(Direction direction);

/// Throws usage if a width is negative or exceeds the cells of a neighbour, anywhere in the grid:
/// every rank throws the same, with a process grid that fits, if there is one. Ignores axes that
/// the grid does not have. `field` names one in the error: "'u'".
void check_widths(const Grid& grid, const HaloWidths& widths, std::string_view field = {});

}  // namespace halocline::grid

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The sides of the domain whose ghosts change, as passes know them: they make these ghosts for each
// sweep from terms that are in memory.
//
// For the host and for kernels: compiles with NVRTC, so it includes nothing of the standard
// library.

#include "problem/ghost.hpp"
#include "stencil/cuda/text/reads.hpp"
#include "stencil/cuda/work.cuh"

namespace halocline::stencil::cuda {

/// The ghosts of an output beyond a side of the domain, which the walks make for each sweep.
struct SideOfPass {
  problem::BoundaryKind kind = problem::BoundaryKind::outside;
  int layers = 0;         ///< of ghosts that a sweep reads; 0: they do not change
  bool by_place = false;  ///< whether their terms differ along the side,
  bool by_sweep = false;  ///< and from sweep to sweep
};

/// Where the terms of a side lie: those of a sweep's nearest ghosts first, and of these the one
/// with the least coordinates, x fastest.
HALOCLINE_READS Index place_of_terms(const SideOfPass& side, Index cells_along, int sweep,
                                     int layer, Index along) {
  const int layers_before = (side.by_sweep ? sweep * side.layers : 0) + layer;
  return side.by_place ? layers_before * cells_along + along : layers_before;
}

/// The cells along an axis that have terms: those of a periodic axis, or those of the domain and
/// `margin` ghosts at either end.
struct CellsAlong {
  Index cells;  ///< of all
  int margin;
  bool wraps;

  /// Returns the number of a cell of the domain; cells farther out get the last one's. Periodic
  /// ones are seldom more than once around, and a remainder would take more code.
  HALOCLINE_READS int number_of(Index at) const {
    const int all = static_cast<int>(cells);
    int number = static_cast<int>(at) + margin;
    if (!wraps) return number < 0 ? 0 : number < all ? number : all - 1;
    while (number < 0) number += all;
    while (number >= all) number -= all;
    return number;
  }
};

/// The cells of a side that have terms, by the number of one.
struct PlaceAlong {
  Index at[3];
};
HALOCLINE_READS Index cells_of_side(const CellsAlong (&along)[3]) {
  return along[0].cells * along[1].cells * along[2].cells;
}
HALOCLINE_READS PlaceAlong place_along(const CellsAlong (&along)[3], Index number) {
  const Index x = number % along[0].cells, row = number / along[0].cells;
  return {{x - along[0].margin, row % along[1].cells - along[1].margin,
           row / along[1].cells - along[2].margin}};
}

/// A side whose rule depends on time.
struct TimedSide {
  SideOfPass side;
  int axis, end, rule;  ///< rule: its number in PrintedRules
  bool is_constant;     ///< the rule's first value
  double spacing;       ///< along the axis
  Index domain;         ///< cells along the axis
  CellsAlong along[3];  ///< cells with terms of their own: one along the side's own axis
  Index first;          ///< place of its terms
};

template <class Real>
struct SideTermsWork {
  problem::GhostTerms<Real>* terms;
  const TimedSide* sides;
  int blocks_of_side, sweeps;
  long long first_sweep;  ///< its number, unless the clock has it
  GraphClock clock;
};

}  // namespace halocline::stencil::cuda

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ghost cells that depend on fields or time, one per thread.
//
// Compiles with nvcc and with NVRTC, so it includes nothing of the standard library.

#include "device/cuda/early.cuh"
#include "problem/ghost.hpp"
#include "stencil/cuda/walks/blocks.cuh"

namespace halocline::stencil::cuda {

/// The ghost cells of a field beyond a side of the domain.
template <class Real>
struct GhostSide {
  Real* first;    ///< owned cell of the field
  Index lead[3];  ///< cells from there to the first of them
  int shift[3];   ///< where cells lie: halocline::Bricks; rows are bricks of one cell
  Index brick_step[3], cell_step[3];
  Index origin[3];  ///< the first one's place in the domain
  Index cells[3];
  int axis, end;   ///< of the side: end 0 is the lower one
  Index domain;    ///< cells of the domain along the axis
  double spacing;  ///< along the axis
  problem::BoundaryKind kind;
  bool is_constant;  ///< the rule's value
  double values[3];  ///< of the rule, unless they differ from cell to cell:
  /// Three for each cell of a box, x fastest; null if there is none. The box may be larger.
  const double* table;
  Index table_origin[3], table_cells[3];
  int rule;  ///< which to evaluate, where values depend on time; else negative
};

inline constexpr int most_ghost_sides = 8;

template <class Real>
struct GhostWork {
  GhostSide<Real> side[most_ghost_sides];
  int sides;
  double time;  ///< unless the clock has it
  GraphClock clock;
};

/// Returns the offset, in elements, of the cell `cells` away from the first owned one along an
/// axis.
template <class Real>
__device__ Index place_of(const GhostSide<Real>& side, Index cells, int axis) {
  return (cells >> side.shift[axis]) * side.brick_step[axis] +
         (cells & ((Index{1} << side.shift[axis]) - 1)) * side.cell_step[axis];
}

/// Evaluates no rules.
struct NoRules {
  __device__ void operator()(int, Index, Index, Index, double, double*) const {}
};

template <class Real, class Rules>
__device__ void fill_ghost(const GhostSide<Real>& side, Index number, double time,
                           const Rules& rules) {
  const Index x = number % side.cells[0], row = number / side.cells[0];
  const Index inside[3] = {x, row % side.cells[1], row / side.cells[1]};
  Index at[3];
  Real* cell = side.first;
  for (int axis = 0; axis < 3; ++axis) {
    at[axis] = side.origin[axis] + inside[axis];
    cell += place_of(side, side.lead[axis] + inside[axis], axis);
  }
  double values[3] = {side.values[0], side.values[1], side.values[2]};
  if (side.table != nullptr) {
    const Index entry =
        (at[0] - side.table_origin[0]) +
        side.table_cells[0] *
            ((at[1] - side.table_origin[1]) + side.table_cells[1] * (at[2] - side.table_origin[2]));
    for (int i = 0; i < 3; ++i) values[i] = side.table[3 * entry + i];
  } else if (side.rule >= 0) {
    rules(side.rule, at[0], at[1], at[2], time, values);
  }
  const Index here = at[side.axis];
  const Index k = side.end == 0 ? -here : here - side.domain + 1;
  const Index mirror = side.end == 0 ? k - 1 : side.domain - k;
  const double h = static_cast<double>(2 * k - 1) * side.spacing;
  const Index place = side.lead[side.axis] + inside[side.axis];
  const Real mirrored = side.kind == problem::BoundaryKind::outside
                            ? Real(0)
                            : cell[place_of(side, place + mirror - here, side.axis) -
                                   place_of(side, place, side.axis)];
  *cell = problem::ghost(
      side.kind, problem::ghost_terms<Real>(side.kind, values, side.is_constant, h), mirrored);
}

/// Fills sides of one axis: none reads what another writes.
template <class Real, class Rules>
__global__ void __launch_bounds__(block_threads) fill_ghosts(GhostWork<Real> work, Rules rules) {
  device::cuda::let_next_begin();
  device::cuda::await_stream();
  Index number = static_cast<Index>(blockIdx.x) * block_threads + threadIdx.x;
  for (int s = 0; s < work.sides; ++s) {
    const GhostSide<Real>& side = work.side[s];
    const Index cells = side.cells[0] * side.cells[1] * side.cells[2];
    if (number < cells) return fill_ghost(side, number, time_by(work.clock, work.time), rules);
    number -= cells;
  }
}

}  // namespace halocline::stencil::cuda

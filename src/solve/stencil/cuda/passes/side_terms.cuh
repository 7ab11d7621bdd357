// SPDX-License-Identifier: Apache-2.0
#pragma once
// The terms of ghosts whose rules depend on time, for all sweeps of a pass.
//
// Compiled by NVRTC, so it includes nothing of the standard library.

#include "device/cuda/early.cuh"
#include "stencil/cuda/passes/sides.cuh"
#include "stencil/cuda/walks/blocks.cuh"

namespace halocline::stencil::cuda {

/// A thread makes the terms of the ghosts in one line across a side, for one sweep.
template <class Real, class Rules>
__global__ void __launch_bounds__(block_threads) make_terms(SideTermsWork<Real> work, Rules rules) {
  device::cuda::let_next_begin();
  device::cuda::await_stream();
  const auto block = static_cast<int>(blockIdx.x);
  const TimedSide& one = work.sides[block / work.blocks_of_side];
  const Index number =
      static_cast<Index>(block % work.blocks_of_side) * block_threads + threadIdx.x;
  const Index cells = cells_of_side(one.along);
  if (number >= cells * work.sweeps) return;
  const auto sweep = static_cast<int>(number / cells);
  const Index along = number % cells;
  const long long first =
      work.clock.first == nullptr ? work.first_sweep : __ldg(work.clock.first) + work.clock.ahead;
  const double time = static_cast<double>(first + sweep) * work.clock.dt;
  const PlaceAlong place = place_along(one.along, along);
  for (int layer = 0; layer < one.side.layers; ++layer) {
    const Index out = one.end == 0 ? -1 - layer : one.domain + layer;
    const auto at = [&](int axis) { return axis == one.axis ? out : place.at[axis]; };
    double values[3]{};
    rules(one.rule, at(0), at(1), at(2), time, values);
    const double h = static_cast<double>(2 * layer + 1) * one.spacing;
    work.terms[one.first + place_of_terms(one.side, cells, sweep, layer, along)] =
        problem::ghost_terms<Real>(one.side.kind, values, one.is_constant, h);
  }
}

}  // namespace halocline::stencil::cuda

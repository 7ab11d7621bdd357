// SPDX-License-Identifier: Apache-2.0
#pragma once
// The sweep on a GPU for any strides: one cell per thread.
//
// Compiles with nvcc and with NVRTC, so it includes nothing of the standard library.

#include "device/cuda/early.cuh"
#include "stencil/cuda/change.cuh"
#include "stencil/cuda/reduce.cuh"
#include "stencil/cuda/work.cuh"

namespace halocline::stencil::cuda {

__device__ inline bool is_within(Index at, const Range& range, int axis) {
  return at >= range.lower[axis] && at < range.upper[axis];
}

template <Norm kind, int axes, class Real, class Formula>
__global__ void __launch_bounds__(block_threads)
    per_cell(Work<Real> work, ReduceWork reduction, Formula formula) {
  device::cuda::let_next_begin();
  device::cuda::await_stream();
  if (work.stop != nullptr && *work.stop != 0) return;
  if (reduction.parts != nullptr && blockIdx.x == 0) return reduce(reduction);
  const SweepBlocks blocks(reduction);
  const Index count = work.cells[0] * work.cells[1] * work.cells[2];
  Change<kind, Real> change;
  for (Index i = static_cast<Index>(blocks.number) * block_threads + threadIdx.x; i < count;
       i += static_cast<Index>(blocks.count) * block_threads) {
    const Index x = i % work.cells[0], row = i / work.cells[0];
    const Index y = row % work.cells[1], z = row / work.cells[1];
    const Real* cell = work.in + x * work.in_step[0] + y * work.in_step[1] + z * work.in_step[2];
    Cells<Real> u{};
    u.c_ = cell[0];
    u.w_ = cell[-work.in_step[0]];
    u.e_ = cell[work.in_step[0]];
    if constexpr (axes > 1) {
      u.s_ = cell[-work.in_step[1]];
      u.n_ = cell[work.in_step[1]];
    }
    if constexpr (axes > 2) {
      u.d_ = cell[-work.in_step[2]];
      u.t_ = cell[work.in_step[2]];
    }
    const Real updated = formula(u);
    work.out[x * work.out_step[0] + y * work.out_step[1] + z * work.out_step[2]] = updated;
    if (kind != Norm::none && is_within(x, work.owned, 0) && is_within(y, work.owned, 1) &&
        is_within(z, work.owned, 2))
      change.add(updated, u.c_);
  }
  change.publish(work, blocks);
}

}  // namespace halocline::stencil::cuda

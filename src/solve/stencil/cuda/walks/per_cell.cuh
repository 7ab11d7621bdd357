// SPDX-License-Identifier: Apache-2.0
#pragma once
// The sweep on a GPU for any strides, bricks and any reach: one cell per thread.
//
// Compiled by NVRTC, so it includes nothing of the standard library.

#include "device/cuda/early.cuh"
#include "stencil/cuda/change.cuh"
#include "stencil/cuda/reduce.cuh"
#include "stencil/cuda/walks/march.cuh"
#include "stencil/cuda/work.cuh"

namespace halocline::stencil::cuda {

/// Returns the elements from where an array begins to a cell of the region.
template <class Cell, class Work>
__device__ Index place_in(const Array<Cell>& array, const Work& work, Index x, Index y, Index z) {
  if (work.bricks.any)
    return work.bricks.place(x, 0) + work.bricks.place(y, 1) + work.bricks.place(z, 2);
  return x * array.step[0] + y * array.step[1] + z * array.step[2];
}

/// A cell and its neighbours in memory, for an update.
template <class Real, class Work>
class CellInMemory {
 public:
  __device__ CellInMemory(const Work& work, Index x, Index y, Index z)
      : work_(work), x_(x), y_(y), z_(z) {}

  template <int input, int x, int y, int z>
  __device__ Real at() const {
    const Array<const Real>& from = work_.in[input];
    return from.cell[place_in(from, work_, around<x>(x_, 0), around<y>(y_, 1), around<z>(z_, 2))];
  }
  /// Its index in the domain.
  template <int axis>
  __device__ Index index() const {
    return work_.origin[axis] + (axis == 0 ? x_ : axis == 1 ? y_ : z_);
  }
  __device__ double time() const { return time_by(work_.clock, work_.time); }

 private:
  /// Returns the place of a neighbour.
  template <int offset>
  __device__ Index around(Index at, int axis) const {
    const Index to = at + offset;
    if (offset == 0) return to;
    return to < 0                    ? to + work_.around[axis]
           : to >= work_.cells[axis] ? to - work_.around[axis]
                                     : to;
  }

  const Work& work_;
  Index x_, y_, z_;  // from the region's first cell
};

__device__ inline bool is_within(Index at, const Range& range, int axis) {
  return at >= range.lower[axis] && at < range.upper[axis];
}

template <Norm kind, class Real, class Update, int inputs, int outputs>
__global__ void __launch_bounds__(block_threads)
    per_cell(Work<Real, inputs, outputs> work, ReduceWork reduction, Update update) {
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
    const CellInMemory<Real, Work<Real, inputs, outputs>> cell(work, x, y, z);
    Real values[Update::outputs];
    update(cell, values);
    for (int output = 0; output < Update::outputs; ++output) {
      const Array<Real>& to = work.out[output];
      to.cell[place_in(to, work, x, y, z)] = values[output];
    }
    if (kind != Norm::none && is_within(x, work.owned, 0) && is_within(y, work.owned, 1) &&
        is_within(z, work.owned, 2))
      for_each_number<Update::normed>([&](auto n) {
        change.add(Update::template now<n.value>(cell, values),
                   Update::template before<n.value>(cell));
      });
  }
  change.publish(work, blocks);
}

}  // namespace halocline::stencil::cuda

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The outermost layers of a sweep: a warp waits for the halo next to its cells and writes its cells
// to the neighbour's halo: see device/face_port.hpp.
//
// Compiles with nvcc and with NVRTC, so it includes nothing of the standard library.

#include "device/cuda/flags.cuh"
#include "stencil/cuda/lane.cuh"

namespace halocline::stencil::cuda {

/// Waits until the neighbour has written the halo that this warp reads next. `face` is the warp's
/// number in the layer; `side` identifies the wait.
__device__ inline void await_face(const device::FaceSide& side_port, const device::Watch* watch,
                                  Index face, int side) {
  if (threadIdx.x % warp_lanes == 0)
    device::cuda::await(side_port.raised + face, side_port.swept[face], watch, side);
  __syncwarp();
}

/// Copies the cells that this warp wrote, `rows` rows of a layer from `row` on, to the neighbour's
/// halo. Each lane reads only values that it wrote itself.
template <int rows, int axes, class Real, class Work>
__device__ void push_face(const Work& work, const device::FaceSide& side, const Lane<Real>& lane,
                          Index row, Index layer, Index face) {
  using Vector = typename VectorOf<Real>::Type;
  const Index rows_here =
      axes == 2 ? 1 : (row + rows <= work.cells[1] ? rows : work.cells[1] - row);
  for (Index r = 0; r < rows_here; ++r) {
    const Index in_layer = lane.column + (axes == 2 ? 0 : (row + r) * work.out[0].step[1]);
    const Real* from = work.out[0].cell + layer * work.out[0].step[axes - 1] + in_layer;
    // `to` is the destination of the region's first cell; the output begins `lead` cells before it.
    Real* to = static_cast<Real*>(side.to) - work.lead + in_layer;
    if (lane.inside == Lane<Real>::all)
      *reinterpret_cast<Vector*>(to) = *reinterpret_cast<const Vector*>(from);
    else
      for (int i = 0; i < Lane<Real>::width; ++i)
        if ((lane.inside >> i & 1) != 0) to[i] = from[i];
  }
  __syncwarp();
  if (threadIdx.x % warp_lanes != 0) return;
  const device::Epoch swept = side.swept[face] + 1;
  device::cuda::raise(side.raise + face, swept);
  side.swept[face] = swept;
}

}  // namespace halocline::stencil::cuda

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The layers of a pass in 3-D that are on their way from memory: in the block's memory, each lane's
// part by itself, so that they take no registers.
//
// Compiled by NVRTC, so it includes nothing of the standard library.

#include "device/cuda/async_copy.cuh"
#include "device/cuda/block_memory.cuh"
#include "stencil/cuda/passes/edges.cuh"

namespace halocline::stencil::cuda {

/// `begin`: bytes of the block's memory before these.
template <class Shape, class Real, int outputs, int begin>
class LayersAhead {
 public:
  static constexpr int rows = Shape::rows, width = Shape::cells;
  static constexpr int slots = Shape::ahead + 1;
  static constexpr int in_vector = cells_of_vector<Real>(width), vectors = width / in_vector;
  using Split = VectorOf<Real, in_vector>;
  using Vector = typename Split::Type;

  __device__ __forceinline__ LayersAhead()
      : own_(device::cuda::kept_in_register(
            reinterpret_cast<Vector*>(static_cast<char*>(device::cuda::block_memory()) + begin) +
            threadIdx.x)) {}

  /// Starts to copy a vector of a row.
  __device__ __forceinline__ void copy(int slot, int output, int row, int vector,
                                       const Vector* from) {
    device::cuda::copy_async<sizeof(Vector)>(place(slot, output, row, vector), from);
  }
  /// Ends the copies of a layer.
  __device__ __forceinline__ void end() { device::cuda::end_group(); }
  /// Waits for the oldest layer that was not awaited.
  __device__ __forceinline__ void await() { device::cuda::await_groups<Shape::ahead - 1>(); }

  __device__ __forceinline__ void take(int slot, int output,
                                       RowOfLane<Real, width> (&layer)[rows]) const {
#pragma unroll
    for (int j = 0; j < rows; ++j)
#pragma unroll
      for (int v = 0; v < vectors; ++v)
        Split::split(*place(slot, output, j, v), layer[j].cell + v * in_vector);
  }

 private:
  __device__ __forceinline__ Vector* place(int slot, int output, int row, int vector) const {
    constexpr int threads = Shape::warps * warp_lanes;
    return own_ + (((slot * outputs + output) * rows + row) * vectors + vector) * threads;
  }

  Vector* own_;
};

}  // namespace halocline::stencil::cuda

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The layers of a pass in 3-D that are on their way from memory: in the block's memory, each lane's
// part by itself, so that they take no registers. With two instead of one laplace on 512x512x512
// cells in fp32 ran at 1037 GLUP/s by 3 sweeps instead of 988 (H200).
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
  static constexpr int in_vector = vector_cells<Real>, vectors = width / in_vector;
  using Split = VectorOf<Real>;
  using Vector = typename Split::Type;

  __device__ __forceinline__ LayersAhead()
      : own_(device::cuda::kept_in_register(
            reinterpret_cast<Vector*>(static_cast<char*>(device::cuda::block_memory()) + begin) +
            threadIdx.x)) {}

  /// Starts to copy a vector of a row of the newest layer.
  __device__ __forceinline__ void copy(int output, int row, int vector, const Vector* from) {
    device::cuda::copy_async<sizeof(Vector)>(place(newest_, output, row, vector), from);
  }
  /// Ends the copies of a layer.
  __device__ __forceinline__ void end() {
    device::cuda::end_group();
    advance(newest_);
  }
  /// Waits for the oldest layer that was not awaited.
  __device__ __forceinline__ void await() { device::cuda::await_groups<Shape::ahead - 1>(); }

  /// Takes the oldest layer of an output.
  __device__ __forceinline__ void take(int output, RowOfLane<Real, width> (&layer)[rows]) const {
#pragma unroll
    for (int j = 0; j < rows; ++j)
#pragma unroll
      for (int v = 0; v < vectors; ++v)
        Split::split(*place(oldest_, output, j, v), layer[j].cell + v * in_vector);
  }
  /// Call it after that of all is taken, and before the next is copied.
  __device__ __forceinline__ void taken() { advance(oldest_); }

 private:
  static constexpr int threads = Shape::warps * warp_lanes;
  static constexpr int of_layer = outputs * rows * vectors * threads;

  __device__ __forceinline__ Vector* place(int layer, int output, int row, int vector) const {
    return own_ + (layer + ((output * rows + row) * vectors + vector) * threads);
  }
  static __device__ __forceinline__ void advance(int& layer) {
    layer = layer == Shape::ahead * of_layer ? 0 : layer + of_layer;
  }

  Vector* own_;
  int oldest_ = 0, newest_ = 0;  ///< vectors before the layer's
};

}  // namespace halocline::stencil::cuda

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rows of a pass in 3-D that a warp reads of those above and below it: each leaves its own, of
// all levels, in the block's memory, and takes the others' a step later or more.
//
// Compiled by NVRTC, so it includes nothing of the standard library.

#include "device/cuda/block_memory.cuh"
#include "stencil/cuda/passes/pass_work.cuh"
#include "stencil/cuda/walks/lane.cuh"
#include "stencil/cuda/walks/march.cuh"

namespace halocline::stencil::cuda {

/// A lane's cells of a row.
template <class Real, int width>
struct RowOfLane {
  Real cell[width];
};

template <class Shape, class Plan, class Real, int outputs>
class EdgesOfPass {
 public:
  static constexpr int rows = Shape::rows, width = Shape::cells;
  static constexpr int over = Plan::over;  ///< rows that are read beyond a cell's
  static constexpr bool any = over > 0;
  static_assert(over <= rows);
  /// The layers in which they are, counted from the one that is computed.
  static constexpr int first = Plan::first_over, layers = any ? Plan::last_over - first + 1 : 1;
  static __device__ constexpr int number_of(int by) { return by - first; }
  static __device__ constexpr bool reads_over(int output) { return Plan::reads_over(output); }

  /// Those above a warp's rows, the farthest first, and those below.
  struct Rows {
    RowOfLane<Real, width> above[any ? over : 1], below[any ? over : 1];

    template <int row>
    __device__ __forceinline__ const RowOfLane<Real, width>& at() const {
      if constexpr (row < 0)
        return above[over + row];
      else
        return below[row - rows];
    }
  };

  /// Returns a row of a layer with those of its neighbours.
  template <int row>
  static __device__ __forceinline__ RowOfLane<Real, width>& row_of(
      RowOfLane<Real, width> (&own)[rows], Rows& taken) {
    if constexpr (row < 0)
      return taken.above[over + row];
    else if constexpr (row < rows)
      return own[row];
    else
      return taken.below[row - rows];
  }

  __device__ __forceinline__ EdgesOfPass() {
    if constexpr (any) {
      // There is room beside the first and the last warp: what they take is nobody's.
      const auto lane = static_cast<int>(threadIdx.x) % warp_lanes;
      const auto warp = static_cast<int>(threadIdx.x) / warp_lanes;
      own_ = device::cuda::kept_in_register(static_cast<Vector*>(device::cuda::block_memory()) +
                                            (warp + 1) * vectors_of_warp + lane);
    }
  }

  /// Leaves the rows of a layer that was the newest `ago` steps before. `phase`: of the step.
  template <int phase, int level, int output, int ago>
  __device__ __forceinline__ void leave(const RowOfLane<Real, width> (&own)[rows]) {
    if constexpr (reads_over(output))
      for_each_number<left>([&](auto number) {
        constexpr int row = number.value < over ? number.value : rows - left + number.value;
        Vector* to = place<phase, level, output, ago, 0>(number.value);
#pragma unroll
        for (int v = 0; v < vectors; ++v)
          to[v * warp_lanes] = Split::make(own[row].cell + v * in_vector);
      });
  }
  /// Takes those of both neighbours.
  template <int phase, int level, int output, int ago>
  __device__ __forceinline__ void take(Rows& rows_of) const {
    for_each_number<over>([&](auto number) {
      const Vector* above = place<phase, level, output, ago, -1>(left - over + number.value);
      const Vector* below = place<phase, level, output, ago, 1>(number.value);
#pragma unroll
      for (int v = 0; v < vectors; ++v) {
        Split::split(above[v * warp_lanes], rows_of.above[number.value].cell + v * in_vector);
        Split::split(below[v * warp_lanes], rows_of.below[number.value].cell + v * in_vector);
      }
    });
  }
  static constexpr int bytes() { return any ? slots * vectors_of_slot * int(sizeof(Vector)) : 0; }

 private:
  static constexpr int in_vector = vector_cells<Real>, vectors = width / in_vector;
  using Split = VectorOf<Real>;
  using Vector = typename Split::Type;
  /// Rows of a layer that a warp leaves: its first ones, and its last.
  static constexpr int left = rows_left(rows, over);
  /// Layers that are there.
  static constexpr int slots = Plan::slots;
  static constexpr int vectors_of_warp = left * warp_lanes * vectors;
  static constexpr int vectors_of_level = (Shape::warps + 2) * vectors_of_warp;
  static constexpr int vectors_of_slot = Shape::sweeps * outputs * vectors_of_level;

  template <int phase, int level, int output, int ago, int warp>
  __device__ __forceinline__ Vector* place(int row) const {
    const int place = (level * outputs + output) * vectors_of_level + warp * vectors_of_warp +
                      row * warp_lanes * vectors;
    return own_ + ((phase - ago + 8 * slots) % slots * vectors_of_slot + place);
  }

  Vector* own_;
};

}  // namespace halocline::stencil::cuda

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The strip of cells of a warp, and each lane's part of it.
//
// Compiled by NVRTC, so it includes nothing of the standard library.

#include "stencil/cuda/walks/tiles.cuh"

namespace halocline::stencil::cuda {

// Vectors of 16 bytes.

template <class Real>
struct VectorOf;
template <>
struct VectorOf<float> {
  using Type = float4;
  static __device__ float4 make(const float* v) { return make_float4(v[0], v[1], v[2], v[3]); }
  static __device__ void split(const float4& from, float* v) {
    v[0] = from.x, v[1] = from.y, v[2] = from.z, v[3] = from.w;
  }
};
template <>
struct VectorOf<double> {
  using Type = double2;
  static __device__ double2 make(const double* v) { return make_double2(v[0], v[1]); }
  static __device__ void split(const double2& from, double* v) { v[0] = from.x, v[1] = from.y; }
};

/// Brings 128 bytes into the second-level cache.
__device__ __forceinline__ void fetch_line([[maybe_unused]] const void* place) {
#ifdef __CUDA_ARCH__
  asm volatile("prefetch.global.L2 [%0];" ::"l"(place));
#endif
}

/// A lane's position in a strip. Columns count from the 16-byte boundary at or before the region.
template <class Real>
struct Lane {
  static constexpr int width = vector_cells<Real>;
  static constexpr unsigned int all = (1u << width) - 1;

  Index column;
  int number;  ///< in its warp
  /// Columns from the region's first one, and to the one behind its last, of which more than a
  /// strip matters to nobody.
  int from_first, to_end;
  /// Whether this lane has the strip's first or last cells, and has cells outside it to read. The
  /// cell to the left of the region is in the first vector of a strip that begins before the
  /// region; before that vector there may be no memory.
  bool is_first, is_last;
  int beside;  ///< for those, offset from the lane's first cell to the one outside the strip
  int around;  ///< cells of an axis that wraps around, else 0
  /// A bit per cell: in the region, and counted in the norm. Computed once for a whole walk.
  unsigned int inside = 0, owned = 0;

  template <class Work>
  __device__ Lane(const Work& work, Index strip)
      : number(static_cast<int>(threadIdx.x) % warp_lanes) {
    column = strip * strip_cells<Real> + number * width;
    const Index first = work.lead, end = work.lead + work.cells[0];
    from_first = limited(column - first);
    to_end = limited(end - column);
    is_first = number == 0 && from_first >= 0 && to_end > 0;
    is_last = number == warp_lanes - 1 && to_end >= width;
    around = static_cast<int>(work.around[0]);
    beside = is_first ? (from_first == 0 ? around : 0) - 1 : width - (to_end == width ? around : 0);
    for (int i = 0; i < width; ++i) {
      const Index x = column + i - first;
      const bool holds = x >= 0 && column + i < end;
      inside |= holds ? 1u << i : 0u;
      owned |= holds && x >= work.owned.lower[0] && x < work.owned.upper[0] ? 1u << i : 0u;
    }
  }

  /// Whether every cell of the strip is in the region, so that a walk needs no checks. The same for
  /// the whole warp.
  __device__ bool strip_is_whole() const { return __all_sync(~0u, inside == all) != 0; }

 private:
  static __device__ int limited(Index cells) {
    constexpr Index most = 1 << 30;
    return static_cast<int>(cells > most ? most : cells < -most ? -most : cells);
  }
};

/// A lane's part of one row of an input that is read `left` and `right` cells away. Cells next to
/// it are those of other lanes; outside the strip, the lanes at its ends load them, so that
/// each lane needs one vector more: where they are `vectors` wide, the first `vectors` lanes load
/// those to the left, the last ones those to the right.
template <class Real, int left, int right>
class RowPart {
 public:
  static constexpr int width = vector_cells<Real>;
  static constexpr int reach = left > right ? left : right;
  static constexpr int vectors = (reach + width - 1) / width;

  /// Loads the part at `place`, which is in a row of the input; with checks, unless the strip lies
  /// in the region as a whole.
  template <bool whole>
  __device__ __forceinline__ void load(const Real* place, const Lane<Real>& lane) {
    // Behind the last cell of an axis that wraps around comes the first.
    if (whole || lane.to_end + right > 0)
      VectorOf<Real>::split(__ldg(reinterpret_cast<const Vector*>(
                                whole || lane.to_end > 0 ? place : place - lane.around)),
                            value_);
    if constexpr (reach == 1) {
      if ((left > 0 && lane.is_first) || (right > 0 && lane.is_last))
        beside_[0] = __ldg(place + lane.beside);
    } else if constexpr (reach > 1) {
      constexpr int beyond = vectors * width;
      const bool is_left =
          left > 0 && lane.number < vectors && lane.from_first + left > beyond - width;
      const bool is_right =
          right > 0 && lane.number >= warp_lanes - vectors && lane.to_end + right > beyond;
      const int away = is_left ? (lane.from_first < beyond ? lane.around : 0) - beyond
                               : beyond - (lane.to_end <= beyond ? lane.around : 0);
      if (is_left || is_right)
        VectorOf<Real>::split(__ldg(reinterpret_cast<const Vector*>(place + away)), beside_);
    }
  }

  /// Returns the value at column `at` of this lane's, which may be in another lane's part. Call it
  /// on all lanes of the warp.
  template <int at>
  __device__ __forceinline__ Real value(const Lane<Real>& lane) const {
    if constexpr (at >= 0 && at < width) {
      return value_[at];
    } else {
      constexpr int lanes = at < 0 ? (width - 1 - at) / width : at / width;
      constexpr int cell = at < 0 ? at + lanes * width : at - lanes * width;
      const Real inner = at < 0 ? __shfl_up_sync(~0u, value_[cell], lanes)
                                : __shfl_down_sync(~0u, value_[cell], lanes);
      // Of the lanes at an end, the one that has loaded the vector.
      Real outer = beside_[reach > 1 ? cell : 0];
      if constexpr (lanes < vectors)
        outer = at < 0 ? __shfl_down_sync(~0u, outer, vectors - lanes)
                       : __shfl_up_sync(~0u, outer, vectors - lanes);
      const bool is_outer = at < 0 ? lane.number < lanes : lane.number >= warp_lanes - lanes;
      return is_outer ? outer : inner;
    }
  }

 private:
  using Vector = typename VectorOf<Real>::Type;

  Real value_[width]{};
  Real beside_[reach > 1 ? width : 1]{};
};

}  // namespace halocline::stencil::cuda

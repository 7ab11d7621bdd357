// SPDX-License-Identifier: Apache-2.0
#pragma once
// The strip of cells of a warp, and each lane's part of it.
//
// Compiles with nvcc and with NVRTC, so it includes nothing of the standard library.

#include "stencil/cuda/work.cuh"

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

/// A lane's part of one row; for the first and the last lane also the cell next to the strip.
template <class Real>
struct RowPart {
  static constexpr int width = 16 / sizeof(Real);
  Real value[width];
  Real beside;
};

template <class Real>
inline constexpr int strip_cells = warp_lanes* RowPart<Real>::width;

/// A lane's position in a strip. Columns count from the 16-byte boundary at or before the region.
template <class Real>
struct Lane {
  static constexpr int width = RowPart<Real>::width;
  static constexpr unsigned int all = (1u << width) - 1;

  Index column;
  int number, beside;  ///< in its warp; offset from its first column to the cell next to the strip
  bool reads, reads_beside;
  /// A bit per cell: in the region, and counted in the norm. Computed once for a whole walk.
  unsigned int inside = 0, owned = 0;

  __device__ Lane(const Work<Real>& work, Index strip)
      : number(static_cast<int>(threadIdx.x) % warp_lanes) {
    column = strip * strip_cells<Real> + number * width;
    const Index first = work.lead, end = work.lead + work.cells[0];
    // The cell to the right of the region is read, too. The one to the left is in the first vector
    // of a strip that begins before the region; before that vector there may be no memory.
    reads = column <= end;
    const bool left = number == 0 && (column > 0 || first == 0) && column < end;
    const bool right = number == warp_lanes - 1 && column + width <= end;
    beside = left ? -1 : width;
    reads_beside = left || right;
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
};

}  // namespace halocline::stencil::cuda

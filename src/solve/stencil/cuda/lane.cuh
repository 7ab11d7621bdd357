// SPDX-License-Identifier: Apache-2.0
#pragma once
// A warp's strip of cells, and a lane's part of it.
//
// Compiles with nvcc and with NVRTC, so nothing of the standard library is included.

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

/// A lane's part of one row, and the cell beside the strip for the first and the last lane.
template <class Real>
struct RowPart {
  static constexpr int width = 16 / sizeof(Real);
  Real value[width];
  Real beside;
};

template <class Real>
inline constexpr int strip_cells = warp_lanes* RowPart<Real>::width;

/// A lane's place in a strip. Columns count from 16 bytes' boundary before the region.
template <class Real>
struct Lane {
  static constexpr int width = RowPart<Real>::width;
  static constexpr unsigned int all = (1u << width) - 1;

  Index column;
  int number, beside;  ///< in its warp; from its first column to the cell beside the strip
  bool reads, reads_beside;
  /// A bit for each of its cells: in the region, and counted by the norm. Once for a whole walk.
  unsigned int inside = 0, owned = 0;

  __device__ Lane(const Work<Real>& work, Index strip)
      : number(static_cast<int>(threadIdx.x) % warp_lanes) {
    column = strip * strip_cells<Real> + number * width;
    const Index first = work.lead, end = work.lead + work.cells[0];
    // The cell to the right of the region is read, too. To the left, a strip that begins before
    // the region has it in its first vector; there may be no memory before that.
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

  /// Whether every cell of the strip is in the region: then nothing needs to be asked again. The
  /// same for the whole warp.
  __device__ bool strip_is_whole() const { return __all_sync(~0u, inside == all) != 0; }
};

}  // namespace halocline::stencil::cuda

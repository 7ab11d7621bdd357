// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where a lane of a walk is: its columns, in 3-D its rows, what these are and where they are read.
//
// Compiled by NVRTC, so it includes nothing of the standard library.

#include "stencil/cuda/passes/pass_work.cuh"
#include "stencil/cuda/walks/lane.cuh"

namespace halocline::stencil::cuda {

template <class Shape, class Plan, class Work, class Real>
class PlaceInPass {
 public:
  static constexpr int axes = Plan::axes, last = axes - 1;
  static constexpr int width = Shape::cells, rows = Shape::rows;
  static constexpr int in_vector = vector_cells<Real>, vectors = width / in_vector;
  static_assert(width % in_vector == 0 && width <= 8 && rows <= 8);

  // What cells of a lane and its rows are: a bit for each.
  static constexpr unsigned int stored = 1, counted = 1 << 8, changing = 1 << 16;
  static constexpr unsigned int all = (1u << width) - 1, all_rows = (1u << rows) - 1;
  static __device__ __forceinline__ bool is(unsigned int what, unsigned int bits, int number) {
    return (bits & what << number) != 0;
  }

  int lane, lanes;      ///< of the strip
  int column, read_at;  ///< counted from the boundary at or before the region
  int row = 0, read_row = 0;
  int side_at[2];  ///< where the domain begins and ends along x, counted in the strip
  int further[vectors > 1 ? vectors - 1 : 1];  ///< other vectors, from the first
  int further_rows[rows > 1 ? rows - 1 : 1];   ///< other rows
  unsigned int cells = 0, bits_of_rows = 0;    ///< what they are

  __device__ __forceinline__ PlaceInPass(const Work& work, const WalkOfPass& walk) : work_(work) {
    const auto number = static_cast<int>(threadIdx.x) % warp_lanes;
    const LaneOfWalk at = axes == 2 ? LaneOfWalk{walk.tile, number, warp_lanes}
                                    : lane_of_walk(work.walks, walk, number);
    lane = at.lane;
    lanes = at.lanes;
    place_columns(walk.strip);
    place_rows(at.tile);
  }

  /// Whether this lane needs no checks of columns, nor of rows but those that are stored and
  /// counted, which all steps check: by 3 sweeps a tile loses 3 rows at an end, one and a half
  /// warp's.
  __device__ __forceinline__ bool is_plain() const {
    const bool is_whole = cells == all * (stored | counted | changing) || cells == all * changing;
    return is_whole && (bits_of_rows & all_rows * changing) == all_rows * changing &&
           !reads_apart();
  }
  /// Whether this lane's cells are alike: all of them change or none, and so on.
  __device__ __forceinline__ bool is_whole() const {
    const auto alike = [&](unsigned int what) {
      return (cells & all * what) == 0 || (cells & all * what) == all * what;
    };
    return alike(stored) && alike(counted) && alike(changing);
  }
  /// Where they are: has the bits of rows say what holds for the cells, too.
  __device__ __forceinline__ void join_cells_to_rows() {
    for (const unsigned int what : {stored, counted, changing})
      if ((cells & what) == 0) bits_of_rows &= ~(all_rows * what);
  }

  /// Returns where a row or layer is to be read. Those outside what arrays hold are nobody's: what
  /// is read for them does not matter.
  template <int axis>
  __device__ __forceinline__ int readable(int at) const {
    if (work_.around[axis] > 0) return wrapped(at, static_cast<int>(work_.around[axis]));
    const int least = static_cast<int>(work_.readable.lower[axis]);
    const int most = static_cast<int>(work_.readable.upper[axis]) - 1;
    return at < least ? least : at > most ? most : at;
  }
  static __device__ int wrapped(int at, int cells) {
    const int rest = at % cells;
    return rest < 0 ? rest + cells : rest;
  }

  /// Returns the elements from an array's first cell to this lane's part of a layer.
  template <class Cell>
  __device__ __forceinline__ Index offset(const Array<Cell>& array, int layer) const {
    Index at = read_at + layer * array.step[last];
    if constexpr (axes == 3) at += read_row * array.step[1];
    return at;
  }
  /// Returns where this lane's part of a layer is written.
  __device__ __forceinline__ Real* address_in(const Array<Real>& array, int layer) const {
    Real* place = array.cell + column + layer * array.step[last];
    if constexpr (axes == 3) place += row * array.step[1];
    return place;
  }

 private:
  __device__ __forceinline__ void place_columns(int strip) {
    constexpr int lost = lost_lanes(Shape::sweeps, Plan::beside, width);
    constexpr int strip_width = (warp_lanes - 2 * lost) * width;
    static_assert(strip_width > 0);
    column = strip * strip_width + (lane - lost) * width;
    const bool is_own = lane >= lost && lane < lanes - lost;
    for (int k = 0; k < width; ++k) {
      const int x = column + k - work_.lead;
      const bool is_stored = is_own && x >= 0 && x < work_.cells[0];
      if (is_stored) cells |= stored << k;
      if (is_stored && x >= work_.owned.lower[0] && x < work_.owned.upper[0]) cells |= counted << k;
      if (x >= work_.changing.lower[0] && x < work_.changing.upper[0]) cells |= changing << k;
    }
    const Index strip_begin = column - lane * width - work_.lead;
    side_at[0] = static_cast<int>(work_.changing.lower[0] - strip_begin);
    side_at[1] = static_cast<int>(work_.changing.upper[0] - strip_begin);
    for (int v = 0; v < vectors; ++v) {
      const int at = readable_column(column + v * in_vector);
      if (v == 0)
        read_at = at;
      else
        further[v - 1] = at - read_at;
    }
  }

  __device__ __forceinline__ void place_rows(int tile) {
    if constexpr (axes == 2) {
      bits_of_rows = stored | counted | changing;
    } else {
      const auto warp = static_cast<int>(threadIdx.x) / warp_lanes;
      const RowsOfTile own = rows_of_tile(work_.walks.tiles, tile);
      row = own.first + warp * rows;
      for (int j = 0; j < rows; ++j) {
        const int y = row + j;
        const bool is_stored = y >= own.from && y < own.to;
        if (is_stored) bits_of_rows |= stored << j;
        if (is_stored && y >= work_.owned.lower[1] && y < work_.owned.upper[1])
          bits_of_rows |= counted << j;
        if (y >= work_.changing.lower[1] && y < work_.changing.upper[1])
          bits_of_rows |= changing << j;
        const int at = readable<1>(y);
        if (j == 0)
          read_row = at;
        else
          further_rows[j - 1] = at - read_row;
      }
    }
  }

  /// The same for the vector of a column.
  __device__ int readable_column(int at) const {
    if (work_.around[0] > 0) return wrapped(at, static_cast<int>(work_.around[0]));
    const int least = (work_.lead + static_cast<int>(work_.readable.lower[0])) & ~(in_vector - 1);
    const int most =
        (work_.lead + static_cast<int>(work_.readable.upper[0]) - 1) & ~(in_vector - 1);
    return at < least ? least : at > most ? most : at;
  }
  /// Whether this lane's vectors or rows are not side by side in memory.
  __device__ bool reads_apart() const {
    bool apart = false;
    for (int v = 1; v < vectors; ++v) apart = apart || further[v - 1] != v * in_vector;
    for (int j = 1; j < rows; ++j) apart = apart || further_rows[j - 1] != j;
    return apart;
  }

  const Work& work_;
};

}  // namespace halocline::stencil::cuda

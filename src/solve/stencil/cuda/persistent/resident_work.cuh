// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arguments of a persistent kernel: tiles, levels, and the places of edges.
//
// For the host and for kernels: compiles with NVRTC, so it includes nothing of the standard
// library.

#include "device/edge_port.hpp"
#include "stencil/cuda/walks/tiles.cuh"

namespace halocline::stencil::cuda {

inline constexpr int resident_warps = 16;
inline constexpr int resident_threads = resident_warps * warp_lanes;
/// Rows of lines outside its block, along y, that a warp waits for at most.
inline constexpr int lines_of_warp = 2;

/// The tiles of a rank's cells: strips of columns, as equal as vectors of 16 bytes allow and at
/// most a warp wide, times lines along y in 3-D, times groups of rows. A block has `wide` x `deep`
/// x `tall` tiles, the last blocks fewer.
struct Tiling {
  int rows;  ///< of a tile
  int wide, deep, tall;
  int strips, lines, groups;  ///< of all tiles; in 2-D one line
  int blocks_wide, blocks_deep, blocks_tall;

  __host__ __device__ int blocks() const { return blocks_wide * blocks_deep * blocks_tall; }
};

/// The arguments of a persistent kernel.
template <class Real>
struct ResidentWork {
  Real* level[2];  ///< first cells of the levels that are read and written
  Index row_step[2], line_step[2];
  Index cells[3];       ///< along x, along the last axis, and lines
  Index origin[3];      ///< the domain's cell at which they begin, in the same order
  bool has_halo[3][2];  ///< at the lower and the upper end, in the same order: what formulas read
  Index first_sweep;    ///< number of the first sweep
  double dt;            ///< t of a sweep's input is its number times this
  Tiling tiles;
  bool wraps, wraps_lines;  ///< along x; along y in 3-D
  bool ragged;              ///< rows end within a vector
  /// Edges between blocks of this launch, as in device/edge_port.hpp: per row of blocks those from
  /// below and above, per layer of blocks along y those from the front and the back, per column of
  /// blocks those from both sides.
  device::EdgeWords *from_below, *from_above, *from_front, *from_back;
  device::EdgeWord *from_left, *from_right;
  device::EdgePort port;
  unsigned epoch;              ///< of the first sweep's input
  int count;                   ///< sweeps
  int first_norm, norm_every;  ///< sweeps with a norm: the first, and the interval between them
  bool norm_before;            ///< the sweep before the pass has a norm
  device::EdgeWords* parts;    ///< partial norms, one per block, in two slots
  PartialNorms* last_parts;    ///< of the last sweep's norm
  unsigned long long* permission;
  unsigned long long first_permit;
};

/// The increment of epochs from launch to launch: more than sweeps and their repetition have, and
/// by an even number more than the sweeps, since slots of edges alternate.
__host__ __device__ inline unsigned epochs_of(int count) {
  const auto sweeps = static_cast<unsigned>(count);
  return sweeps + 2 * (sweeps / 2 + 2);
}

/// Offsets of the sections of a block's shared memory, in vectors of 16 bytes.
template <class Real>
struct ResidentShared {
  static constexpr int width = vector_cells<Real>;
  int rows_up, rows_down, columns_left, columns_right, lines, end;
  int line, side;  ///< vectors of the edge of a row of tiles, and of the side of a tile

  template <int axes>
  __host__ __device__ static ResidentShared of(const Tiling& tiles) {
    ResidentShared at{};
    at.line = tiles.wide * tiles.deep * warp_lanes;
    at.side = (tiles.rows + width - 1) / width;
    const int rows = 2 * (tiles.tall + 1) * at.line;
    const int sides = 2 * tiles.tall * tiles.deep * (tiles.wide + 1) * at.side;
    at.rows_down = at.rows_up + rows;
    at.columns_left = at.rows_down + rows;
    at.columns_right = at.columns_left + sides;
    at.lines = at.columns_right + sides;
    at.end = at.lines;
    // All rows of the block's tiles, and those of the lines in front of it and behind it.
    if (axes == 3) at.end += tiles.wide * tiles.tall * (tiles.deep + 2) * tiles.rows * warp_lanes;
    return at;
  }
};

}  // namespace halocline::stencil::cuda

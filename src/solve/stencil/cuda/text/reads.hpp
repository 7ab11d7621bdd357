// SPDX-License-Identifier: Apache-2.0
#pragma once
// How far an update reads, and what of it a block of a GPU keeps. For the host and for kernels.
//
// Compiles with NVRTC, so it includes nothing of the standard library.

#include "stencil/cuda/sizes.hpp"

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define HALOCLINE_READS __host__ __device__ constexpr
#else
#define HALOCLINE_READS constexpr
#endif

namespace halocline::stencil::cuda {

/// How far an update reads an input from a cell, along x, y, z.
struct Reads {
  int lower[3], upper[3];
  bool across;  ///< in 3-D: also cells that lie off along both y and z
  /// The first and the last layer along the last axis of which cells outside the cell's own column
  /// are read, counted from the cell's; none if the first comes after the last.
  int first_beside, last_beside;

  HALOCLINE_READS bool any_beside() const { return first_beside <= last_beside; }
  /// Whether of other layers only the cell's own column is read.
  HALOCLINE_READS bool others_in_column() const { return first_beside >= 0 && last_beside <= 0; }
};

/// What an input of an update is: the number of the output that it becomes, `followed(o)` if it is
/// output o one level earlier, or a coefficient.
inline constexpr int coefficient = -1;
HALOCLINE_READS int followed(int output) { return -2 - output; }

/// The part of an input that a block of threads keeps in its own memory while it walks over layers:
/// some layers of a tile of cells and of neighbouring ones that are read. Rows begin and end with
/// whole vectors.
struct PlaneRoom {
  int left, right;      ///< cells of a row before and after the tile's
  int south, north;     ///< rows before and after the tile's
  int row_cells, rows;  ///< of a layer, with these
  int first, last;      ///< layers that an update needs, counted from the one that it updates
  /// The last layer of which lanes hold their cells in registers. Where layers farther ahead are
  /// kept for the neighbours of a column anyway, and are many, they are read from there.
  int held;
  int slots;  ///< layers, with those that are under way

  HALOCLINE_READS int layer_cells() const { return row_cells * rows; }
  HALOCLINE_READS int cells() const { return layer_cells() * slots; }
};

/// Returns the room for a tile of a block whose lanes update `rows` rows each, of a vector of
/// cells. `ahead`: layers under way.
HALOCLINE_READS PlaneRoom room_for(const Reads& reads, int rows, int ahead, int cell_bytes) {
  PlaneRoom room{};
  const int width = vector_bytes / cell_bytes;
  if (reads.any_beside()) {
    room.left = (reads.lower[0] + width - 1) / width * width;
    room.right = (reads.upper[0] + width - 1) / width * width;
    room.south = reads.lower[1];
    room.north = reads.upper[1];
  }
  room.row_cells = room.left + warp_lanes * width + room.right;
  room.rows = room.south + rows * block_warps + room.north;
  room.last = reads.upper[2];
  room.first =
      reads.any_beside() && reads.first_beside < room.last ? reads.first_beside : room.last;
  room.held = reads.any_beside() && reads.first_beside <= 0 && room.last > 2 ? 0 : room.last;
  room.slots = room.last - room.first + 1 + ahead;
  return room;
}

}  // namespace halocline::stencil::cuda

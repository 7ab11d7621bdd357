// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tile of cells that a warp has between sweeps: which cells of the rank, where it lies in its
// block, and where its edges are, in shared memory and as words.
//
// A tile has rows along x, one behind the other along the last axis. In 3-D all of them are of one
// line, a y: the warps of the neighbouring lines have its neighbours along y.
//
// Compiled by NVRTC, so it includes nothing of the standard library.

#include "stencil/cuda/persistent/edge_values.cuh"
#include "stencil/cuda/persistent/resident_work.cuh"

namespace halocline::stencil::cuda {

/// Where a warp finds its edges, the same for all sweeps: computed once, since to compute
/// addresses again in each sweep took nine tenths of its instructions. Addresses are those of the
/// first lane, in the first slot; null: there is no such edge.
template <class Real>
struct Places {
  using SideWords = typename WordsOf<Real>::Type;

  /// Of the rows before and after the tile, in other blocks, and of its own rows for those.
  const device::EdgeWords *south, *north;
  device::EdgeWords *to_south, *to_north;
  /// Of the tile's first row, for the blocks in front of this one and behind it.
  device::EdgeWords *to_front, *to_back;
  /// Rows of lines in front of the block and behind it, that this warp waits for for all: one that
  /// waited for all the rows of its own line would have more to wait for than others.
  const device::EdgeWords* line_from[lines_of_warp];
  int line_to[lines_of_warp], line_last_lane[lines_of_warp];
  /// On the left and on the right: words of the tile's first row.
  const SideWords* side_from[2];
  SideWords* side_to[2];
  Index side_words_slot;
  /// Offsets in shared memory, in vectors: of the row before the tile, and from there to the rows
  /// of the next tile and to those for tiles before; between slots; in 3-D of the tile's own rows
  /// and of those in front and behind; of the sides to the left and to the right that the tile
  /// reads and that it writes.
  int up, row_vectors, down, row_slot, own, front, back, side_in[2], side_out[2], side_slot;
  int vectors;  ///< of a row
  int lower_message, upper_message;
};

/// Which tile a thread's warp has, and where its cells and edges are.
template <int axes, int rows, class Real>
class WarpTile {
 public:
  using Vector = typename VectorOf<Real>::Type;
  using EdgeWords = device::EdgeWords;
  using EdgeWord = device::EdgeWord;
  using SideWords = typename WordsOf<Real>::Type;

  /// Rows of lines outside its block that a warp waits for.
  static constexpr int awaited = axes == 3 ? lines_of_warp : 0;
  /// The messages of waits for other ranks, at both ends of this rank's cells, and for other
  /// blocks.
  static constexpr int lower_side = 0, upper_side = 1, inside = -1;

  /// Of this thread's warp in a block. Its first lane fills in `places`.
  __device__ WarpTile(const ResidentWork<Real>& work, int block, Vector* shared,
                      Places<Real>& places)
      : work_(work), shared_(shared) {
    const Tiling& tiles = work.tiles;
    const int warp = static_cast<int>(threadIdx.x) / warp_lanes;
    lane_ = static_cast<int>(threadIdx.x) % warp_lanes;
    // Turned from row to row, so that each of the four schedulers, which have every fourth warp,
    // has as many tiles at the sides of the block, which send and wait for more: 2.76 us
    // instead of 2.93 for 2048x2048 cells in f32 on an H100.
    x_ = (warp + warp / tiles.wide) % tiles.wide, line_ = warp / tiles.wide % tiles.deep;
    y_ = warp / (tiles.wide * tiles.deep);
    block_x_ = block % tiles.blocks_wide,
    block_line_ = block / tiles.blocks_wide % tiles.blocks_deep;
    block_y_ = block / (tiles.blocks_wide * tiles.blocks_deep);
    const int strip = block_x_ * tiles.wide + x_, group = block_y_ * tiles.tall + y_;
    works_ = strip < tiles.strips && line_of_all() < tiles.lines && group < tiles.groups;
    if (lane_ == 0) {
      places = {};
      places.vectors = vectors_of_row();
      find_lines(places);
    }
    if (!works_) return;
    last_x_of_all_ = strip + 1 == tiles.strips;
    last_x_ = last_x_of_all_ || x_ + 1 == tiles.wide;
    last_y_ = group + 1 == tiles.groups || y_ + 1 == tiles.tall;
    vector_ = first_vector(strip) + lane_;
    last_lane_ = last_lane_of(strip);
    row_ = group * rows;
    rows_here_ = rows_of(group);
    const Index column = Index{vector_} * width;
    for (int i = 0; i < width; ++i)
      inside_ |= lane_ <= last_lane_ && column + i < work.cells[0] ? 1u << i : 0u;
    if (lane_ == 0) find_places(places);
  }

  /// Whether the warp has any cells; else it has no more than a lane and edges to wait for.
  __device__ bool works() const { return works_; }
  __device__ int lane() const { return lane_; }
  /// The last lane with cells.
  __device__ int last_lane() const { return last_lane_; }
  /// Numbers of the tile in its block: along x, lines along y in 3-D, and along the last axis.
  __device__ int x() const { return x_; }
  __device__ int line() const { return line_; }
  __device__ int y() const { return y_; }
  /// Whether it is the last of its block along x, or along the last axis.
  __device__ bool last_x() const { return last_x_; }
  __device__ bool last_y() const { return last_y_; }
  __device__ int line_of_all() const { return block_line_ * work_.tiles.deep + line_; }
  /// Of the block.
  __device__ int lines_here() const {
    const int left = work_.tiles.lines - block_line_ * work_.tiles.deep;
    return left < work_.tiles.deep ? left : work_.tiles.deep;
  }
  /// Numbers in the rank's cells: of the lane's vector in its row, and of the tile's first row.
  __device__ int vector() const { return vector_; }
  __device__ int row() const { return row_; }
  /// Rows that hold cells of the rank.
  __device__ int rows_here() const { return rows_here_; }
  /// A bit for each cell of the lane's vectors that is the rank's.
  __device__ unsigned cells_inside() const { return inside_; }
  /// Whether the tile's rows end within a vector.
  __device__ bool is_ragged() const { return work_.ragged && last_x_of_all_; }
  /// The offset of the tile's first cell in this lane.
  __device__ Index place(int level) const {
    return Index{row_} * work_.row_step[level] + Index{line_of_all()} * work_.line_step[level] +
           Index{vector_} * width;
  }
  static __device__ int slot(unsigned epoch) { return static_cast<int>(epoch % 2); }

  // ---- shared memory. For both epochs; edges from outside the block have slots like those of its
  // own warps.

  __device__ Vector* at(int part) const { return shared_ + part; }
  /// The edge to the south of the block's warps in row y, or to the north.
  __device__ Vector* row_up(unsigned epoch, int y) const {
    const auto shared = ResidentShared<Real>::template of<axes>(work_.tiles);
    const int slot = static_cast<int>(epoch % 2);
    return at(shared.rows_up + (slot * (work_.tiles.tall + 1) + y) * shared.line +
              (line_ * work_.tiles.wide + x_) * warp_lanes + lane_);
  }
  __device__ Vector* row_down(unsigned epoch, int y) const {
    const auto shared = ResidentShared<Real>::template of<axes>(work_.tiles);
    return row_up(epoch, y) + (shared.rows_down - shared.rows_up);
  }
  /// The edge to the left of the warp at x in this warp's row, or to the right.
  __device__ Vector* column_right(unsigned epoch, int x) const {
    const auto shared = ResidentShared<Real>::template of<axes>(work_.tiles);
    const int slot = static_cast<int>(epoch % 2);
    return at(
        shared.columns_right +
        (((slot * work_.tiles.tall + y_) * work_.tiles.deep + line_) * (work_.tiles.wide + 1) + x) *
            shared.side);
  }
  __device__ Vector* column_left(unsigned epoch, int x) const {
    const auto shared = ResidentShared<Real>::template of<axes>(work_.tiles);
    return column_right(epoch, x) - (shared.columns_right - shared.columns_left);
  }

  /// A row of the tile at x and y in the block's line, from -1, in front of the block, on.
  __device__ Vector* shared_row(int x, int y, int line, int r) const {
    const int tile = y * work_.tiles.wide + x;
    return at(ResidentShared<Real>::template of<axes>(work_.tiles).lines +
              ((tile * (work_.tiles.deep + 2) + line + 1) * rows + r) * warp_lanes + lane_);
  }

  // ---- edges between blocks; null where there is no other block

  __device__ const EdgeWords* south_from() const {
    if (y_ > 0) return nullptr;
    return lowest_block() ? work_.port.lower.from : row_edge(work_.from_below, block_y_);
  }
  __device__ const EdgeWords* north_from() const {
    if (!last_y_) return nullptr;
    return highest_block() ? work_.port.upper.from : row_edge(work_.from_above, block_y_);
  }
  __device__ bool has_block_in_front() const {
    return block_line_ > 0 || (work_.wraps_lines && work_.tiles.blocks_deep > 1);
  }
  __device__ bool has_block_behind() const {
    const int blocks = work_.tiles.blocks_deep;
    return block_line_ + 1 < blocks || (work_.wraps_lines && blocks > 1);
  }
  __device__ bool has_block_left() const {
    return x_ == 0 && (block_x_ > 0 || (work_.wraps && work_.tiles.blocks_wide > 1));
  }
  __device__ bool has_block_right() const {
    const int blocks = work_.tiles.blocks_wide;
    return last_x_ && (block_x_ + 1 < blocks || (work_.wraps && blocks > 1));
  }

 private:
  static constexpr int width = vector_cells<Real>;

  __device__ int vectors_of_row() const {
    return static_cast<int>((work_.cells[0] + width - 1) / width);
  }
  __device__ int first_vector(int strip) const {
    return static_cast<int>(Index{strip} * vectors_of_row() / work_.tiles.strips);
  }
  __device__ int last_lane_of(int strip) const {
    return first_vector(strip + 1) - first_vector(strip) - 1;
  }
  __device__ int rows_of(int group) const {
    const int left = static_cast<int>(work_.cells[1]) - group * rows;
    return left < rows ? left : rows;
  }

  __device__ void find_places(Places<Real>& at) const {
    const auto shared = ResidentShared<Real>::template of<axes>(work_.tiles);
    const auto offset_of = [&](const Vector* place) { return static_cast<int>(place - shared_); };
    at.up = offset_of(row_up(0, y_)) - lane_;
    at.row_vectors = shared.line;
    at.down = shared.rows_down - shared.rows_up;
    at.row_slot = (work_.tiles.tall + 1) * shared.line;
    if constexpr (axes == 3) {
      const auto line = [&](int number) {
        return offset_of(shared_row(x_, y_, number, 0)) - lane_;
      };
      const bool wraps = work_.wraps_lines && work_.tiles.blocks_deep == 1;
      at.own = line(line_);
      at.front = line(wraps && line_ == 0 ? lines_here() - 1 : line_ - 1);
      at.back = line(wraps && line_ + 1 == lines_here() ? 0 : line_ + 1);
    }
    const bool turns = work_.wraps && work_.tiles.blocks_wide == 1;
    at.side_in[0] = offset_of(column_right(0, turns && x_ == 0 ? work_.tiles.strips : x_));
    at.side_in[1] = offset_of(column_left(0, turns && last_x_ ? 0 : x_ + 1));
    at.side_out[0] = offset_of(column_left(0, x_));
    at.side_out[1] = offset_of(column_right(0, x_ + 1));
    at.side_slot = work_.tiles.tall * work_.tiles.deep * (work_.tiles.wide + 1) * shared.side;
    const int blocks = work_.tiles.blocks_wide;
    if (has_block_left()) {
      at.side_from[0] = column(work_.from_left, block_x_);
      at.side_to[0] = column(work_.from_right, (block_x_ + blocks - 1) % blocks);
    }
    if (has_block_right()) {
      at.side_from[1] = column(work_.from_right, block_x_);
      at.side_to[1] = column(work_.from_left, (block_x_ + 1) % blocks);
    }
    at.side_words_slot = work_.cells[1] * work_.tiles.lines;
    at.lower_message = y_ == 0 && lowest_block() ? lower_side : inside;
    at.upper_message = last_y_ && highest_block() ? upper_side : inside;
    const int vector = vector_ - lane_;
    const Index mine = line_of_all() * pairs_of_row() + vector;
    const auto of_warp = [&](auto* rows_of_edge) {
      return rows_of_edge == nullptr ? rows_of_edge : rows_of_edge + mine;
    };
    at.south = of_warp(south_from()), at.north = of_warp(north_from());
    at.to_south = of_warp(to_south()), at.to_north = of_warp(to_north());
    if constexpr (axes == 3) {
      const int deep = work_.tiles.blocks_deep;
      if (line_ == 0 && has_block_in_front())
        at.to_front = layer(work_.from_back, (block_line_ + deep - 1) % deep, row_) + vector;
      if (line_ + 1 == lines_here() && has_block_behind())
        at.to_back = layer(work_.from_front, (block_line_ + 1) % deep, row_) + vector;
    }
  }
  __device__ void find_lines(Places<Real>& at) const {
    if constexpr (axes == 3) {
      const Tiling& tiles = work_.tiles;
      const int warp = static_cast<int>(threadIdx.x) / warp_lanes;
      for (int i = 0; i < awaited; ++i) {
        const int item = warp + i * resident_warps, tile = item / 2 / rows, r = item / 2 % rows;
        const int x = tile % tiles.wide, y = tile / tiles.wide;
        const int strip = block_x_ * tiles.wide + x;
        const int row = (block_y_ * tiles.tall + y) * rows + r;
        const bool is_front = item % 2 == 0;
        if (y >= tiles.tall || strip >= tiles.strips || row >= work_.cells[1] ||
            !(is_front ? has_block_in_front() : has_block_behind()))
          continue;
        at.line_from[i] = layer(is_front ? work_.from_front : work_.from_back, block_line_, row) +
                          first_vector(strip);
        at.line_to[i] =
            static_cast<int>(shared_row(x, y, is_front ? -1 : lines_here(), r) - shared_) - lane_;
        at.line_last_lane[i] = last_lane_of(strip);
      }
    }
  }

  __device__ bool lowest_block() const { return block_y_ == 0; }
  __device__ bool highest_block() const { return block_y_ + 1 == work_.tiles.blocks_tall; }
  __device__ Index pairs_of_row() const {
    return device::edge_pairs_per_vector * Index{vectors_of_row()};
  }
  __device__ EdgeWords* row_edge(EdgeWords* rows_of_blocks, int block_y) const {
    return rows_of_blocks + block_y * pairs_of_row() * work_.tiles.lines;
  }
  /// The edge of a row between blocks along y.
  __device__ EdgeWords* layer(EdgeWords* layers, int block_line, int row) const {
    return layers + (block_line * work_.cells[1] + row) * pairs_of_row();
  }
  __device__ EdgeWords* to_south() const {
    if (y_ > 0) return nullptr;
    return lowest_block() ? work_.port.lower.to : row_edge(work_.from_above, block_y_ - 1);
  }
  __device__ EdgeWords* to_north() const {
    if (!last_y_) return nullptr;
    return highest_block() ? work_.port.upper.to : row_edge(work_.from_below, block_y_ + 1);
  }
  /// The side of the tile's first row, in the first slot.
  __device__ SideWords* column(EdgeWord* columns, int block_x) const {
    const Index rows_of_all = work_.cells[1] * work_.tiles.lines;
    return reinterpret_cast<SideWords*>(columns) + Index{block_x} * 2 * rows_of_all +
           Index{line_of_all()} * work_.cells[1] + row_;
  }

  const ResidentWork<Real>& work_;
  Vector* shared_;
  int lane_, last_lane_ = 0;
  int x_, line_, y_, block_x_, block_line_, block_y_;  // of the tile in its block; of the block
  int vector_ = 0, row_ = 0, rows_here_ = 0;
  bool works_, last_x_ = false, last_y_ = false;  // of its block
  bool last_x_of_all_ = false;
  unsigned inside_ = 0;
};

}  // namespace halocline::stencil::cuda

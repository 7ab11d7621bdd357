// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tile of cells that a warp keeps in registers between sweeps, and its edges: to warps of the
// same block through shared memory, to other blocks and GPUs as words: see device/edge_port.hpp.
//
// Compiles with nvcc and with NVRTC, so it includes nothing of the standard library.

#include "device/cuda/edge_words.cuh"
#include "stencil/cuda/change.cuh"
#include "stencil/cuda/lane.cuh"

namespace halocline::stencil::cuda {

inline constexpr int resident_warps = 16;
inline constexpr int resident_threads = resident_warps * warp_lanes;

/// A cell and its neighbours along x and y, for an update.
template <class Real>
struct Star {
  Real c, w, e, s, n;
  Index place[2];  ///< in the domain
  double t;

  template <int, int x, int y, int>
  __device__ Real at() const {
    static_assert((x == 0 || y == 0) && x * x + y * y <= 1);
    return x < 0 ? w : x > 0 ? e : y < 0 ? s : y > 0 ? n : c;
  }
  template <int axis>
  __device__ Index index() const {
    return place[axis];
  }
  __device__ double time() const { return t; }
};

/// The tiles of a rank's cells: strips of columns, as equal as vectors of 16 bytes allow and at
/// most a warp wide, times groups of rows. A block has `wide` x `tall` tiles, the last blocks
/// fewer.
struct Tiling {
  int rows;  ///< of a tile
  int wide, tall;
  int strips, groups;  ///< of all tiles
  int blocks_wide, blocks_tall;

  __host__ __device__ int blocks() const { return blocks_wide * blocks_tall; }
};

/// The arguments of a persistent kernel.
template <class Real>
struct ResidentWork {
  Real* level[2];  ///< first cells of the levels that the first sweep reads and would write
  Index row_step[2];
  Index cells[2];
  Index origin[2];      ///< the domain's cell at which they begin
  bool has_halo[2][2];  ///< along x and y, at the lower and the upper end: what formulas read
  Index first_sweep;    ///< number of the first sweep
  double dt;            ///< t of a sweep's input is its number times this
  Tiling tiles;
  bool wraps;   ///< along x
  bool ragged;  ///< rows end within a vector
  /// Edges between blocks of this launch, as in device/edge_port.hpp: per row of blocks those from
  /// below and above, per column of blocks those from both sides.
  device::EdgeWords *from_below, *from_above;
  device::cuda::EdgeWord *from_left, *from_right;
  device::EdgePort port;
  unsigned epoch;              ///< of the first sweep's input
  int count;                   ///< sweeps
  int first_norm, norm_every;  ///< sweeps with a norm: the first, and the interval between them
  bool norm_before;            ///< the sweep before the batch has a norm
  device::EdgeWords* parts;    ///< partial norms, one per block
  PartialNorms* last_parts;    ///< of the last sweep's norm
  unsigned long long* permission;
  unsigned long long first_permit;
};

/// Offsets of the sections of a block's shared memory, in vectors of 16 bytes.
template <class Real>
struct ResidentShared {
  static constexpr int width = vector_cells<Real>;
  int rows_up, rows_down, columns_left, columns_right, kept, end;
  int line, side;  ///< vectors of the edge of a row of tiles, and of the side of a tile

  __host__ __device__ static ResidentShared of(const Tiling& tiles) {
    ResidentShared at{};
    at.line = tiles.wide * warp_lanes;
    at.side = (tiles.rows + width - 1) / width;
    const int rows = 2 * (tiles.tall + 1) * at.line;
    const int sides = 2 * tiles.tall * (tiles.wide + 1) * at.side;
    at.rows_down = at.rows_up + rows;
    at.columns_left = at.rows_down + rows;
    at.columns_right = at.columns_left + sides;
    at.kept = at.columns_right + sides;
    at.end = at.kept + resident_warps * tiles.rows * warp_lanes;
    return at;
  }
};

template <int rows, class Real>
class Resident {
 public:
  static constexpr int width = vector_cells<Real>;
  using Vector = typename VectorOf<Real>::Type;
  using EdgeWords = device::EdgeWords;
  using EdgeWord = device::cuda::EdgeWord;

  __device__ Resident(const ResidentWork<Real>& work, int block, Vector* shared, bool& lost)
      : work_(work), shared_(shared), lost_(lost) {
    const Tiling& tiles = work.tiles;
    const int warp = static_cast<int>(threadIdx.x) / warp_lanes;
    lane_ = static_cast<int>(threadIdx.x) % warp_lanes;
    x_ = warp % tiles.wide, y_ = warp / tiles.wide;
    block_x_ = block % tiles.blocks_wide, block_y_ = block / tiles.blocks_wide;
    const int strip = block_x_ * tiles.wide + x_, group = block_y_ * tiles.tall + y_;
    works_ = strip < tiles.strips && group < tiles.groups;
    if (!works_) return;
    last_x_of_all_ = strip + 1 == tiles.strips;
    last_x_ = last_x_of_all_ || x_ + 1 == tiles.wide;
    last_y_ = group + 1 == tiles.groups || y_ + 1 == tiles.tall;
    const int vectors = vectors_of_row();
    vector_ = static_cast<int>(Index{strip} * vectors / tiles.strips);
    last_lane_ = static_cast<int>(Index{strip + 1} * vectors / tiles.strips) - vector_ - 1;
    vector_ += lane_;
    row_ = group * rows;
    rows_here_ = row_ + rows <= work.cells[1] ? rows : static_cast<int>(work.cells[1]) - row_;
    const Index column = Index{vector_} * width;
    for (int i = 0; i < width; ++i)
      inside_ |= lane_ <= last_lane_ && column + i < work.cells[0] ? 1u << i : 0u;
  }

  /// Whether the warp has any cells.
  __device__ bool works() const { return works_; }

  /// Loads the cells and the boundary values next to them, which never change.
  __device__ void load() {
    const Real* from = work_.level[0] + Index{row_} * work_.row_step[0] + Index{vector_} * width;
#pragma unroll
    for (int r = 0; r < rows; ++r)
      for (int i = 0; i < width; ++i) cell_[r][i] = 0;
    if (lane_ <= last_lane_)
#pragma unroll
      for (int r = 0; r < rows; ++r)
        if (r < rows_here_)
          VectorOf<Real>::split(*reinterpret_cast<const Vector*>(from + r * work_.row_step[0]),
                                cell_[r]);
    fill_fixed(from);
  }

  /// Sends the edges that the first sweep waits for.
  __device__ void send_first() {
    send_bottom(work_.epoch);
    send_top(work_.epoch);
    const bool is_side = lane_ == 0 || lane_ == last_lane_;
#pragma unroll
    for (int r = 0; r < rows; ++r)
      if (is_side)
        reinterpret_cast<Real*>(side_to(work_.epoch))[r] =
            lane_ == 0 ? cell_[r][0] : cell_[r][width - 1];
    send_sides(work_.epoch);
  }

  /// Keeps the cells in shared memory for store_kept().
  __device__ void keep() const {
#pragma unroll
    for (int r = 0; r < rows; ++r) *kept(r) = VectorOf<Real>::make(cell_[r]);
  }

  /// Does one sweep, from `epoch` to the next. `sends`: a neighbour will wait for the edges.
  /// Computes rows and columns of the tile that hold no cells of the rank with the others, without
  /// branches, and corrects those that are read.
  template <Norm kind, class Update>
  __device__ __forceinline__ void sweep(const Update& update, unsigned epoch, bool sends,
                                        Change<kind, Real>& change) {
    const bool full = rows_here_ == rows;
    Real behind[width], beyond[width]{}, beside[width]{}, aside[width]{};
    await_south(epoch, behind);
    await_sides(epoch);
    if (!full) {
      // The halo beyond the last row goes to the row after it.
      await_north(epoch, beyond);
      put_row(rows_here_, beyond);
    }
    const Vector* const sides = side_from(epoch);
    Vector* const sides_to = side_to(epoch + 1);
    const bool first = lane_ == 0, last = lane_ == last_lane_;
    const Index column = work_.origin[0] + Index{vector_} * width;
    const double time = static_cast<double>(work_.first_sweep + (epoch - work_.epoch)) * work_.dt;
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      if (r == rows - 1 && full) await_north(epoch, beyond);
      if (r % width == 0) VectorOf<Real>::split(sides[r / width], beside);
      const Real before = __shfl_up_sync(~0u, cell_[r][width - 1], 1);
      const Real after = __shfl_down_sync(~0u, cell_[r][0], 1);
      const Real left = first ? beside[r % width] : before;
      const Real right = last ? beside[r % width] : after;
      Real updated[width];
#pragma unroll
      for (int i = 0; i < width; ++i) {
        const Star<Real> cell{cell_[r][i],
                              i > 0 ? cell_[r][i > 0 ? i - 1 : 0] : left,
                              i + 1 < width ? cell_[r][i + 1 < width ? i + 1 : i] : right,
                              behind[i],
                              r + 1 < rows ? cell_[r + 1 < rows ? r + 1 : r][i] : beyond[i],
                              {column + i, work_.origin[1] + row_ + r},
                              time};
        update(cell, &updated[i]);
        if (kind != Norm::none && r < rows_here_ && (inside_ >> i & 1) != 0)
          change.add(updated[i], cell.c);
      }
#pragma unroll
      for (int i = 0; i < width; ++i) {
        behind[i] = cell_[r][i];
        cell_[r][i] = updated[i];
      }
      aside[r % width] = first ? updated[0] : updated[width - 1];
      if ((r % width == width - 1 || r == rows - 1) && (first || last))
        sides_to[r / width] = VectorOf<Real>::make(aside);
      if (r == 0 && sends) send_bottom(epoch + 1);
    }
    if (work_.ragged && last_x_of_all_) put_fixed();
    if (!sends) return;
    send_top(epoch + 1);
    send_sides(epoch + 1);
  }

  /// Stores the cells into a level.
  __device__ void store(int level) const {
#pragma unroll
    for (int r = 0; r < rows; ++r)
      if (r < rows_here_) store_row(level, r, cell_[r]);
  }
  /// Stores the cells of the last keep() into a level.
  __device__ void store_kept(int level) const {
    for (int r = 0; r < rows_here_; ++r) {
      Real values[width];
      VectorOf<Real>::split(*kept(r), values);
      store_row(level, r, values);
    }
  }

 private:
  __device__ int vectors_of_row() const {
    return static_cast<int>((work_.cells[0] + width - 1) / width);
  }

  __device__ void put_row(int row, const Real* values) {
#pragma unroll
    for (int r = 1; r < rows; ++r)
      if (r == row)
        for (int i = 0; i < width; ++i) cell_[r][i] = values[i];
  }
  /// Restores the boundary cell in the last vector of rows that end within a vector.
  __device__ void put_fixed() {
    const Real* const fixed = reinterpret_cast<const Real*>(column_left(0, x_ + 1));
#pragma unroll
    for (int r = 0; r < rows; ++r)
      for (int i = 0; i < width; ++i)
        if (lane_ == last_lane_ && (inside_ >> i & 1) == 0) cell_[r][i] = fixed[r];
  }

  // ---- shared memory. For both epochs; edges from outside the block have slots like those of its
  // own warps.

  __device__ Vector* at(int part) const { return shared_ + part; }
  /// The edge to the south of the block's warps in row y, or to the north.
  __device__ Vector* row_up(unsigned epoch, int y) const {
    const auto shared = ResidentShared<Real>::of(work_.tiles);
    const int slot = static_cast<int>(epoch % 2);
    return at(shared.rows_up + (slot * (work_.tiles.tall + 1) + y) * shared.line + x_ * warp_lanes +
              lane_);
  }
  __device__ Vector* row_down(unsigned epoch, int y) const {
    const auto shared = ResidentShared<Real>::of(work_.tiles);
    return row_up(epoch, y) + (shared.rows_down - shared.rows_up);
  }
  /// The edge to the left of the warp at x in this warp's row, or to the right.
  __device__ Vector* column_right(unsigned epoch, int x) const {
    const auto shared = ResidentShared<Real>::of(work_.tiles);
    const int slot = static_cast<int>(epoch % 2);
    return at(shared.columns_right +
              ((slot * work_.tiles.tall + y_) * (work_.tiles.wide + 1) + x) * shared.side);
  }
  __device__ Vector* column_left(unsigned epoch, int x) const {
    const auto shared = ResidentShared<Real>::of(work_.tiles);
    return column_right(epoch, x) - (shared.columns_right - shared.columns_left);
  }
  /// For the first lane the edge to the left of the tile, for the last lane that to the right.
  __device__ const Vector* side_from(unsigned epoch) const {
    return lane_ == 0 ? column_right(epoch, x_) : column_left(epoch, x_ + 1);
  }
  __device__ Vector* side_to(unsigned epoch) const {
    return lane_ == 0 ? column_left(epoch, x_) : column_right(epoch, x_ + 1);
  }
  __device__ Vector* kept(int r) const {
    const int warp = static_cast<int>(threadIdx.x) / warp_lanes;
    return at(ResidentShared<Real>::of(work_.tiles).kept + (warp * rows + r) * warp_lanes + lane_);
  }

  // ---- edges between blocks; null where there is no other block

  __device__ bool lowest_block() const { return block_y_ == 0; }
  __device__ bool highest_block() const { return block_y_ + 1 == work_.tiles.blocks_tall; }
  __device__ EdgeWords* line(EdgeWords* lines, int block_y) const {
    return lines + block_y * device::edge_pairs_per_vector * vectors_of_row();
  }
  __device__ const EdgeWords* south() const {
    if (y_ > 0) return nullptr;
    return lowest_block() ? work_.port.lower.from : line(work_.from_below, block_y_);
  }
  __device__ const EdgeWords* north() const {
    if (!last_y_) return nullptr;
    return highest_block() ? work_.port.upper.from : line(work_.from_above, block_y_);
  }
  __device__ EdgeWords* to_south() const {
    if (y_ > 0) return nullptr;
    return lowest_block() ? work_.port.lower.to : line(work_.from_above, block_y_ - 1);
  }
  __device__ EdgeWords* to_north() const {
    if (!last_y_) return nullptr;
    return highest_block() ? work_.port.upper.to : line(work_.from_below, block_y_ + 1);
  }
  /// The side value of a row of the tile; 64-bit values take two words.
  __device__ EdgeWord* column(EdgeWord* columns, int block_x, unsigned epoch, int r) const {
    constexpr int words = sizeof(Real) / 4;
    return columns + ((Index{block_x} * 2 + epoch % 2) * work_.cells[1] + row_ + r) * words;
  }
  __device__ bool has_block_left() const { return x_ == 0 && (block_x_ > 0 || work_.wraps); }
  __device__ bool has_block_right() const {
    return last_x_ && (block_x_ + 1 < work_.tiles.blocks_wide || work_.wraps);
  }

  /// The patience of waits for another rank at an end of this rank's cells, or for another block.
  __device__ device::cuda::Patience patience(int side) const {
    const bool outside = side == 0 ? y_ == 0 && lowest_block() : last_y_ && highest_block();
    return {work_.port.watch, outside ? side : -1};
  }
  static constexpr int lower_side = 0, upper_side = 1;
  __device__ device::cuda::Patience patience_inside() const { return {work_.port.watch, -1}; }

  __device__ void await_row(const EdgeWords* from, unsigned epoch, device::cuda::Patience patience,
                            Real* values) const {
    const int vectors = vectors_of_row();
    const EdgeWords* const mine = from + epoch % 2 * 2 * Index{vectors} + vector_;
    bool came = true;
    if (lane_ <= last_lane_) {
      const EdgeWords low = device::cuda::await_words(mine, epoch, patience, came);
      const EdgeWords high = device::cuda::await_words(mine + vectors, epoch, patience, came);
      const unsigned bits[4] = {static_cast<unsigned>(low.first), static_cast<unsigned>(low.second),
                                static_cast<unsigned>(high.first),
                                static_cast<unsigned>(high.second)};
      from_bits(bits, values);
    } else {
      for (int i = 0; i < width; ++i) values[i] = 0;
    }
    if (!came) lost_ = true;
    __syncwarp();
  }
  __device__ void await_south(unsigned epoch, Real* values) const {
    if (const EdgeWords* const from = south())
      await_row(from, epoch, patience(lower_side), values);
    else
      VectorOf<Real>::split(*row_up(epoch, y_), values);
  }
  __device__ void await_north(unsigned epoch, Real* values) const {
    if (const EdgeWords* const from = north())
      await_row(from, epoch, patience(upper_side), values);
    else
      VectorOf<Real>::split(*row_down(epoch, y_ + 1), values);
  }

  __device__ void send_row(EdgeWords* to, unsigned epoch, const Real* values) const {
    const int vectors = vectors_of_row();
    EdgeWords* const mine = to + epoch % 2 * 2 * Index{vectors} + vector_;
    unsigned bits[4];
    to_bits(values, bits);
    using device::cuda::word_of;
    if (lane_ > last_lane_) return;
    device::cuda::send(mine, {word_of(bits[0], epoch), word_of(bits[1], epoch)});
    device::cuda::send(mine + vectors, {word_of(bits[2], epoch), word_of(bits[3], epoch)});
  }
  __device__ void send_bottom(unsigned epoch) const {
    if (EdgeWords* const to = to_south())
      send_row(to, epoch, cell_[0]);
    else if (y_ > 0)
      *row_down(epoch, y_) = VectorOf<Real>::make(cell_[0]);
  }
  __device__ void send_top(unsigned epoch) const {
    Real top[width]{};
#pragma unroll
    for (int r = 0; r < rows; ++r)
      if (r + 1 == rows_here_)
        for (int i = 0; i < width; ++i) top[i] = cell_[r][i];
    if (EdgeWords* const to = to_north())
      send_row(to, epoch, top);
    else if (!last_y_)
      *row_up(epoch, y_ + 1) = VectorOf<Real>::make(top);
  }

  /// Lanes exchange sides one row each: the first half of the warp on the left, the second on the
  /// right.
  static_assert(rows <= warp_lanes / 2);
  __device__ int row_of_side() const { return lane_ % (warp_lanes / 2); }
  __device__ bool is_left() const { return lane_ < warp_lanes / 2; }

  __device__ void await_sides(unsigned epoch) const {
    if (!has_block_left() && !has_block_right()) return;
    const int r = row_of_side();
    if (r < rows_here_ && (is_left() ? has_block_left() : has_block_right())) {
      const EdgeWord* const from = is_left() ? column(work_.from_left, block_x_, epoch, r)
                                             : column(work_.from_right, block_x_, epoch, r);
      Vector* const to = is_left() ? column_right(epoch, x_) : column_left(epoch, x_ + 1);
      bool came = true;
      unsigned bits[2];
      if constexpr (sizeof(Real) == 4) {
        bits[0] =
            static_cast<unsigned>(device::cuda::await_words(from, epoch, patience_inside(), came));
      } else {
        const EdgeWords words = device::cuda::await_words(reinterpret_cast<const EdgeWords*>(from),
                                                          epoch, patience_inside(), came);
        bits[0] = static_cast<unsigned>(words.first);
        bits[1] = static_cast<unsigned>(words.second);
      }
      reinterpret_cast<Real*>(to)[r] = value_of(bits);
      if (!came) lost_ = true;
    }
    __syncwarp();
  }
  __device__ void send_sides(unsigned epoch) const {
    if (!has_block_left() && !has_block_right()) return;
    __syncwarp();
    const int r = row_of_side(), blocks = work_.tiles.blocks_wide;
    if (r >= rows_here_ || !(is_left() ? has_block_left() : has_block_right())) return;
    EdgeWord* const to = is_left()
                             ? column(work_.from_right, (block_x_ + blocks - 1) % blocks, epoch, r)
                             : column(work_.from_left, (block_x_ + 1) % blocks, epoch, r);
    const Vector* const from = is_left() ? column_left(epoch, x_) : column_right(epoch, x_ + 1);
    unsigned bits[2];
    bits_of(reinterpret_cast<const Real*>(from)[r], bits);
    if constexpr (sizeof(Real) == 4)
      device::cuda::send(to, device::cuda::word_of(bits[0], epoch));
    else
      device::cuda::send(reinterpret_cast<EdgeWords*>(to), {device::cuda::word_of(bits[0], epoch),
                                                            device::cuda::word_of(bits[1], epoch)});
  }

  /// Counts the rank's cells in the vector of this lane, the tile's last.
  __device__ int cells_of_last_vector() const { return __popc(inside_); }
  /// Puts the boundary values next to the rank's cells, which never change, into both epochs'
  /// edges.
  /// What the formula does not read is zero.
  __device__ void fill_fixed(const Real* first) const {
    const Index step = work_.row_step[0];
    const Real zeros[width]{};
    const Vector none = VectorOf<Real>::make(zeros);
    for (unsigned slot = 0; slot < 2; ++slot) {
      if (lane_ <= last_lane_) {
        if (y_ == 0 && south() == nullptr)
          *row_up(slot, 0) =
              work_.has_halo[1][0] ? *reinterpret_cast<const Vector*>(first - step) : none;
        if (last_y_ && north() == nullptr)
          *row_down(slot, y_ + 1) =
              work_.has_halo[1][1]
                  ? *reinterpret_cast<const Vector*>(first + Index{rows_here_} * step)
                  : none;
      }
      const bool left = lane_ == 0 && x_ == 0 && !has_block_left();
      const bool right = lane_ == last_lane_ && last_x_ && !has_block_right();
      if (left || right)
        for (int r = 0; r < rows_here_; ++r)
          reinterpret_cast<Real*>(left ? column_right(slot, x_) : column_left(slot, x_ + 1))[r] =
              work_.has_halo[0][left ? 0 : 1]
                  ? first[r * step + (left ? -1 : cells_of_last_vector())]
                  : Real(0);
    }
  }

  __device__ void store_row(int level, int r, const Real* values) const {
    Real* const to =
        work_.level[level] + Index{row_ + r} * work_.row_step[level] + Index{vector_} * width;
    if (inside_ == Lane<Real>::all) {
      *reinterpret_cast<Vector*>(to) = VectorOf<Real>::make(values);
    } else {
      for (int i = 0; i < width; ++i)
        if ((inside_ >> i & 1) != 0) to[i] = values[i];
    }
  }

  // ---- values as words of 32 bits

  static __device__ void bits_of(float value, unsigned* bits) { bits[0] = __float_as_uint(value); }
  static __device__ void bits_of(double value, unsigned* bits) {
    const auto all = static_cast<unsigned long long>(__double_as_longlong(value));
    bits[0] = static_cast<unsigned>(all);
    bits[1] = static_cast<unsigned>(all >> 32);
  }
  static __device__ Real value_of(const unsigned* bits) {
    if constexpr (sizeof(Real) == 4)
      return __uint_as_float(bits[0]);
    else
      return __longlong_as_double(
          static_cast<long long>(static_cast<unsigned long long>(bits[1]) << 32 | bits[0]));
  }
  static __device__ void to_bits(const Real* values, unsigned* bits) {
    for (int i = 0; i < width; ++i) bits_of(values[i], bits + i * (sizeof(Real) / 4));
  }
  static __device__ void from_bits(const unsigned* bits, Real* values) {
    for (int i = 0; i < width; ++i) values[i] = value_of(bits + i * (sizeof(Real) / 4));
  }

  const ResidentWork<Real>& work_;
  Vector* shared_;
  bool& lost_;
  int lane_, last_lane_ = 0;
  int x_, y_, block_x_, block_y_;  // of the tile in its block; of the block
  int vector_ = 0, row_ = 0, rows_here_ = 0;
  bool works_, last_x_ = false, last_y_ = false;  // of its block
  bool last_x_of_all_ = false;
  unsigned inside_ = 0;
  Real cell_[rows][width];
};

}  // namespace halocline::stencil::cuda

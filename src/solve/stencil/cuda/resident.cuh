// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tile of cells that a warp keeps in registers between sweeps, and its edges: to warps of the
// same block through shared memory, to other blocks and GPUs as words: see device/edge_port.hpp.
//
// A tile has rows along x, one behind the other along the last axis. In 3-D all of them are of one
// line, a y: the warps of the lines beside it have its neighbours along y.
//
// Compiles with nvcc and with NVRTC, so it includes nothing of the standard library.

#include "stencil/cuda/change.cuh"
#include "stencil/cuda/resident_work.cuh"

namespace halocline::stencil::cuda {

/// A cell and its neighbours along x, along the last axis and, in 3-D, along y, for an update.
template <int axes, class Real>
struct Star {
  Real c, w, e, behind, beyond, front, back;
  Index place[axes];  ///< in the domain
  double t;

  template <int, int x, int y, int z>
  __device__ Real at() const {
    static_assert(x * x + y * y + z * z <= 1);
    constexpr int along = axes == 2 ? y : z, across = axes == 2 ? 0 : y;
    return x < 0        ? w
           : x > 0      ? e
           : along < 0  ? behind
           : along > 0  ? beyond
           : across < 0 ? front
           : across > 0 ? back
                        : c;
  }
  template <int axis>
  __device__ Index index() const {
    return place[axis];
  }
  __device__ double time() const { return t; }
};

/// The words of a value.
template <class Real>
struct WordsOf;
template <>
struct WordsOf<float> {
  using Type = device::cuda::EdgeWord;
};
template <>
struct WordsOf<double> {
  using Type = device::EdgeWords;
};

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

template <int axes, int rows, class Real>
class Resident {
 public:
  static constexpr int width = vector_cells<Real>;
  using Vector = typename VectorOf<Real>::Type;
  using EdgeWords = device::EdgeWords;
  using EdgeWord = device::cuda::EdgeWord;
  using SideWords = typename WordsOf<Real>::Type;

  __device__ Resident(const ResidentWork<Real>& work, int block, Vector* shared,
                      Places<Real>& places, bool& lost)
      : work_(work), shared_(shared), places_(places), lost_(lost) {
    const Tiling& tiles = work.tiles;
    const int warp = static_cast<int>(threadIdx.x) / warp_lanes;
    lane_ = static_cast<int>(threadIdx.x) % warp_lanes;
    x_ = warp % tiles.wide, line_ = warp / tiles.wide % tiles.deep;
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
    if constexpr (skips_waits)
      waits_ = south_from() != nullptr || north_from() != nullptr || has_block_left() ||
               has_block_right();
  }

  /// Whether the warp has any cells.
  __device__ bool works() const { return works_; }

  /// Loads the cells and the boundary values next to them, which never change.
  __device__ void load() {
    const Real* from = work_.level[0] + place(0);
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
    if constexpr (keeps_places) kept_ = places_;
    send_bottom(work_.epoch);
    send_top(work_.epoch);
#pragma unroll
    for (int r = 0; r < rows; ++r) send_line(work_.epoch, r);
    const bool is_side = lane_ == 0 || lane_ == last_lane_;
#pragma unroll
    for (int r = 0; r < rows; ++r)
      if (is_side)
        reinterpret_cast<Real*>(side_at(places().side_out, work_.epoch))[r] =
            lane_ == 0 ? cell_[r][0] : cell_[r][width - 1];
    send_sides(work_.epoch);
  }

  /// Shares the cells with the lines beside this one, in 3-D: after all warps of the block have
  /// done a sweep, and before any begins the next.
  __device__ void share_lines() const {
#pragma unroll
    for (int r = 0; r < rows; ++r) *row_at(places().own, r) = VectorOf<Real>::make(cell_[r]);
  }

  /// Waits for the edges that the sweep from `epoch` reads, all of them at once. In 3-D each warp
  /// also waits for rows of the lines in front of the block and behind it, whether it has cells or
  /// not, and all of them must have come before any warp of the block does the sweep: then the rule
  /// of device/edge_port.hpp holds for lines between blocks as it does for words between threads.
  __device__ void await_edges(unsigned epoch) {
    if constexpr (skips_waits) {
      if (!waits_) {
        VectorOf<Real>::split(*up(epoch), behind_);
        VectorOf<Real>::split(*(up(epoch) + places().row_vectors + places().down), beyond_);
        return;
      }
    }
    const int vectors = places().vectors, words = slot(epoch) * 2 * vectors + lane_;
    const bool has_cells = works_ && lane_ <= last_lane_;
    AwaitedRow south(has_cells ? places().south : nullptr, words, vectors, epoch),
        north(has_cells ? places().north : nullptr, words, vectors, epoch);
    Awaited<SideWords> side(
        works_ && has_side()
            ? own_side(places().side_from) + slot(epoch) * places().side_words_slot + row_of_side()
            : nullptr,
        epoch);
    AwaitedRow line[most_lines];
    for (int i = 0; i < awaited; ++i)
      line[i] = {lane_ <= places().line_last_lane[i] ? places().line_from[i] : nullptr, words,
                 vectors, epoch};
    device::cuda::Patience patience(work_.port.watch, inside);
    for (;;) {
      south.load(), north.load(), side.load();
      for (int i = 0; i < awaited; ++i) line[i].load();
      const unsigned of_south = south.missing(epoch), of_north = north.missing(epoch);
      unsigned missing = of_south | of_north | side.missing(epoch);
      for (int i = 0; i < awaited; ++i) missing |= line[i].missing(epoch);
      if (missing == 0) break;
      device::cuda::between_looks();
      const int message = of_south != 0   ? places().lower_message
                          : of_north != 0 ? places().upper_message
                                          : inside;
      if (patience.lasts(epoch, message)) continue;
      lost_ = true;
      break;
    }
    __syncwarp();
    for (int i = 0; i < awaited; ++i)
      if (places().line_from[i] != nullptr && lane_ <= places().line_last_lane[i]) {
        Real values[width];
        line[i].get(values);
        *at(places().line_to[i] + lane_) = VectorOf<Real>::make(values);
      }
    if (!works_) return;
    take(places().south, south, up(epoch), behind_);
    take(places().north, north, up(epoch) + places().row_vectors + places().down, beyond_);
    if (has_side()) take_side(side, epoch);
    __syncwarp();
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
    Real beside[width]{}, aside[width]{};
    // The halo beyond the last row goes to the row after it.
    if (rows_here_ < rows) put_row(rows_here_, beyond_);
    const Vector* const sides = side_at(places().side_in, epoch);
    Vector* const sides_to = side_at(places().side_out, epoch + 1);
    const bool first = lane_ == 0, last = lane_ == last_lane_;
    const bool ragged = is_ragged();
    const Index column = work_.origin[0] + Index{vector_} * width;
    const Index place_of_line = work_.origin[2] + line_of_all();
    const double time = static_cast<double>(work_.first_sweep + (epoch - work_.epoch)) * work_.dt;
    const auto update_row = [&](int r, const Real* behind, const Real* beyond, Real side,
                                Real* updated) {
      const Real before = __shfl_up_sync(~0u, cell_[r][width - 1], 1);
      const Real after = __shfl_down_sync(~0u, cell_[r][0], 1);
      const Real left = first ? side : before;
      const Real right = last ? side : after;
      Real front[width]{}, back[width]{};
      if constexpr (axes == 3) {
        VectorOf<Real>::split(*row_at(places().front, r), front);
        VectorOf<Real>::split(*row_at(places().back, r), back);
      }
#pragma unroll
      for (int i = 0; i < width; ++i) {
        Star<axes, Real> cell{cell_[r][i],
                              i > 0 ? cell_[r][i > 0 ? i - 1 : 0] : left,
                              i + 1 < width ? cell_[r][i + 1 < width ? i + 1 : i] : right,
                              behind[i],
                              beyond[i],
                              front[i],
                              back[i],
                              {},
                              time};
        cell.place[0] = column + i;
        cell.place[axes - 1] = work_.origin[1] + row_ + r;
        if constexpr (axes == 3) cell.place[1] = place_of_line;
        update(cell, &updated[i]);
      }
    };
    Real top[width]{};  // the last row
    if constexpr (top_is_first) {
      Real values[width];
      VectorOf<Real>::split(sides[(rows - 1) / width], values);
      update_row(rows - 1, cell_[rows - 2], beyond_, values[(rows - 1) % width], top);
    }
    const bool top_is_sent = top_is_first && rows_here_ == rows;
    if (sends && top_is_sent) send_top_row(epoch + 1, top);
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      if (r % width == 0) VectorOf<Real>::split(sides[r / width], beside);
      Real updated[width];
      if (r + 1 < rows || !top_is_first) {
        update_row(r, behind_, r + 1 < rows ? cell_[r + 1 < rows ? r + 1 : r] : beyond_,
                   beside[r % width], updated);
      } else {
        for (int i = 0; i < width; ++i) updated[i] = top[i];
      }
      if constexpr (kind != Norm::none) {
        // Cells outside add nothing; none inside reads them from here on, and put_fixed() restores
        // them. With a branch that adds the cells inside alone, 2048x2048 cells in f32 took 6.05 us
        // a sweep on an H200, and 5.17 with values that cancel.
        if (ragged)
          for (int i = 0; i < width; ++i)
            if ((inside_ >> i & 1) == 0) updated[i] = cell_[r][i] = 0;
        if (r < rows_here_)
          for (int i = 0; i < width; ++i) change.add(updated[i], cell_[r][i]);
      }
#pragma unroll
      for (int i = 0; i < width; ++i) {
        behind_[i] = cell_[r][i];
        cell_[r][i] = updated[i];
      }
      aside[r % width] = first ? updated[0] : updated[width - 1];
      if ((r % width == width - 1 || r == rows - 1) && (first || last))
        sides_to[r / width] = VectorOf<Real>::make(aside);
      if (r == 0 && sends) send_bottom(epoch + 1);
      if (sends) send_line(epoch + 1, r);
    }
    if (lane_ > last_lane_) change = {};
    if (ragged) put_fixed();
    if (!sends) return;
    if (!top_is_sent) send_top(epoch + 1);
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
  __device__ int line_of_all() const { return block_line_ * work_.tiles.deep + line_; }
  /// Of the block.
  __device__ int lines_here() const {
    const int left = work_.tiles.lines - block_line_ * work_.tiles.deep;
    return left < work_.tiles.deep ? left : work_.tiles.deep;
  }
  /// The offset of the tile's first cell in this lane.
  __device__ Index place(int level) const {
    return Index{row_} * work_.row_step[level] + Index{line_of_all()} * work_.line_step[level] +
           Index{vector_} * width;
  }

  static __device__ int slot(unsigned epoch) { return static_cast<int>(epoch % 2); }

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

  __device__ void put_row(int row, const Real* values) {
#pragma unroll
    for (int r = 1; r < rows; ++r)
      if (r == row)
        for (int i = 0; i < width; ++i) cell_[r][i] = values[i];
  }
  /// Whether the tile's rows end within a vector.
  __device__ bool is_ragged() const { return work_.ragged && last_x_of_all_; }
  /// Restores the boundary value in the last vector of such rows.
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

  // ---- the same by places

  __device__ const Places<Real>& places() const {
    if constexpr (keeps_places)
      return kept_;
    else
      return places_;
  }

  __device__ Vector* up(unsigned epoch) const {
    return at(places().up + slot(epoch) * places().row_slot + lane_);
  }
  __device__ Vector* row_at(int row, int r) const { return at(row + r * warp_lanes + lane_); }
  /// For the first lane the side to the left, for the others that to the right.
  __device__ Vector* side_at(const int (&sides)[2], unsigned epoch) const {
    return at((lane_ == 0 ? sides[0] : sides[1]) + slot(epoch) * places().side_slot);
  }

  /// A row of the tile at x and y in the block's line, from -1, in front of the block, on.
  __device__ Vector* shared_row(int x, int y, int line, int r) const {
    const int tile = y * work_.tiles.wide + x;
    return at(ResidentShared<Real>::template of<axes>(work_.tiles).lines +
              ((tile * (work_.tiles.deep + 2) + line + 1) * rows + r) * warp_lanes + lane_);
  }
  __device__ Vector* kept(int r) const {
    const int warp = static_cast<int>(threadIdx.x) / warp_lanes;
    return at(ResidentShared<Real>::template of<axes>(work_.tiles).kept +
              (warp * rows + r) * warp_lanes + lane_);
  }

  // ---- edges between blocks; null where there is no other block

  __device__ bool lowest_block() const { return block_y_ == 0; }
  __device__ bool highest_block() const { return block_y_ + 1 == work_.tiles.blocks_tall; }
  __device__ Index pairs_of_row() const {
    return device::edge_pairs_per_vector * Index{vectors_of_row()};
  }
  __device__ EdgeWords* line(EdgeWords* lines, int block_y) const {
    return lines + block_y * pairs_of_row() * work_.tiles.lines;
  }
  /// The edge of a row between blocks along y.
  __device__ EdgeWords* layer(EdgeWords* layers, int block_line, int row) const {
    return layers + (block_line * work_.cells[1] + row) * pairs_of_row();
  }
  __device__ bool has_block_in_front() const {
    return block_line_ > 0 || (work_.wraps_lines && work_.tiles.blocks_deep > 1);
  }
  __device__ bool has_block_behind() const {
    const int blocks = work_.tiles.blocks_deep;
    return block_line_ + 1 < blocks || (work_.wraps_lines && blocks > 1);
  }
  __device__ const EdgeWords* south_from() const {
    if (y_ > 0) return nullptr;
    return lowest_block() ? work_.port.lower.from : line(work_.from_below, block_y_);
  }
  __device__ const EdgeWords* north_from() const {
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
  /// The side of the tile's first row, in the first slot.
  __device__ SideWords* column(EdgeWord* columns, int block_x) const {
    const Index rows_of_all = work_.cells[1] * work_.tiles.lines;
    return reinterpret_cast<SideWords*>(columns) + Index{block_x} * 2 * rows_of_all +
           Index{line_of_all()} * work_.cells[1] + row_;
  }
  __device__ bool has_block_left() const {
    return x_ == 0 && (block_x_ > 0 || (work_.wraps && work_.tiles.blocks_wide > 1));
  }
  __device__ bool has_block_right() const {
    const int blocks = work_.tiles.blocks_wide;
    return last_x_ && (block_x_ + 1 < blocks || (work_.wraps && blocks > 1));
  }

  // ---- waits

  template <class Words>
  using Awaited = device::cuda::Awaited<Words>;

  /// Both halves of a vector of a row.
  class AwaitedRow {
   public:
    AwaitedRow() = default;
    __device__ AwaitedRow(const EdgeWords* edge, int words, int vectors, unsigned epoch)
        : low_(edge == nullptr ? edge : edge + words, epoch),
          high_(edge == nullptr ? edge : edge + words + vectors, epoch) {}
    __device__ void load() { low_.load(), high_.load(); }
    __device__ unsigned missing(unsigned epoch) const {
      return low_.missing(epoch) | high_.missing(epoch);
    }
    __device__ void get(Real* values) const {
      const unsigned bits[4] = {
          static_cast<unsigned>(low_.words().first), static_cast<unsigned>(low_.words().second),
          static_cast<unsigned>(high_.words().first), static_cast<unsigned>(high_.words().second)};
      from_bits(bits, values);
    }

   private:
    Awaited<EdgeWords> low_, high_;
  };

  /// The messages of waits for other ranks, at both ends of this rank's cells, and for other
  /// blocks.
  static constexpr int lower_side = 0, upper_side = 1, inside = -1;
  /// The row beside the tile: from another block, zero in lanes without cells; or from shared
  /// memory.
  __device__ void take(const EdgeWords* from, const AwaitedRow& row, const Vector* shared,
                       Real* values) const {
    if (from != nullptr)
      row.get(values);
    else
      VectorOf<Real>::split(*shared, values);
  }

  /// `to`: as places have it.
  __device__ void send_vector(EdgeWords* to, unsigned epoch, const Real* values) const {
    const int vectors = places().vectors;
    EdgeWords* const mine = to + slot(epoch) * 2 * vectors + lane_;
    unsigned bits[4];
    to_bits(values, bits);
    using device::cuda::word_of;
    if (lane_ > last_lane_) return;
    device::cuda::send(mine, {word_of(bits[0], epoch), word_of(bits[1], epoch)});
    device::cuda::send(mine + vectors, {word_of(bits[2], epoch), word_of(bits[3], epoch)});
  }
  /// Sends a row to the blocks in front of this one and behind it.
  __device__ void send_line(unsigned epoch, int r) const {
    if constexpr (axes == 3) {
      if (r >= rows_here_) return;
      const int row = r * static_cast<int>(device::edge_pairs_per_vector) * places().vectors;
      if (places().to_front != nullptr) send_vector(places().to_front + row, epoch, cell_[r]);
      if (places().to_back != nullptr) send_vector(places().to_back + row, epoch, cell_[r]);
    }
  }
  __device__ void send_bottom(unsigned epoch) const {
    if (places().to_south != nullptr) send_vector(places().to_south, epoch, cell_[0]);
    if (y_ > 0) *(up(epoch) + places().down) = VectorOf<Real>::make(cell_[0]);
  }
  __device__ void send_top(unsigned epoch) const {
    Real top[width]{};
#pragma unroll
    for (int r = 0; r < rows; ++r)
      if (r + 1 == rows_here_)
        for (int i = 0; i < width; ++i) top[i] = cell_[r][i];
    send_top_row(epoch, top);
  }
  __device__ void send_top_row(unsigned epoch, const Real* top) const {
    if (places().to_north != nullptr) send_vector(places().to_north, epoch, top);
    if (!last_y_) *(up(epoch) + places().row_vectors) = VectorOf<Real>::make(top);
  }

  /// Lanes exchange sides one row each: the first half of the warp on the left, the second on the
  /// right.
  static_assert(rows <= warp_lanes / 2);
  __device__ int row_of_side() const { return lane_ % (warp_lanes / 2); }
  __device__ bool is_right() const { return lane_ >= warp_lanes / 2; }
  /// Not by index, for which arrays would have to be in memory.
  template <class Side>
  __device__ Side own_side(const Side (&sides)[2]) const {
    return is_right() ? sides[1] : sides[0];
  }
  __device__ bool has_side() const {
    return row_of_side() < rows_here_ && own_side(places().side_from) != nullptr;
  }
  __device__ Real* side_value(const int (&sides)[2], unsigned epoch) const {
    return reinterpret_cast<Real*>(at(own_side(sides) + slot(epoch) * places().side_slot)) +
           row_of_side();
  }
  __device__ void take_side(const Awaited<SideWords>& side, unsigned epoch) const {
    unsigned bits[2];
    if constexpr (sizeof(Real) == 4) {
      bits[0] = static_cast<unsigned>(side.words());
    } else {
      bits[0] = static_cast<unsigned>(side.words().first);
      bits[1] = static_cast<unsigned>(side.words().second);
    }
    *side_value(places().side_in, epoch) = value_of(bits);
  }
  __device__ void send_sides(unsigned epoch) const {
    if (places().side_from[0] == nullptr && places().side_from[1] == nullptr) return;
    __syncwarp();
    if (!has_side()) return;
    SideWords* const to =
        own_side(places().side_to) + slot(epoch) * places().side_words_slot + row_of_side();
    unsigned bits[2];
    bits_of(*side_value(places().side_out, epoch), bits);
    if constexpr (sizeof(Real) == 4)
      device::cuda::send(to, device::cuda::word_of(bits[0], epoch));
    else
      device::cuda::send(
          to, {device::cuda::word_of(bits[0], epoch), device::cuda::word_of(bits[1], epoch)});
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
    if constexpr (axes == 3) {
      const Index line_step = work_.line_step[0];
      for (int r = 0; r < rows_here_ && lane_ <= last_lane_; ++r) {
        const Real* const row = first + r * step;
        if (line_ == 0 && !has_block_in_front())
          *shared_row(x_, y_, -1, r) =
              work_.has_halo[2][0] ? *reinterpret_cast<const Vector*>(row - line_step) : none;
        if (line_ + 1 == lines_here() && !has_block_behind())
          *shared_row(x_, y_, line_ + 1, r) =
              work_.has_halo[2][1] ? *reinterpret_cast<const Vector*>(row + line_step) : none;
      }
    }
    for (unsigned slot = 0; slot < 2; ++slot) {
      if (lane_ <= last_lane_) {
        if (y_ == 0 && south_from() == nullptr)
          *row_up(slot, 0) =
              work_.has_halo[1][0] ? *reinterpret_cast<const Vector*>(first - step) : none;
        if (last_y_ && north_from() == nullptr)
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
    Real* const to = work_.level[level] + place(level) + r * work_.row_step[level];
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
  const Places<Real>& places_;
  /// Read again in each sweep where registers are needed for cells: laplace on an H100 takes 1.85
  /// us for 1024x1024 cells in f32 with a copy in registers and 2.34 without, and 3.37 instead
  /// of 4.41 for 2048x2048 without.
  static constexpr bool keeps_places = axes == 2 && rows <= 8;
  Places<Real> kept_{};
  bool& lost_;
  int lane_, last_lane_ = 0;
  int x_, line_, y_, block_x_, block_line_, block_y_;  // of the tile in its block; of the block
  int vector_ = 0, row_ = 0, rows_here_ = 0;
  bool works_, last_x_ = false, last_y_ = false;  // of its block
  bool last_x_of_all_ = false;
  /// Warps in the middle of a block have nothing to wait for. Where tiles are so low, to go through
  /// the waits was a third of their instructions: 1.15 us for 256x256 cells in f32 on an H100, and
  /// 1.30 without. Where more registers hold cells, the test costs as much as it saves.
  static constexpr bool skips_waits = axes == 2 && rows == 2;
  bool waits_ = false;  // for edges from other blocks or ranks
  unsigned inside_ = 0;
  /// The tile's last row is updated and sent before the others: neighbours wait for it. 1.95 us
  /// instead of 2.05 for 2048x1024 cells in f32 on an H100, in tiles of 8 rows. Those of 4 and 2
  /// are done soon: none and 6 % more. With 16 more values spill: 5.7 us instead of 4.9 for
  /// 2048x2048 with the norm each sweep.
  static constexpr bool top_is_first = rows == 8;
  Real cell_[rows][width];
  Real behind_[width], beyond_[width];  // the rows before and after
  static constexpr int awaited = axes == 3 ? lines_of_warp : 0,
                       most_lines = awaited > 0 ? awaited : 1;
};

}  // namespace halocline::stencil::cuda

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The cells that a warp keeps in registers between sweeps: how it sweeps over its tile, and gets
// and sends edges: to warps of the same block through shared memory, to other blocks and GPUs as
// words.
//
// Compiled by NVRTC, so it includes nothing of the standard library.

#include "stencil/cuda/change.cuh"
#include "stencil/cuda/persistent/edge_values.cuh"
#include "stencil/cuda/persistent/warp_tile.cuh"

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

template <int axes, int rows, class Real>
class Resident {
 public:
  static constexpr int width = vector_cells<Real>;
  using Vector = typename VectorOf<Real>::Type;
  using EdgeWords = device::EdgeWords;
  using SideWords = typename WordsOf<Real>::Type;

  __device__ Resident(const ResidentWork<Real>& work, int block, Vector* shared,
                      Places<Real>& places, bool& lost)
      : work_(work), tile_(work, block, shared, places), places_(places), lost_(lost) {
    if (skips_waits && works())
      waits_ = tile_.south_from() != nullptr || tile_.north_from() != nullptr ||
               tile_.has_block_left() || tile_.has_block_right();
  }

  /// Whether the warp has any cells.
  __device__ bool works() const { return tile_.works(); }

  /// Loads the cells and the boundary values next to them, which never change.
  __device__ void load() {
    const Real* from = work_.level[0] + tile_.place(0);
#pragma unroll
    for (int r = 0; r < rows; ++r)
      for (int i = 0; i < width; ++i) cell_[r][i] = 0;
    if (tile_.lane() <= tile_.last_lane())
#pragma unroll
      for (int r = 0; r < rows; ++r)
        if (r < tile_.rows_here())
          VectorOf<Real>::split(*reinterpret_cast<const Vector*>(from + r * work_.row_step[0]),
                                cell_[r]);
    fill_fixed(from);
  }

  /// Sends the edges that the sweep from `epoch` waits for, where no sweep has sent them.
  __device__ void send_first(unsigned epoch) {
    if constexpr (keeps_places) kept_ = places_;
    send_bottom(epoch);
    send_top(epoch);
#pragma unroll
    for (int r = 0; r < rows; ++r)
      if (r < tile_.rows_here()) send_line(epoch, r);
    const bool is_side = tile_.lane() == 0 || tile_.lane() == tile_.last_lane();
#pragma unroll
    for (int r = 0; r < rows; ++r)
      if (is_side)
        reinterpret_cast<Real*>(side_at(places().side_out, epoch))[r] =
            tile_.lane() == 0 ? cell_[r][0] : cell_[r][width - 1];
    send_sides(epoch);
  }

  /// Shares the cells with the neighbouring lines, in 3-D: after all warps of the block have
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
    const int vectors = places().vectors, words = Tile::slot(epoch) * 2 * vectors + tile_.lane();
    const bool has_cells = tile_.works() && tile_.lane() <= tile_.last_lane();
    AwaitedRow<Real> south(has_cells ? places().south : nullptr, words, vectors, epoch),
        north(has_cells ? places().north : nullptr, words, vectors, epoch);
    Awaited<SideWords> side(tile_.works() && has_side()
                                ? own_side(places().side_from) +
                                      Tile::slot(epoch) * places().side_words_slot + row_of_side()
                                : nullptr,
                            epoch);
    AwaitedRow<Real> line[Tile::awaited > 0 ? Tile::awaited : 1];
    for (int i = 0; i < Tile::awaited; ++i)
      line[i] = {tile_.lane() <= places().line_last_lane[i] ? places().line_from[i] : nullptr,
                 words, vectors, epoch};
    device::cuda::Patience patience(work_.port.watch, Tile::inside);
    for (;;) {
      south.load(), north.load(), side.load();
      for (int i = 0; i < Tile::awaited; ++i) line[i].load();
      const unsigned of_south = south.missing(epoch), of_north = north.missing(epoch);
      unsigned missing = of_south | of_north | side.missing(epoch);
      for (int i = 0; i < Tile::awaited; ++i) missing |= line[i].missing(epoch);
      if (missing == 0) break;
      device::cuda::between_looks();
      const int message = of_south != 0   ? places().lower_message
                          : of_north != 0 ? places().upper_message
                                          : Tile::inside;
      if (patience.lasts(epoch, message)) continue;
      lost_ = true;
      break;
    }
    __syncwarp();
    for (int i = 0; i < Tile::awaited; ++i)
      if (places().line_from[i] != nullptr && tile_.lane() <= places().line_last_lane[i]) {
        Real values[width];
        line[i].get(values);
        *tile_.at(places().line_to[i] + tile_.lane()) = VectorOf<Real>::make(values);
      }
    if (!tile_.works()) return;
    take(places().south, south, up(epoch), behind_);
    take(places().north, north, up(epoch) + places().row_vectors + places().down, beyond_);
    if (has_side()) take_side(side, epoch);
    __syncwarp();
  }

  /// Does sweep `number` of the launch, from `epoch` to the next. `sends`: a neighbour will wait
  /// for the edges.
  template <Norm kind, class Update>
  __device__ __forceinline__ void sweep(const Update& update, int number, unsigned epoch,
                                        bool sends, Change<kind, Real>& change) {
    if (knows_whole && tile_.rows_here() == rows && !tile_.is_ragged())
      sweep_over<true>(update, number, epoch, sends, change);
    else
      sweep_any(update, number, epoch, sends, change);
  }
  /// The same without code of its own for tiles that have all their cells.
  template <Norm kind, class Update>
  __device__ __forceinline__ void sweep_any(const Update& update, int number, unsigned epoch,
                                            bool sends, Change<kind, Real>& change) {
    sweep_over<false>(update, number, epoch, sends, change);
  }

  /// Stores the cells into the level that the pass writes.
  __device__ void store() const {
#pragma unroll
    for (int r = 0; r < rows; ++r)
      if (r < tile_.rows_here()) store_row(r, cell_[r]);
  }

 private:
  using Tile = WarpTile<axes, rows, Real>;

  /// `whole`: all rows and columns of the tile hold cells of the rank. Those that do not are
  /// computed with the others, without branches, and corrected where they are read.
  template <bool whole, Norm kind, class Update>
  __device__ __forceinline__ void sweep_over(const Update& update, int number, unsigned epoch,
                                             bool sends, Change<kind, Real>& change) {
    Real beside[width]{}, aside[width]{};
    // The halo beyond the last row goes to the row after it.
    if (!whole && tile_.rows_here() < rows) put_row(tile_.rows_here(), beyond_);
    const Vector* const sides = side_at(places().side_in, epoch);
    Vector* const sides_to = side_at(places().side_out, epoch + 1);
    const bool first = tile_.lane() == 0, last = tile_.lane() == tile_.last_lane();
    const bool ragged = !whole && tile_.is_ragged();
    const int rows_here = whole ? rows : tile_.rows_here();
    const Index column = work_.origin[0] + Index{tile_.vector()} * width;
    const Index place_of_line = work_.origin[2] + tile_.line_of_all();
    const double time = static_cast<double>(work_.first_sweep + number) * work_.dt;
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
        cell.place[axes - 1] = work_.origin[1] + tile_.row() + r;
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
    const bool top_is_sent = top_is_first && rows_here == rows;
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
            if ((tile_.cells_inside() >> i & 1) == 0) updated[i] = cell_[r][i] = 0;
        if (r < rows_here)
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
      if (sends && r < rows_here) send_line(epoch + 1, r);
    }
    if (tile_.lane() > tile_.last_lane()) change = {};
    if (ragged) put_fixed();
    if (!sends) return;
    if constexpr (whole) {
      if (!top_is_first) send_top_row(epoch + 1, cell_[rows - 1]);
    } else {
      if (!top_is_sent) send_top(epoch + 1);
    }
    send_sides(epoch + 1);
  }

  __device__ void put_row(int row, const Real* values) {
#pragma unroll
    for (int r = 1; r < rows; ++r)
      if (r == row)
        for (int i = 0; i < width; ++i) cell_[r][i] = values[i];
  }
  /// Restores the boundary value in the last vector of such rows.
  __device__ void put_fixed() {
    const Real* const fixed = reinterpret_cast<const Real*>(tile_.column_left(0, tile_.x() + 1));
#pragma unroll
    for (int r = 0; r < rows; ++r)
      for (int i = 0; i < width; ++i)
        if (tile_.lane() == tile_.last_lane() && (tile_.cells_inside() >> i & 1) == 0)
          cell_[r][i] = fixed[r];
  }

  // ---- shared memory, by places

  __device__ const Places<Real>& places() const {
    if constexpr (keeps_places)
      return kept_;
    else
      return places_;
  }

  __device__ Vector* up(unsigned epoch) const {
    return tile_.at(places().up + Tile::slot(epoch) * places().row_slot + tile_.lane());
  }
  __device__ Vector* row_at(int row, int r) const {
    return tile_.at(row + r * warp_lanes + tile_.lane());
  }
  /// For the first lane the side to the left, for the others that to the right.
  __device__ Vector* side_at(const int (&sides)[2], unsigned epoch) const {
    return tile_.at((tile_.lane() == 0 ? sides[0] : sides[1]) +
                    Tile::slot(epoch) * places().side_slot);
  }

  // ---- waits

  template <class Words>
  using Awaited = device::cuda::Awaited<Words>;

  /// The row next to the tile: from another block, zero in lanes without cells; or from shared
  /// memory.
  __device__ void take(const EdgeWords* from, const AwaitedRow<Real>& row, const Vector* shared,
                       Real* values) const {
    if (from != nullptr)
      row.get(values);
    else
      VectorOf<Real>::split(*shared, values);
  }

  /// `to`: as places have it.
  __device__ void send_vector(EdgeWords* to, unsigned epoch, const Real* values) const {
    const int vectors = places().vectors;
    EdgeWords* const mine = to + Tile::slot(epoch) * 2 * vectors + tile_.lane();
    unsigned bits[4];
    to_bits(values, bits);
    using device::cuda::word_of;
    if (tile_.lane() > tile_.last_lane()) return;
    device::cuda::send(mine, {word_of(bits[0], epoch), word_of(bits[1], epoch)});
    device::cuda::send(mine + vectors, {word_of(bits[2], epoch), word_of(bits[3], epoch)});
  }
  /// Sends a row to the blocks in front of this one and behind it.
  __device__ void send_line(unsigned epoch, int r) const {
    if constexpr (axes == 3) {
      const int row = r * static_cast<int>(device::edge_pairs_per_vector) * places().vectors;
      if (places().to_front != nullptr) send_vector(places().to_front + row, epoch, cell_[r]);
      if (places().to_back != nullptr) send_vector(places().to_back + row, epoch, cell_[r]);
    }
  }
  __device__ void send_bottom(unsigned epoch) const {
    if (places().to_south != nullptr) send_vector(places().to_south, epoch, cell_[0]);
    if (tile_.y() > 0) *(up(epoch) + places().down) = VectorOf<Real>::make(cell_[0]);
  }
  __device__ void send_top(unsigned epoch) const {
    Real top[width]{};
#pragma unroll
    for (int r = 0; r < rows; ++r)
      if (r + 1 == tile_.rows_here())
        for (int i = 0; i < width; ++i) top[i] = cell_[r][i];
    send_top_row(epoch, top);
  }
  __device__ void send_top_row(unsigned epoch, const Real* top) const {
    if (places().to_north != nullptr) send_vector(places().to_north, epoch, top);
    if (!tile_.last_y()) *(up(epoch) + places().row_vectors) = VectorOf<Real>::make(top);
  }

  /// Lanes exchange sides one row each: the first half of the warp on the left, the second on the
  /// right.
  static_assert(rows <= warp_lanes / 2);
  __device__ int row_of_side() const { return tile_.lane() % (warp_lanes / 2); }
  __device__ bool is_right() const { return tile_.lane() >= warp_lanes / 2; }
  /// Not by index, for which arrays would have to be in memory.
  template <class Side>
  __device__ Side own_side(const Side (&sides)[2]) const {
    return is_right() ? sides[1] : sides[0];
  }
  __device__ bool has_side() const {
    return row_of_side() < tile_.rows_here() && own_side(places().side_from) != nullptr;
  }
  __device__ Real* side_value(const int (&sides)[2], unsigned epoch) const {
    return reinterpret_cast<Real*>(
               tile_.at(own_side(sides) + Tile::slot(epoch) * places().side_slot)) +
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
    *side_value(places().side_in, epoch) = value_of<Real>(bits);
  }
  __device__ void send_sides(unsigned epoch) const {
    if (places().side_from[0] == nullptr && places().side_from[1] == nullptr) return;
    __syncwarp();
    if (!has_side()) return;
    SideWords* const to =
        own_side(places().side_to) + Tile::slot(epoch) * places().side_words_slot + row_of_side();
    unsigned bits[2];
    bits_of(*side_value(places().side_out, epoch), bits);
    if constexpr (sizeof(Real) == 4)
      device::cuda::send(to, device::cuda::word_of(bits[0], epoch));
    else
      device::cuda::send(
          to, {device::cuda::word_of(bits[0], epoch), device::cuda::word_of(bits[1], epoch)});
  }

  /// Counts the rank's cells in the vector of this lane, the tile's last.
  __device__ int cells_of_last_vector() const { return __popc(tile_.cells_inside()); }
  /// Puts the boundary values next to the rank's cells, which never change, into both epochs'
  /// edges. What the formula does not read is zero.
  __device__ void fill_fixed(const Real* first) const {
    const Index step = work_.row_step[0];
    const Real zeros[width]{};
    const Vector none = VectorOf<Real>::make(zeros);
    if constexpr (axes == 3) {
      const Index line_step = work_.line_step[0];
      for (int r = 0; r < tile_.rows_here() && tile_.lane() <= tile_.last_lane(); ++r) {
        const Real* const row = first + r * step;
        if (tile_.line() == 0 && !tile_.has_block_in_front())
          *tile_.shared_row(tile_.x(), tile_.y(), -1, r) =
              work_.has_halo[2][0] ? *reinterpret_cast<const Vector*>(row - line_step) : none;
        if (tile_.line() + 1 == tile_.lines_here() && !tile_.has_block_behind())
          *tile_.shared_row(tile_.x(), tile_.y(), tile_.line() + 1, r) =
              work_.has_halo[2][1] ? *reinterpret_cast<const Vector*>(row + line_step) : none;
      }
    }
    for (unsigned slot = 0; slot < 2; ++slot) {
      if (tile_.lane() <= tile_.last_lane()) {
        if (tile_.y() == 0 && tile_.south_from() == nullptr)
          *tile_.row_up(slot, 0) =
              work_.has_halo[1][0] ? *reinterpret_cast<const Vector*>(first - step) : none;
        if (tile_.last_y() && tile_.north_from() == nullptr)
          *tile_.row_down(slot, tile_.y() + 1) =
              work_.has_halo[1][1]
                  ? *reinterpret_cast<const Vector*>(first + Index{tile_.rows_here()} * step)
                  : none;
      }
      const bool left = tile_.lane() == 0 && tile_.x() == 0 && !tile_.has_block_left();
      const bool right =
          tile_.lane() == tile_.last_lane() && tile_.last_x() && !tile_.has_block_right();
      if (left || right)
        for (int r = 0; r < tile_.rows_here(); ++r)
          reinterpret_cast<Real*>(left ? tile_.column_right(slot, tile_.x())
                                       : tile_.column_left(slot, tile_.x() + 1))[r] =
              work_.has_halo[0][left ? 0 : 1]
                  ? first[r * step + (left ? -1 : cells_of_last_vector())]
                  : Real(0);
    }
  }

  __device__ void store_row(int r, const Real* values) const {
    Real* const to = work_.level[1] + tile_.place(1) + r * work_.row_step[1];
    if (tile_.cells_inside() == Lane<Real>::all) {
      *reinterpret_cast<Vector*>(to) = VectorOf<Real>::make(values);
    } else {
      for (int i = 0; i < width; ++i)
        if ((tile_.cells_inside() >> i & 1) != 0) to[i] = values[i];
    }
  }

  const ResidentWork<Real>& work_;
  WarpTile<axes, rows, Real> tile_;
  const Places<Real>& places_;
  /// Read again in each sweep where registers are needed for cells: laplace on an H100 takes 1.85
  /// us for 1024x1024 cells in f32 with a copy in registers and 2.34 without, and 3.37 instead
  /// of 4.41 for 2048x2048 without.
  static constexpr bool keeps_places = axes == 2 && rows <= 8;
  Places<Real> kept_{};
  bool& lost_;
  /// Warps in the middle of a block have nothing to wait for. Where tiles are so low, to go through
  /// the waits was a third of their instructions: 1.15 us for 256x256 cells in f32 on an H100, and
  /// 1.30 without. Where more registers hold cells, the test costs as much as it saves.
  static constexpr bool skips_waits = axes == 2 && rows == 2;
  bool waits_ = false;  // for edges from other blocks or ranks
  /// Tiles that have all their cells are swept by code of their own, without tests in each
  /// row: 2.79 us instead of 2.97 for 1400x1400 cells in f32 on an H100, norm each sweep. Where
  /// tiles have 16 rows, more values spill: 5.39 us instead of 4.59 for 2048x2048.
  static constexpr bool knows_whole = rows <= 8;
  /// The tile's last row is updated and sent before the others: neighbours wait for it. 1.95 us
  /// instead of 2.05 for 2048x1024 cells in f32 on an H100, in tiles of 8 rows. Those of 4 and 2
  /// are done soon: none and 6 % more. With 16 more values spill: 5.7 us instead of 4.9 for
  /// 2048x2048 with the norm each sweep.
  static constexpr bool top_is_first = rows == 8;
  Real cell_[rows][width];
  Real behind_[width], beyond_[width];  // the rows before and after
};

}  // namespace halocline::stencil::cuda

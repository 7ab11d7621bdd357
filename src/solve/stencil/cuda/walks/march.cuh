// SPDX-License-Identifier: Apache-2.0
#pragma once
// The fast sweep on a GPU. A warp updates a strip of 32 vectors of 16 bytes and walks along the
// last axis, so that it loads every cell once: the cells behind, here and ahead stay in registers,
// those to the left and right come from the neighbouring lanes. In 3-D a lane walks with a few rows
// at once, so that the rows above and below are mostly its own. A warp loads several layers before
// it uses the first: to reach the speed of its memory, a GPU needs about 30 KiB of loads in flight
// per multiprocessor.
//
// Compiled by NVRTC, so it includes nothing of the standard library.

#include "device/cuda/early.cuh"
#include "stencil/cuda/change.cuh"
#include "stencil/cuda/reduce.cuh"
#include "stencil/cuda/walks/faces.cuh"
#include "stencil/cuda/walks/lane.cuh"
#include "stencil/cuda/walks/tiles.cuh"

namespace halocline::stencil::cuda {

/// The shape of a walk. `ahead`: layers loaded before the first is used; `rows`: rows per lane in
/// 3-D; `blocks`: blocks that must fit on a multiprocessor, which limits registers; `layers`: the
/// length of a walk, unless the region or its planes are small; `fetched`: the number of layers
/// before its use at which a layer is brought into the second-level cache (0: it is not).
template <int ahead_, int rows_, int blocks_, int layers_ = 2 * ahead_, int fetched_ = 0>
struct Shape {
  static constexpr int ahead = ahead_, rows = rows_, blocks = blocks_, layers = layers_,
                       fetched = fetched_;
};

/// The shape of walks at the ends, which keep more in registers: with as many layers ahead as
/// others, all warps would get as many registers, and only half of the warps would fit.
template <class Inner>
using AtFace = Shape<(Inner::ahead > 4 ? 4 : Inner::ahead), Inner::rows, Inner::blocks>;

/// A number as a type.
template <int value_>
struct Number {
  static constexpr int value = value_;
};

/// Calls `call` with Number<0>, Number<1>, ...
template <int count, int first = 0, class Call>
__device__ __forceinline__ void for_each_number(const Call& call) {
  if constexpr (first < count) {
    call(Number<first>());
    for_each_number<count, first + 1>(call);
  }
}

/// The values that walks carry from a layer to the next: none, in general.
template <class Update>
struct CarriedBy {
  static constexpr bool any = false;
  static constexpr int values = 0, steps_before = 0;
  static __host__ __device__ constexpr Reads reads(int input) { return Update::reads(input); }
};
/// `carried` values of each cell, all known after `steps_before` steps: step() computes what
/// operator() does from them and from the reads of reads_of_step(), and replaces them by those for
/// the next step.
template <class Update>
requires(Update::carried > 0) struct CarriedBy<Update> {
  static constexpr bool any = true;
  static constexpr int values = Update::carried, steps_before = Update::steps_before;
  static __host__ __device__ constexpr Reads reads(int input) {
    return Update::reads_of_step(input);
  }
};

/// The cells of an input that a walk over `axes` axes reads for a step: layers along the last axis,
/// rows along y in 3-D, columns along x.
template <class Update, int input, int axes>
struct ReadsOf {
  static constexpr Reads all = CarriedBy<Update>::reads(input);
  static constexpr int farthest_behind = Update::reads(input).lower[axes - 1];
  static constexpr int left = all.lower[0], right = all.upper[0];
  static constexpr int behind = all.lower[axes - 1], beyond = all.upper[axes - 1];
  static constexpr int south = axes == 3 ? all.lower[1] : 0, north = axes == 3 ? all.upper[1] : 0;
  /// Whether rows to the south and north are read of every layer, so that they are kept with it.
  static constexpr bool keeps_rows = axes == 3 && all.across;
};

/// The walk of a warp: a strip of `rows` rows over some layers. `whole`: all cells of the strip and
/// all rows are in the region.
template <bool whole, class Shape, Norm kind, int axes, class Work, class Real, class Update>
class Walk {
 public:
  static constexpr int rows = Shape::rows, ahead = Shape::ahead;
  static constexpr int width = vector_cells<Real>;

  __device__ Walk(const Work& work, const Update& update, const Lane<Real>& lane, Index first_row,
                  Index first_layer, int layers)
      : work_(work),
        update_(update),
        lane_(lane),
        first_row_(static_cast<int>(first_row)),
        first_layer_(static_cast<int>(first_layer)),
        layers_(layers),
        rows_here_(static_cast<int>(smaller(rows, axes == 2 ? 1 : work.cells[1] - first_row))) {
    const auto first = [&](const Index* step) {
      return lane.column + first_layer * step[axes - 1] + (axes == 2 ? 0 : first_row * step[1]);
    };
    for (int i = 0; i < Update::inputs; ++i) in_[i] = work.in[i].cell + first(work.in[i].step);
    for (int o = 0; o < Update::outputs; ++o) out_[o] = work.out[o].cell + first(work.out[o].step);
    // 32-bit numbers, counted from the walk's first layer and row.
    const Range& owned = work.owned;
    counted_from_ = within_walk(owned.lower[axes - 1] - first_layer);
    counted_to_ = within_walk(owned.upper[axes - 1] - first_layer);
    for (int row = 0; row < rows; ++row) {
      const Index y = first_row + row;
      if (axes == 2 || (y >= owned.lower[1] && y < owned.upper[1])) counted_rows_ |= 1u << row;
    }
  }

  __device__ void run(Change<kind, Real>& change) {
    AllWindows windows;
    // All set to zero: what is not takes more registers, 152 instead of 108 for a box of 27 cells.
    CarriedValues carried{};
    begin(windows, carried, change);
    int at = 0;
    for (; at + ahead <= layers_; at += ahead) {
      each_input([&](auto input) {
        using Read = ReadsOf<Update, input.value, axes>;
#pragma unroll
        for (int j = 0; j < ahead; ++j)
          load(input, windows.of(input).layer[Read::behind + Read::beyond + j], Read::beyond + j,
               j >= ahead - Read::beyond, at);
        fetch(input, at);
      });
      for_each_number<ahead>(
          [&](auto j) { update<true, j.value>(at + j.value, windows, carried, change); });
      advance<ahead>(windows);
    }
    for (; at < layers_; ++at) {
      each_input([&](auto input) {
        using Read = ReadsOf<Update, input.value, axes>;
        load(input, windows.of(input).layer[Read::behind + Read::beyond], Read::beyond,
             Read::beyond > 0, at);
      });
      update<true, 0>(at, windows, carried, change);
      advance<1>(windows);
    }
  }

 private:
  using CarriedHere = CarriedBy<Update>;
  /// Of the walk's rows and of this lane's columns.
  struct CarriedValues {
    Real of[rows][width][CarriedHere::any ? CarriedHere::values : 1];
  };

  /// The layers of an input that the next updates read, the oldest first.
  template <int input>
  struct Window {
    using Read = ReadsOf<Update, input, axes>;
    using Part = RowPart<Real, Read::left, Read::right>;
    static constexpr int first_row = Read::keeps_rows ? -Read::south : 0;
    static constexpr int end_row = rows + (Read::keeps_rows ? Read::north : 0);

    static constexpr int rows_of_layer = end_row - first_row;

    struct Layer {
      Part row[rows_of_layer];
    };
    Layer layer[Read::behind + Read::beyond + ahead];
    /// Rows around those of the layer that is updated, unless all layers have them.
    Part south[Read::south > 0 ? Read::south : 1], north[Read::north > 0 ? Read::north : 1];
  };
  /// Those of the inputs before number `count`.
  template <int count, class = void>
  struct Windows : Windows<count - 1> {
    using Windows<count - 1>::of;
    __device__ Window<count - 1>& of(Number<count - 1>) { return window; }
    __device__ const Window<count - 1>& of(Number<count - 1>) const { return window; }
    Window<count - 1> window;
  };
  template <class Any>
  struct Windows<0, Any> {
    __device__ void of(Number<-1>) const {}
  };
  using AllWindows = Windows<Update::inputs>;

  template <class Call>
  static __device__ __forceinline__ void each_input(const Call& call) {
    for_each_number<Update::inputs>(call);
  }
  static __device__ Index smaller(Index a, Index b) { return a < b ? a : b; }
  __device__ int within_walk(Index layer) const {
    return static_cast<int>(smaller(layer < 0 ? 0 : layer, layers_));
  }

  /// Returns where the neighbour `by` layers or rows from one of the domain's is to be read: around
  /// an axis that the region wraps around.
  __device__ int around(int from, int by, int axis) const {
    const int to = from + by, cells = static_cast<int>(work_.around[axis]);
    return to < 0 ? by + cells : to >= static_cast<int>(work_.cells[axis]) ? by - cells : by;
  }

  /// Loads row `row` of the walk's, of the layer `layer` layers from the next to be updated. The
  /// rows after the region's last are its neighbours.
  template <int input, class Part>
  __device__ __forceinline__ void load_row(Part& part, int row, Index layer) const {
    using Read = ReadsOf<Update, input, axes>;
    const Index* const step = work_.in[input].step;
    if (whole || row < rows_here_ + Read::north) {
      const Real* place = in_[input] + layer * step[axes - 1];
      if constexpr (axes == 3) {
        const bool is_inside = row >= 0 && (row == 0 || (whole && row < rows));
        place += (is_inside ? row : around(first_row_, row, 1)) * step[1];
      }
      part.template load<whole>(place, lane_);
    } else {
      part = {};
    }
  }

  /// Loads a layer of the window. `may_be_outside`: it may lie beyond an end of the domain. `at`:
  /// the layer to be updated next.
  template <int input>
  __device__ __forceinline__ void load(Number<input>, typename Window<input>::Layer& layer,
                                       int from_here, bool may_be_outside, int at) const {
    using Kept = Window<input>;
    const int to = may_be_outside ? around(first_layer_ + at, from_here, axes - 1) : from_here;
#pragma unroll
    for (int row = Kept::first_row; row < Kept::end_row; ++row)
      load_row<input>(layer.row[row - Kept::first_row], row, to);
  }

  /// Brings as many layers as a group has into the second-level cache.
  template <int input>
  __device__ __forceinline__ void fetch(Number<input>, int at) const {
    if constexpr (Shape::fetched > 0) {
      using Read = ReadsOf<Update, input, axes>;
      constexpr int line = 128 / static_cast<int>(sizeof(Real)) / width;  // in lanes
      if (lane_.number % line != 0) return;
#pragma unroll
      for (int j = 0; j < ahead; ++j) {
        const int layer = Read::beyond + j + Shape::fetched;
        if (at + layer >= layers_ + Read::beyond) break;
#pragma unroll
        for (int row = 0; row < rows; ++row)
          if (whole || row < rows_here_)
            fetch_line(in_[input] + layer * work_.in[input].step[axes - 1] +
                       (axes == 2 ? 0 : row * work_.in[input].step[1]));
      }
    }
  }

  /// Loads what the first layer needs, and takes the steps before it. What they would read from
  /// layers that no formula reads, nobody needs.
  __device__ __forceinline__ void begin(AllWindows& windows, CarriedValues& carried,
                                        Change<kind, Real>& change) {
    constexpr int before = CarriedHere::steps_before;
    for (int i = 0; i < Update::inputs; ++i) in_[i] -= before * work_.in[i].step[axes - 1];
    each_input([&](auto input) {
      using Read = ReadsOf<Update, input.value, axes>;
#pragma unroll
      for (int l = 0; l < Read::behind + Read::beyond; ++l)
        load_if(l - Read::behind - before >= -Read::farthest_behind, input,
                windows.of(input).layer[l], l - Read::behind, -before);
    });
#pragma unroll 1
    for (int at = -before; at < 0; ++at) {
      each_input([&](auto input) {
        using Read = ReadsOf<Update, input.value, axes>;
        load_if(at + Read::beyond >= -Read::farthest_behind, input,
                windows.of(input).layer[Read::behind + Read::beyond], Read::beyond, at);
      });
      update<false, 0>(at, windows, carried, change);
      advance<1>(windows);
    }
  }

  template <int input>
  __device__ __forceinline__ void load_if(bool is_read, Number<input> number,
                                          typename Window<input>::Layer& layer, int from_here,
                                          int at) const {
    if (is_read) load(number, layer, from_here, true, at);
  }

  template <int layers>
  __device__ __forceinline__ void advance(AllWindows& windows) const {
    each_input([&](auto input) {
      using Read = ReadsOf<Update, input.value, axes>;
      auto& layer = windows.of(input).layer;
#pragma unroll
      for (int l = 0; l < Read::behind + Read::beyond; ++l)
      // Row by row: compilers copy more than 128 bytes at once in a loop, through memory.
#pragma unroll
        for (int row = 0; row < Window<input.value>::rows_of_layer; ++row)
          layer[l].row[row] = layer[l + layers].row[row];
    });
  }

  /// A cell and its neighbours, for an update: of a layer of the windows, of the walk's rows and of
  /// this lane's columns. Numbers that are known when this is compiled: loops over cells are not
  /// always unrolled, and then what they index lies in memory.
  template <int first_layer, int row, int column>
  struct CellInWindow {
    const Walk& walk;
    const AllWindows& windows;
    int layer;  ///< of the walk

    template <int input, int x, int y, int z>
    __device__ __forceinline__ Real at() const {
      using Read = ReadsOf<Update, input, axes>;
      constexpr int along = axes == 2 ? y : z, across = axes == 2 ? 0 : y;
      static_assert(Read::keeps_rows || along == 0 || across == 0);
      const auto& window = windows.of(Number<input>());
      const auto& here = window.layer[first_layer + Read::behind + along];
      constexpr int number = row + across;
      if constexpr (Read::keeps_rows)
        return here.row[number + Read::south].template value<column + x>(walk.lane_);
      else if constexpr (number < 0)
        return window.south[-1 - number].template value<column + x>(walk.lane_);
      else if constexpr (number >= rows)
        return window.north[number - rows].template value<column + x>(walk.lane_);
      else
        return here.row[number].template value<column + x>(walk.lane_);
    }
    /// Its index in the domain.
    template <int axis>
    __device__ Index index() const {
      return walk.work_.origin[axis] + (axis == 0 ? walk.lane_.column - walk.work_.lead + column
                                        : axis == axes - 1 ? walk.first_layer_ + layer
                                                           : walk.first_row_ + row);
    }
    __device__ double time() const { return time_by(walk.work_.clock, walk.work_.time); }
  };

  /// Updates the next layer and advances to the one after it, whose windows begin at `first_layer`.
  /// A step before the first layer stores nothing.
  template <bool stores, int first_layer>
  __device__ __forceinline__ void update(int at, AllWindows& windows, CarriedValues& carried,
                                         Change<kind, Real>& change) {
    const unsigned int counted =
        stores && kind != Norm::none && at >= counted_from_ && at < counted_to_ ? counted_rows_ : 0;
    each_input([&](auto input) {
      using Read = ReadsOf<Update, input.value, axes>;
      auto& window = windows.of(input);
      if constexpr (!Read::keeps_rows) {
        if (!stores && at < -Read::farthest_behind) return;  // there may be no memory
#pragma unroll
        for (int k = 0; k < Read::south; ++k) load_row<input.value>(window.south[k], -1 - k, 0);
#pragma unroll
        for (int k = 0; k < Read::north; ++k) load_row<input.value>(window.north[k], rows + k, 0);
      }
    });
    for_each_number<rows>([&](auto row) {
      if (whole || row.value < rows_here_)  // the same for the whole warp
        update_row<stores, first_layer, row.value>(
            at, windows, carried, (counted >> row.value & 1) != 0 ? lane_.owned : 0, change);
    });
    for (int i = 0; i < Update::inputs; ++i) in_[i] += work_.in[i].step[axes - 1];
    if constexpr (stores)
      for (int o = 0; o < Update::outputs; ++o) out_[o] += work_.out[o].step[axes - 1];
  }

  /// `counted`: a bit for each of the lane's cells that the norm counts.
  template <bool stores, int first_layer, int row>
  __device__ __forceinline__ void update_row(int at, const AllWindows& windows,
                                             CarriedValues& carried, unsigned int counted,
                                             Change<kind, Real>& change) {
    Real updated[Update::outputs][width];
    for_each_number<width>([&](auto i) {
      const CellInWindow<first_layer, row, i.value> cell{*this, windows, at};
      Real values[Update::outputs];
      if constexpr (CarriedHere::any)
        update_.step(cell, values, carried.of[row][i.value]);
      else
        update_(cell, values);
      for (int o = 0; o < Update::outputs; ++o) updated[o][i.value] = values[o];
      if constexpr (stores && kind != Norm::none) {
        for_each_number<Update::normed>([&](auto n) {
          const Real now = Update::template now<n.value>(cell, values),
                     before = Update::template before<n.value>(cell);
          if ((counted >> i.value & 1) != 0) change.add(now, before);
        });
      }
    });
    if constexpr (stores) {
#pragma unroll
      for (int o = 0; o < Update::outputs; ++o)
        store(out_[o] + (axes == 2 ? 0 : row * work_.out[o].step[1]), updated[o]);
    }
  }

  __device__ void store(Real* out, const Real* values) const {
    using Vector = typename VectorOf<Real>::Type;
    if (whole || lane_.inside == Lane<Real>::all) {
      // Not a streaming store: that was 1 % slower, although the values are not read soon.
      *reinterpret_cast<Vector*>(out) = VectorOf<Real>::make(values);
    } else {
      for (int i = 0; i < width; ++i)
        if ((lane_.inside >> i & 1) != 0) out[i] = values[i];
    }
  }

  const Work& work_;
  const Update& update_;
  const Lane<Real>& lane_;
  int first_row_, first_layer_, layers_, rows_here_;
  const Real* in_[Update::inputs];  // the layer to update next
  Real* out_[Update::outputs];
  int counted_from_, counted_to_;
  unsigned int counted_rows_ = 0;
};

/// The tile of a walk, and the layers that it goes over. Tiles that are updated at the same time
/// lie side by side along x or along y.
template <bool along_x, int axes, int rows, class Real, class Work>
struct WalkTile {
  int strip, group, strips, groups;
  int from, to;

  __device__ WalkTile(const Work& work, int number) {
    const auto tiles = Tiles<Real, axes>::of(work, rows);
    strips = tiles.strips, groups = tiles.row_groups;
    const int neighbours = along_x ? strips : groups, others = along_x ? groups : strips;
    const int rest = number / neighbours;
    (along_x ? strip : group) = number % neighbours;
    (along_x ? group : strip) = rest % others;
    const auto piece = tiles.piece(work, rest / others);
    from = piece.from, to = piece.to;
  }
  static __device__ int count(const Work& work) {
    return Tiles<Real, axes>::of(work, rows).count();
  }
  __device__ int row() const { return group * rows; }
  __device__ WalkFaces<axes, Work> faces(const Work& work) const {
    return {work, {strip, group, strips, groups}, from, to};
  }
};

/// Returns the number, of which the compiler does not know that it is the same.
__device__ __forceinline__ int hidden(int number) {
#ifdef __CUDA_ARCH__
  asm volatile("" : "+r"(number));
#endif
  return number;
}

template <Norm kind, int axes, class Shape, class Real, class Update, int inputs, int outputs>
__global__ void __launch_bounds__(block_threads, Shape::blocks)
    march(Work<Real, inputs, outputs> work, ReduceWork reduction, Update update) {
  using Given = Work<Real, inputs, outputs>;
  device::cuda::let_next_begin();
  device::cuda::await_stream();
  if (has_ended(work)) return;
  if (reduction.parts != nullptr && blockIdx.x == 0) return reduce(reduction);
  const SweepBlocks blocks(reduction);
  // In 3-D the warps of a block are adjacent along y, so that they share rows in the first-level
  // cache.
  using Tile = WalkTile<false, axes, Shape::rows, Real, Given>;
  Change<kind, Real> change;
  for (int number = static_cast<int>(blocks.number * block_warps + threadIdx.x / warp_lanes);
       number < Tile::count(work); number += static_cast<int>(blocks.count * block_warps)) {
    const Tile tile(work, number);
    const Lane<Real> lane(work, tile.strip);
    const int layers = tile.to - tile.from;
    const bool whole =
        lane.strip_is_whole() && (axes == 2 || tile.row() + Shape::rows <= work.cells[1]);
    if constexpr (Update::pushed >= 0) {
      const auto faces = tile.faces(work);
      if (faces.any()) {
        // In 3-D, updates that push read the nearest cells alone.
        faces.template await<Update, axes == 2 ? 2 : 1, axes == 2 ? 0 : 1>(lane.number);
        __syncwarp();
        Walk<false, AtFace<Shape>, kind, axes, Given, Real, Update>(work, update, lane, tile.row(),
                                                                    tile.from, layers)
            .run(change);
        // All computed anew: kept during the walk, it takes registers, and star7 256^3 in fp64 on
        // one H200 73.3 us instead of 71.9.
        const Tile done(work, hidden(number));
        const auto faces_done = done.faces(work);
        faces_done.template push<Update::pushed, Shape::rows>(Lane<Real>(work, done.strip),
                                                              done.row());
        __syncwarp();
        if (threadIdx.x % warp_lanes == 0) faces_done.raise();
        continue;
      }
    }
    if (whole)
      Walk<true, Shape, kind, axes, Given, Real, Update>(work, update, lane, tile.row(), tile.from,
                                                         layers)
          .run(change);
    else
      Walk<false, Shape, kind, axes, Given, Real, Update>(work, update, lane, tile.row(), tile.from,
                                                          layers)
          .run(change);
  }
  change.publish(work, blocks);
}

}  // namespace halocline::stencil::cuda

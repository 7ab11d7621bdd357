// SPDX-License-Identifier: Apache-2.0
#pragma once
// The sweep in 3-D on a GPU where walks of single warps (march.cuh) would load too much of what
// their neighbours load, too. A block walks along z with a tile of rows. It copies each layer of
// the tile, with the cells around it, into its own memory once, some layers ahead; a lane keeps the
// column of each of its cells in registers and reads neighbouring cells from the block's memory.
// Copies under way take no registers, so a few warps with many registers each are enough.
//
// Compiled by NVRTC, so it includes nothing of the standard library.

#include "device/cuda/async_copy.cuh"
#include "device/cuda/block_memory.cuh"
#include "device/cuda/early.cuh"
#include "device/cuda/kept_store.cuh"
#include "stencil/cuda/change.cuh"
#include "stencil/cuda/reduce.cuh"
#include "stencil/cuda/walks/faces.cuh"
#include "stencil/cuda/walks/lane.cuh"
#include "stencil/cuda/walks/march.cuh"
#include "stencil/cuda/work.cuh"

namespace halocline::stencil::cuda {

/// The shape of a block's walk. `rows`: rows per lane; `ahead`: layers under way; `steps`: layers
/// that are updated between two moves of what registers hold; `blocks`: blocks that must fit on a
/// multiprocessor, which limits registers.
template <int rows_, int ahead_, int steps_, int blocks_, bool in_bricks_ = false>
struct PlaneShape {
  static constexpr int rows = rows_, ahead = ahead_, steps = steps_, blocks = blocks_;
  static constexpr bool in_bricks =
      in_bricks_;  ///< the arrays, whose rows of a brick are whole vectors
};

/// The layers of one input in the block's memory.
template <class Update, int input, class Shape, class Real>
struct PlanesOf {
  static constexpr Reads reads = CarriedBy<Update>::reads(input);
  static constexpr int width = vector_cells<Real>;
  static constexpr PlaneRoom room = room_for(reads, Shape::rows, Shape::ahead, sizeof(Real));
  static constexpr int left = room.left, right = room.right, south = room.south, north = room.north;
  static constexpr int row_cells = room.row_cells, layer_cells = room.layer_cells(),
                       all_rows = room.rows, cells = room.cells();
  static constexpr int first = room.first, last = room.last, slots = room.slots;
  static constexpr int farthest_behind = Update::reads(input).lower[2];
  static constexpr int behind = reads.lower[2], beyond = reads.upper[2];
  static constexpr int held = room.held;
  static constexpr int read_left = reads.lower[0], read_right = reads.upper[0];
  /// Layers of which cells are read that registers do not hold.
  static constexpr bool any_beside = reads.any_beside();
  static constexpr int first_beside = reads.first_beside,
                       layers_beside = any_beside ? (held < beyond ? beyond : reads.last_beside) -
                                                        first_beside + 1
                                                  : 1;
  /// Vectors of a layer, and those that a thread copies: every block_threads-th of them, so that
  /// what it copies to lies at the same distances in every layer.
  static constexpr int vectors_of_row = room.row_cells / width,
                       vectors = vectors_of_row * room.rows,
                       vectors_of_thread = (vectors + block_threads - 1) / block_threads;

  Real* memory;    ///< the first slot
  int first_slot;  ///< where that of layer `first` begins, in cells
  /// Of the layer to be copied next, the first cell that anyone may read; in bricks, were that
  /// layer the first owned one.
  const char* layer_from;
  unsigned int from[vectors_of_thread];  ///< bytes from there
};

template <class Shape, Norm kind, class Work, class Real, class Update>
class PlaneWalk {
 public:
  static constexpr int rows = Shape::rows, ahead = Shape::ahead, steps = Shape::steps;
  static constexpr int width = vector_cells<Real>;
  static constexpr int tile_rows = rows * block_warps;

  __device__ PlaneWalk(const Work& work, const Update& update, const Lane<Real>& lane,
                       Index first_row, Index first_layer, int layers)
      : work_(work),
        update_(update),
        lane_(lane),
        tile_row_(first_row),
        first_layer_(first_layer),
        layers_(layers),
        warp_(static_cast<int>(threadIdx.x) / warp_lanes),
        first_row_(first_row + warp_ * rows) {
    Real* memory = static_cast<Real*>(device::cuda::block_memory());
    each_input([&](auto input) {
      memory = prepare(input, memory, first_step - CarriedHere::steps_before);
    });
    for (int o = 0; o < Update::outputs; ++o) {
      if constexpr (Shape::in_bricks)
        out_[o] = work.out[o].cell + work.bricks.place(lane.column, 0);
      else
        out_[o] = work.out[o].cell + lane.column + first_row_ * work.out[o].step[1] +
                  (first_layer + first_step - CarriedHere::steps_before) * work.out[o].step[2];
    }
    const Range& owned = work.owned;
    to_first_ = -static_cast<int>(first_layer);
    to_end_ = static_cast<int>(work.cells[2] - first_layer);
    counted_from_ = static_cast<int>(within(owned.lower[2] - first_layer, 0, layers));
    counted_to_ = static_cast<int>(within(owned.upper[2] - first_layer, 0, layers));
    for (int row = 0; row < rows; ++row) {
      const Index y = first_row_ + row;
      if (y < work.cells[1]) rows_inside_ |= 1u << row;
      if (y >= owned.lower[1] && y < owned.upper[1]) counted_rows_ |= 1u << row;
    }
  }

  __device__ void run(Change<kind, Real>& change) {
    Columns columns;
    CarriedValues carried{};
    constexpr int before = CarriedHere::steps_before;
    __syncthreads();  // the walk before has read the block's memory
#pragma unroll 1
    for (int j = 0; j < ahead; ++j) {
      each_input([&](auto input) { copy(input, first_step - before, j); });
      device::cuda::end_group();
    }
    // Until columns are complete.
#pragma unroll 1
    for (int at = first_step - before; at < -before; ++at) {
      arrive(at);
      each_input([&](auto input) { receive<0>(input, columns); });
      move_on();
      advance<1>(columns);
    }
#pragma unroll 1
    for (int at = -before; at < layers_; at += steps)
      for_each_number<steps>(
          [&](auto step) { take_step<step.value>(at + step.value, columns, carried, change); });
  }

 private:
  using CarriedHere = CarriedBy<Update>;
  struct CarriedValues {
    Real of[rows][width][CarriedHere::any ? CarriedHere::values : 1];
  };
  template <int input>
  using Planes = PlanesOf<Update, input, Shape, Real>;

  /// The cells of this lane in the layers of an input that the next updates read.
  template <int input>
  struct Column {
    Real of[Planes<input>::behind + Planes<input>::held + steps][rows][width];
  };
  /// Of the inputs before number `count`.
  template <template <int> class One, int count, class = void>
  struct ForInputs : ForInputs<One, count - 1> {
    using ForInputs<One, count - 1>::of;
    __device__ One<count - 1>& of(Number<count - 1>) { return one; }
    __device__ const One<count - 1>& of(Number<count - 1>) const { return one; }
    One<count - 1> one;
  };
  template <template <int> class One, class Any>
  struct ForInputs<One, 0, Any> {
    __device__ void of(Number<-1>) const {}
  };
  using Columns = ForInputs<Column, Update::inputs>;

  static constexpr int larger_int(int a, int b) { return a > b ? a : b; }
  static __device__ Index within(Index number, Index least, Index most) {
    return number < least ? least : number > most ? most : number;
  }
  template <int count>
  static constexpr int layers_of_columns() {
    if constexpr (count == 0)
      return 0;
    else
      return larger_int(layers_of_columns<count - 1>(),
                        Planes<count - 1>::behind + Planes<count - 1>::beyond);
  }
  /// The step at which the first layer of the longest column arrives.
  static constexpr int first_step = -layers_of_columns<Update::inputs>();

  template <class Call>
  static __device__ __forceinline__ void each_input(const Call& call) {
    for_each_number<Update::inputs>(call);
  }

  /// Sets the source and destination of this thread's copies, beginning with the layer that step
  /// `at` needs as its last. Returns the memory behind the input's.
  template <int input>
  __device__ Real* prepare(Number<input> number, Real* memory, int at) {
    using Here = Planes<input>;
    Here& planes = planes_.of(number);
    planes.memory = memory;
    planes.first_slot = 0;
    const auto& in = work_.in[input];
    const Index strip = lane_.column - lane_.number * width;
    // Vectors that are not read, and may not exist, are replaced by a neighbouring one that
    // does.
    const Index first = work_.lead - Here::read_left & -width;
    const Index last = work_.lead + work_.cells[0] + Here::read_right - 1 & -width;
    const Index layer = first_layer_ + at + Here::beyond;
    const Index first_of_all = first < 0 ? first : 0;
#pragma unroll
    for (int i = 0; i < Here::vectors_of_thread; ++i) {
      const int vector = static_cast<int>(threadIdx.x) + i * block_threads;
      const int row = vector / Here::vectors_of_row;
      const Index x =
          within(strip + (vector - row * Here::vectors_of_row) * width - Here::left, first, last);
      const Index y =
          within(tile_row_ + row - Here::south, -Here::south, work_.cells[1] + Here::north - 1);
      planes.from[i] = static_cast<unsigned int>((in_layer(in, x + around(x, 0), y + around(y, 1)) -
                                                  in_layer(in, first_of_all, -Here::south)) *
                                                 static_cast<int>(sizeof(Real)));
    }
    planes.layer_from =
        reinterpret_cast<const char*>(in.cell + in_layer(in, first_of_all, -Here::south));
    if constexpr (!Shape::in_bricks)
      planes.layer_from += (layer + (layer <= 0 ? work_.around[2] : 0)) * in.step[2] *
                           static_cast<int>(sizeof(Real));
    return memory + Here::cells;
  }

  /// Returns the place of a cell in a layer of an array, from the array's beginning.
  template <class Cell>
  __device__ Index in_layer(const Array<Cell>& array, Index x, Index y) const {
    if constexpr (Shape::in_bricks) return work_.bricks.place(x, 0) + work_.bricks.place(y, 1);
    return x + y * array.step[1];
  }

  /// Returns how far to go from a row or layer beyond an end of an axis that wraps around.
  __device__ Index around(Index at, int axis) const {
    return at < 0 ? work_.around[axis] : at >= work_.cells[axis] ? -work_.around[axis] : 0;
  }

  /// Starts to copy the layer that step `at + by` needs as its last.
  template <int input>
  __device__ __forceinline__ void copy(Number<input> number, int at, int by) {
    using Here = Planes<input>;
    Here& planes = planes_.of(number);
    const auto& in = work_.in[input];
    const int layer = at + by + Here::beyond;
    // Where the axis wraps around, its first layer follows its last one.
    const Index layer_bytes = in.step[2] * static_cast<int>(sizeof(Real));
    const char* layer_from;
    if constexpr (Shape::in_bricks) {
      const Index z = first_layer_ + layer;
      layer_from = planes.layer_from +
                   work_.bricks.place(z + around(z, 2), 2) * static_cast<int>(sizeof(Real));
    } else {
      if (layer == to_first_ || layer == to_end_)
        planes.layer_from -= work_.around[2] * layer_bytes;
      layer_from = planes.layer_from;
    }
    if (layer >= -Here::farthest_behind && layer < layers_ + Here::beyond) {
      Real* const to = planes.memory + slot_of<input>(Here::last + by) + threadIdx.x * width;
#pragma unroll
      for (int i = 0; i < Here::vectors_of_thread; ++i)
        if ((i + 1) * block_threads <= Here::vectors ||
            static_cast<int>(threadIdx.x) < Here::vectors - i * block_threads)
          device::cuda::copy_async(to + i * block_threads * width, layer_from + planes.from[i]);
    }
    if constexpr (!Shape::in_bricks) planes.layer_from += layer_bytes;
  }

  /// Returns where the slot of a layer begins, counted from the layer to update.
  template <int input>
  __device__ __forceinline__ int slot_of(int layer) const {
    using Here = Planes<input>;
    const int slot =
        planes_.of(Number<input>()).first_slot + (layer - Here::first) * Here::layer_cells;
    return slot < Here::cells ? slot : slot - Here::cells;
  }

  /// Waits for the last layer that step `at` needs, and starts to copy a later one.
  __device__ __forceinline__ void arrive(int at) {
    device::cuda::await_groups<ahead - 1>();
    __syncthreads();  // all have copied, and read what the next copy overwrites
    each_input([&](auto input) { copy(input, at, ahead); });
    device::cuda::end_group();
  }

  /// Takes this lane's cells of the last layer that columns hold.
  template <int step, int input>
  __device__ __forceinline__ void receive(Number<input> number, Columns& columns) {
    using Here = Planes<input>;
    auto& layer = columns.of(number).of[Here::behind + Here::held + step];
#pragma unroll
    for (int row = 0; row < rows; ++row)
      VectorOf<Real>::split(*reinterpret_cast<const Vector*>(place<input>(Here::held, row)),
                            layer[row]);
  }

  /// Returns the place of this lane's cells of a row in the block's memory; rows and layers count
  /// from this lane's first and from the one to update.
  template <int input>
  __device__ __forceinline__ const Real* place(int layer, int row) const {
    using Here = Planes<input>;
    return planes_.of(Number<input>()).memory + slot_of<input>(layer) + Here::left +
           lane_.number * width + (warp_ * rows + row + Here::south) * Here::row_cells;
  }

  template <int layers>
  __device__ __forceinline__ void advance(Columns& columns) const {
    each_input([&](auto input) {
      using Here = Planes<input.value>;
      auto& layer = columns.of(input).of;
#pragma unroll
      for (int l = 0; l < Here::behind + Here::held; ++l)
#pragma unroll
        for (int row = 0; row < rows; ++row)
#pragma unroll
          for (int i = 0; i < width; ++i) layer[l][row][i] = layer[l + layers][row][i];
    });
  }

  /// The rows of an input around a lane's cells, those that are read of neighbouring vectors.
  template <int input>
  struct Around {
    using Here = Planes<input>;
    static constexpr int layers = Here::layers_beside;
    static constexpr int cells = Here::left + width + Here::right;
    Real of[layers][Here::south + rows + Here::north][cells];

    /// The compiler leaves out what is not used.
    __device__ __forceinline__ void load(const PlaneWalk& walk) {
      if constexpr (Here::any_beside) {
#pragma unroll
        for (int layer = 0; layer < layers; ++layer)
#pragma unroll
          for (int row = -Here::south; row < rows + Here::north; ++row)
#pragma unroll
            for (int at = 0; at < cells; at += width)
              VectorOf<Real>::split(
                  *reinterpret_cast<const Vector*>(
                      walk.place<input>(layer + Here::first_beside, row) - Here::left + at),
                  of[layer][row + Here::south] + at);
      }
    }
  };
  using AllAround = ForInputs<Around, Update::inputs>;

  /// A cell and its neighbours, for an update.
  template <int step, int row, int column>
  struct CellInPlanes {
    const PlaneWalk& walk;
    const Columns& columns;
    const AllAround& beside;
    int layer;  ///< of the walk

    template <int input, int x, int y, int z>
    __device__ __forceinline__ Real at() const {
      using Here = Planes<input>;
      constexpr int to_row = row + y, to_column = column + x;
      if constexpr (z <= Here::held && to_row >= 0 && to_row < rows && to_column >= 0 &&
                    to_column < width)
        return columns.of(Number<input>()).of[step + Here::behind + z][to_row][to_column];
      else
        return beside.of(Number<input>())
            .of[z - Here::first_beside][to_row + Here::south][to_column + Here::left];
    }
    /// Its index in the domain.
    template <int axis>
    __device__ Index index() const {
      return walk.work_.origin[axis] + (axis == 0   ? walk.lane_.column - walk.work_.lead + column
                                        : axis == 2 ? walk.first_layer_ + layer
                                                    : walk.first_row_ + row);
    }
    __device__ double time() const { return time_by(walk.work_.clock, walk.work_.time); }
  };

  template <int step>
  __device__ __forceinline__ void take_step(int at, Columns& columns, CarriedValues& carried,
                                            Change<kind, Real>& change) {
    arrive(at);
    each_input([&](auto input) { receive<step>(input, columns); });
    // Also where no row of this warp lies inside, and nothing is stored: with a branch here, the
    // compiler keeps all that is carried in fixed registers and moves it at each step.
    update<step>(at, columns, carried, change);
    move_on();
    if constexpr (step + 1 == steps) advance<steps>(columns);
  }

  /// Updates layer `at`. One before the first or behind the last is computed, but neither stored
  /// nor counted.
  template <int step>
  __device__ __forceinline__ void update(int at, const Columns& columns, CarriedValues& carried,
                                         Change<kind, Real>& change) {
    AllAround beside;
    each_input([&](auto input) { beside.of(input).load(*this); });
    for_each_number<rows>(
        [&](auto row) { update_row<step, row.value>(at, columns, beside, carried, change); });
  }

  template <int step, int row>
  __device__ __forceinline__ void update_row(int at, const Columns& columns,
                                             const AllAround& beside, CarriedValues& carried,
                                             Change<kind, Real>& change) {
    const bool is_counted =
        at >= counted_from_ && at < counted_to_ && (counted_rows_ >> row & 1) != 0;
    Real updated[Update::outputs][width];
    for_each_number<width>([&](auto i) {
      const CellInPlanes<step, row, i.value> cell{*this, columns, beside, at};
      Real values[Update::outputs];
      if constexpr (CarriedHere::any)
        update_.step(cell, values, carried.of[row][i.value]);
      else
        update_(cell, values);
      for (int o = 0; o < Update::outputs; ++o) updated[o][i.value] = values[o];
      if constexpr (kind != Norm::none) {
        for_each_number<Update::normed>([&](auto n) {
          const Real now = Update::template now<n.value>(cell, values),
                     before = Update::template before<n.value>(cell);
          if (is_counted && (lane_.owned >> i.value & 1) != 0) change.add(now, before);
        });
      }
    });
    if (at >= 0 && at < layers_ && (rows_inside_ >> row & 1) != 0) {
#pragma unroll
      for (int o = 0; o < Update::outputs; ++o) {
        if constexpr (Shape::in_bricks)
          store(out_[o] + work_.bricks.place(first_row_ + row, 1) +
                    work_.bricks.place(first_layer_ + at, 2),
                updated[o]);
        else
          store(out_[o] + row * work_.out[o].step[1], updated[o]);
      }
    }
  }

  /// To the next layer.
  __device__ __forceinline__ void move_on() {
    each_input([&](auto input) {
      using Here = Planes<input.value>;
      int& slot = planes_.of(input).first_slot;
      slot = slot + Here::layer_cells == Here::cells ? 0 : slot + Here::layer_cells;
    });
    if constexpr (!Shape::in_bricks)
      for (int o = 0; o < Update::outputs; ++o) out_[o] += work_.out[o].step[2];
  }

  __device__ __forceinline__ void store(Real* out, const Real* values) const {
    if (lane_.inside == Lane<Real>::all) {
      // 512^3 in fp64 on an H200: a star of 13 cells takes 575 us instead of 602, a box of 27 570
      // instead of 594; on an H100 796 instead of 805 and 787 instead of 791. In fp32 an H200 gains
      // as much, but an H100 loses up to 3 %, in bricks up to 5 %. Where a block has a
      // multiprocessor to itself, the memory is not the limit: a box of 125 takes 2 % longer.
      Vector* const vector = reinterpret_cast<Vector*>(out);
      if constexpr (width == 2 && Shape::blocks > 1 && !Shape::in_bricks)
        device::cuda::store_kept(vector, VectorOf<Real>::make(values));
      else
        *vector = VectorOf<Real>::make(values);
    } else {
      for (int i = 0; i < width; ++i)
        if ((lane_.inside >> i & 1) != 0) out[i] = values[i];
    }
  }

  using Vector = typename VectorOf<Real>::Type;
  const Work& work_;
  const Update& update_;
  const Lane<Real>& lane_;
  Index tile_row_, first_layer_;
  int layers_, warp_;
  int to_first_,
      to_end_;       ///< layers from the walk's first to the region's first, and behind its last
  Index first_row_;  ///< of this warp
  ForInputs<Planes, Update::inputs> planes_;
  Real*
      out_[Update::outputs];  // this lane's cell of the layer to update next; in bricks, its column
  int counted_from_, counted_to_;
  unsigned int counted_rows_ = 0, rows_inside_ = 0;
};

template <Norm kind, class Shape, class Real, class Update, int inputs, int outputs>
__global__ void __launch_bounds__(block_threads, Shape::blocks)
    march_planes(Work<Real, inputs, outputs> work, ReduceWork reduction, Update update) {
  device::cuda::let_next_begin();
  device::cuda::await_stream();
  if (has_ended(work)) return;
  if (reduction.parts != nullptr && blockIdx.x == 0) return reduce(reduction);
  using Given = Work<Real, inputs, outputs>;
  using Walk = PlaneWalk<Shape, kind, Given, Real, Update>;
  // Blocks that run at the same time read rows as wholes: 590 us instead of 615 for a star of 7
  // cells, 512^3 in fp64.
  using Tile = WalkTile<true, 3, Walk::tile_rows, Real, Given>;
  const SweepBlocks blocks(reduction);
  Change<kind, Real> change;
  for (int number = static_cast<int>(blocks.number); number < Tile::count(work);
       number += static_cast<int>(blocks.count)) {
    const Tile tile(work, number);
    constexpr bool can_push = Update::pushed >= 0 && !Shape::in_bricks;
    if constexpr (can_push)
      tile.faces(work).template await<Update, 2, 2>(static_cast<int>(threadIdx.x));
    Walk(work, update, Lane<Real>(work, tile.strip), tile.row(), tile.from, tile.to - tile.from)
        .run(change);  // it begins with a barrier
    if constexpr (can_push) {
      // All computed anew: kept during the walk, it would take 10 registers, which a box of 27
      // cells in fp64 does not have.
      const Tile done(work, hidden(number));
      const auto faces = done.faces(work);
      if (!faces.any()) continue;
      faces.template push<Update::pushed, Shape::rows>(
          Lane<Real>(work, done.strip), done.row() + threadIdx.x / warp_lanes * Shape::rows);
      __syncthreads();
      if (threadIdx.x == 0) faces.raise();
    }
  }
  change.publish(work, blocks);
}

}  // namespace halocline::stencil::cuda

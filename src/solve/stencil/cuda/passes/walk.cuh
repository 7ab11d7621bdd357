// SPDX-License-Identifier: Apache-2.0
#pragma once
// The walk of a pass of several sweeps. A warp walks along the last axis over a strip of 32 lanes
// of some cells each, in 3-D over some rows of these, with the layers of all levels between the
// first and the last in registers: when it loads layer n it computes layer n - 1 of the next level
// (of a formula that reads the nearest cells), n - 2 of the one after it, and so on. Neighbours
// along x are in other lanes. In 3-D the warps of a block lie one above the other along y, and
// leave the rows that others read in the block's memory, see edges.cuh; a warp waits for the others
// once a layer, as late as it can.
//
// What lies outside the block's tile or before the walk's first layer, others compute too: at each
// end of the tile and of the walk as many cells as the sweeps of the pass read, which are neither
// stored nor counted. Ghosts that change are made for each sweep, in registers: beyond the sides of
// x when their row is computed, beyond those of the last axis when the layer is that mirrors them,
// and beyond those of y in 3-D when they are read: the rows that mirror them may be another warp's.
//
// `Plan`, printed with the update, has how layers depend on each other, see LayersOfPass, and the
// sides whose ghosts change.
//
// Compiled by NVRTC, so it includes nothing of the standard library.

#include "device/cuda/split_barrier.cuh"
#include "stencil/cuda/change.cuh"
#include "stencil/cuda/passes/ahead.cuh"
#include "stencil/cuda/passes/edges.cuh"
#include "stencil/cuda/passes/pass_work.cuh"
#include "stencil/cuda/walks/march.cuh"

namespace halocline::stencil::cuda {

/// `cells` of a lane in a row, and its `rows`; layers `ahead` loaded before they are used; `warps`
/// of a block, and blocks that must fit on a multiprocessor, which limits registers; `fetched`: the
/// layers before its load at which a layer is brought into the second-level cache (0: it is not);
/// `bare`: whether the steps in the middle of a walk have code of their own, which does not check
/// layers; `inlined`: whether the walk is a part of the kernel by force.
template <int sweeps_, int cells_, int rows_, int ahead_, int warps_, int blocks_, int fetched_,
          bool bare_, bool inlined_>
struct PassShape {
  static constexpr int sweeps = sweeps_, cells = cells_, rows = rows_, ahead = ahead_,
                       warps = warps_, blocks = blocks_, fetched = fetched_;
  static constexpr bool bare = bare_, inlined = inlined_;
};

/// What a step checks: nothing; which layers are stored and counted, at the ends of a walk; which
/// columns and rows are, and which change; both; both, where a lane's cells of a row are alike, as
/// those are where the domain begins and ends at lanes; or all of these, and which layers change
/// and can be read.
enum class Checks { none, ends, beside, beside_and_ends, lanes_and_ends, all };

template <Checks checks>
inline constexpr bool checks_beside = checks >= Checks::beside;
template <Checks checks>
inline constexpr bool checks_ends = checks == Checks::ends || checks >= Checks::beside_and_ends;
/// Cells of a lane one by one: of laplace on 512x512x512 cells in fp32, by 3 sweeps with a max
/// norm, 46 of 100 blocks are at sides; it ran at 708 GLUP/s with these checks and at 813 by lanes
/// (H200).
template <Checks checks>
inline constexpr bool checks_cells =
    checks == Checks::lanes_and_ends ? false : checks_beside<checks>;

/// Hides from the compiler what it knows of a value.
template <class Value>
__device__ __forceinline__ void forget([[maybe_unused]] Value& value) {
  static_assert(sizeof(Value) == 4);
#ifdef __CUDA_ARCH__
  asm volatile("" : "+r"(value));
#endif
}

template <Norm kind, class Shape, class Plan, class Work, class Real, class Update>
class PassWalk {
 public:
  static constexpr int axes = Plan::axes, last = axes - 1;
  static constexpr int sweeps = Shape::sweeps, lag = Plan::lag;
  static constexpr int width = Shape::cells, rows = Shape::rows;
  static constexpr int in_vector = vector_cells<Real>, vectors = width / in_vector;
  static_assert(width % in_vector == 0);
  static constexpr int kept = Plan::kept, ahead = Shape::ahead;
  static constexpr int inputs = Update::inputs, outputs = Update::outputs;
  /// Places of a level's layers, and the steps after which they have the same roles again. Where
  /// the newest layer has one besides the kept ones, no register is copied: laplace by 12 sweeps in
  /// fp32 has 246 instructions a step, not 308. In 3-D that was slower in fp32, by 10 %.
  static constexpr int places = axes == 3 || (kept + 1) % ahead != 0 ? kept : kept + 1;
  static constexpr int phases = places;
  /// Places of layers on their way, in 2-D.
  static constexpr int slots = axes == 2 ? ahead : 1;
  static_assert(phases % slots == 0 && phases % Plan::slots == 0);
  static_assert(axes == 3 || rows == 1);

  __device__ __forceinline__ PassWalk(const Work& work, const Update& update,
                                      const WalkOfPass& walk)
      : work_(work), update_(update) {
    const auto lane = static_cast<int>(threadIdx.x) % warp_lanes;
    const LaneOfWalk place =
        axes == 2 ? LaneOfWalk{walk.tile, lane, warp_lanes} : lane_of_walk(work.walks, walk, lane);
    place_columns(walk.strip, place);
    place_rows(place.tile);
    from_ = walk.from;
    to_ = walk.to < work.cells[last] ? walk.to : static_cast<int>(work.cells[last]);
    count_from_ = larger(from_, work.owned.lower[last]);
    count_to_ = smaller(to_, work.owned.upper[last]);
  }

  __device__ void run() { run_inlined(); }
  /// Where formulas are long, NVRTC leaves run() a function, with the object in memory. Elsewhere
  /// it is better: by force, laplace by 12 sweeps keeps 152 bytes of a thread in memory, not 112.
  __device__ __forceinline__ void run_inlined() {
    const bool is_whole = __all_sync(~0u, is_plain()) != 0;
    int at = begin();
    march_in_parts(at, is_whole);
  }

  /// In 3-D: whether all columns and rows that the block's walk reads are in the domain and the
  /// region. Call it on all threads of the block.
  __device__ bool block_is_plain() const { return __syncthreads_and(is_plain()) != 0; }
  /// Whether the cells of each lane are alike: all of them change or none, and so on.
  __device__ bool block_has_whole_lanes() const {
    const auto alike = [&](unsigned int what) {
      return (cells_ & all * what) == 0 || (cells_ & all * what) == all * what;
    };
    return __syncthreads_and(alike(stored) && alike(counted) && alike(changing)) != 0;
  }
  /// Whether all layers that the walk reads are in the domain.
  __device__ bool is_within() const {
    const Parts parts = parts_of_walk();
    return parts.begins_within && parts.ends_within;
  }
  /// Does a walk of which these are known.
  template <Checks checks, bool within>
  __device__ __forceinline__ void run_in_block() {
    if constexpr (checks == Checks::lanes_and_ends) join_lanes_to_rows();
    int at = begin();
    const Parts parts = parts_of_walk();
    if constexpr (within) {
      set_places(at);
      march<checks>(at, parts.end);
    } else if constexpr (is_long) {
      march_in_parts(at, checks == Checks::ends);
    } else {
      march<Checks::all>(at, smaller(parts.steady, parts.end));
      set_places(at);
      march<checks>(at, parts.steady_end - phases + 1);
      march<Checks::all>(at, parts.end);
    }
  }
  /// Whether the code of a step is so long that each kind of it is there but once.
  static constexpr bool is_long = Plan::makes_ghosts || Plan::in_memory > 0;

  /// Returns a sweep's change, of the cells that this lane counts.
  __device__ const Change<kind, Real>& change(int sweep) const { return change_[sweep]; }
  /// Whether this lane's change counts.
  __device__ bool counts() const { return (cells_ & all * counted) != 0; }

 private:
  static constexpr unsigned int all = (1u << width) - 1;
  static constexpr unsigned int all_rows = (1u << rows) - 1;
  using Vector = typename VectorOf<Real>::Type;
  using Row = RowOfLane<Real, width>;
  /// A lane's part of a layer.
  struct Layer {
    Row row[rows];
  };
  using Edges = EdgesOfPass<Shape, Plan, Real, outputs>;
  using Barrier = device::cuda::SplitBarrier;
  using Ahead = LayersAhead<Shape, Real, outputs, Edges::bytes()>;

  /// Where the steps of a walk come to check less, and more again.
  struct Parts {
    int first, end;
    /// From `steady` on, the layers of all levels are stored and counted ones, until `steady_end`.
    int steady, steady_end;
    bool begins_within, ends_within;  ///< the domain, before and after these
  };

  __device__ __forceinline__ Parts parts_of_walk() const {
    constexpr int before = Plan::in_memory < 0 ? 0 : sweeps * lag + Plan::in_memory;
    constexpr int loaded = ahead + Shape::fetched;
    constexpr int beyond = phases + (loaded > Plan::in_memory ? loaded : Plan::in_memory);
    const Range &changing = work_.changing, &readable = work_.readable;
    Parts parts;
    parts.first = from_ - sweeps * Plan::behind;
    parts.end = to_ + sweeps * lag;
    parts.steady = larger(count_from_, changing.lower[last]) + sweeps * lag;
    parts.steady_end = smaller(smaller(count_to_, changing.upper[last]) + lag,
                               readable.upper[last] - ahead - Shape::fetched);
    parts.begins_within = parts.first >= changing.lower[last] &&
                          parts.first - before >= readable.lower[last] &&
                          parts.steady + phases <= changing.upper[last] &&
                          parts.steady + beyond <= readable.upper[last];
    parts.ends_within =
        parts.end <= changing.upper[last] && parts.end + beyond <= readable.upper[last];
    return parts;
  }

  /// Loads the first layers, and returns the number of the first.
  __device__ __forceinline__ int begin() {
    const int first = parts_of_walk().first;
    for_each_number<ahead>([&](auto j) { load<Checks::all>(j.value, first + j.value); });
    return first;
  }

  /// Steps before and after the steady ones check less within the domain: all checks take 2.5 times
  /// as long, and laplace (4096x4096 cells in fp32) took 9.9 us a sweep by 12 where it takes 8.8.
  __device__ __forceinline__ void march_in_parts(int at, bool is_whole) {
    const Parts parts = parts_of_walk();
    if (parts.begins_within) set_places(at);
#pragma unroll 1  // the code of each kind of step is there once
    for (int part = 0; part < 3; ++part) {
      const int until = part == 0   ? smaller(parts.steady, parts.end)
                        : part == 1 ? parts.steady_end - phases + 1
                                    : parts.end;
      const bool is_within = part == 0 ? parts.begins_within : part == 1 || parts.ends_within;
      if (part == 1 && !parts.begins_within) set_places(at);
      if (!is_within) {
        march<Checks::all>(at, until);
      } else if (Shape::bare && part == 1) {
        if (is_whole)
          march<Checks::none>(at, until);
        else
          march<Checks::beside>(at, until);
      } else {
        if (is_whole)
          march<Checks::ends>(at, until);
        else
          march<Checks::beside_and_ends>(at, until);
      }
    }
  }

  /// Whether this lane needs no checks of columns, nor of rows but those that are stored and
  /// counted, which all steps check: by 3 sweeps a tile loses 3 rows at an end, one and a half
  /// warp's.
  __device__ __forceinline__ bool is_plain() const {
    const bool is_whole = cells_ == all * (stored | counted | changing) || cells_ == all * changing;
    return is_whole && (rows_ & all_rows * changing) == all_rows * changing && !reads_apart();
  }

  /// Has the bits of rows say what holds for this lane's cells, too.
  __device__ __forceinline__ void join_lanes_to_rows() {
    for (const unsigned int what : {stored, counted, changing})
      if ((cells_ & what) == 0) rows_ &= ~(all_rows * what);
  }

  static __device__ int larger(Index a, Index b) { return static_cast<int>(a > b ? a : b); }
  static __device__ int smaller(Index a, Index b) { return static_cast<int>(a < b ? a : b); }
  static __device__ int wrapped(int at, int cells) {
    const int rest = at % cells;
    return rest < 0 ? rest + cells : rest;
  }
  // What cells of a lane and its rows are: a bit for each.
  static constexpr unsigned int stored = 1, counted = 1 << 8, changing = 1 << 16;
  static_assert(width <= 8 && rows <= 8);
  static __device__ __forceinline__ bool is(unsigned int what, unsigned int bits, int number) {
    return (bits & what << number) != 0;
  }

  __device__ __forceinline__ void place_columns(int strip, const LaneOfWalk& lane) {
    constexpr int lost = lost_lanes(sweeps, Plan::beside, width);
    constexpr int strip_width = (warp_lanes - 2 * lost) * width;
    static_assert(strip_width > 0);
    lane_ = lane.lane;
    strip_lanes_ = lane.lanes;
    column_ = strip * strip_width + (lane_ - lost) * width;
    const bool is_own = lane_ >= lost && lane_ < strip_lanes_ - lost;
    for (int k = 0; k < width; ++k) {
      const int x = column_ + k - work_.lead;
      const bool is_stored = is_own && x >= 0 && x < work_.cells[0];
      if (is_stored) cells_ |= stored << k;
      if (is_stored && x >= work_.owned.lower[0] && x < work_.owned.upper[0])
        cells_ |= counted << k;
      if (x >= work_.changing.lower[0] && x < work_.changing.upper[0]) cells_ |= changing << k;
    }
    const Index strip_begin = column_ - lane_ * width - work_.lead;
    side_at_[0] = static_cast<int>(work_.changing.lower[0] - strip_begin);
    side_at_[1] = static_cast<int>(work_.changing.upper[0] - strip_begin);
    for (int v = 0; v < vectors; ++v) {
      const int at = readable_column(column_ + v * in_vector);
      if (v == 0)
        read_at_ = at;
      else
        further_[v - 1] = at - read_at_;
    }
  }

  __device__ __forceinline__ void place_rows(int tile) {
    if constexpr (axes == 2) {
      rows_ = stored | counted | changing;
    } else {
      const auto warp = static_cast<int>(threadIdx.x) / warp_lanes;
      const RowsOfTile own = rows_of_tile(work_.walks.tiles, tile);
      row_ = own.first + warp * rows;
      for (int j = 0; j < rows; ++j) {
        const int y = row_ + j;
        const bool is_stored = y >= own.from && y < own.to;
        if (is_stored) rows_ |= stored << j;
        if (is_stored && y >= work_.owned.lower[1] && y < work_.owned.upper[1])
          rows_ |= counted << j;
        if (y >= work_.changing.lower[1] && y < work_.changing.upper[1]) rows_ |= changing << j;
        const int at = readable<1>(y);
        if (j == 0)
          read_row_ = at;
        else
          further_rows_[j - 1] = at - read_row_;
      }
    }
  }

  /// Returns where the vector of a column is to be read. Those outside what arrays hold are
  /// nobody's: what is read for them does not matter.
  __device__ int readable_column(int column) const {
    if (work_.around[0] > 0) return wrapped(column, static_cast<int>(work_.around[0]));
    const int least = (work_.lead + static_cast<int>(work_.readable.lower[0])) & ~(in_vector - 1);
    const int most =
        (work_.lead + static_cast<int>(work_.readable.upper[0]) - 1) & ~(in_vector - 1);
    return column < least ? least : column > most ? most : column;
  }
  /// Returns where a row or layer is to be read.
  template <int axis>
  __device__ __forceinline__ int readable(int at) const {
    if (work_.around[axis] > 0) return wrapped(at, static_cast<int>(work_.around[axis]));
    const int least = static_cast<int>(work_.readable.lower[axis]);
    const int most = static_cast<int>(work_.readable.upper[axis]) - 1;
    return at < least ? least : at > most ? most : at;
  }
  template <Checks checks>
  __device__ __forceinline__ int readable_layer(int at) const {
    if constexpr (checks != Checks::all) return at;
    return readable<last>(at);
  }
  /// Whether this lane's vectors or rows are not side by side in memory.
  __device__ bool reads_apart() const {
    bool apart = false;
    for (int v = 1; v < vectors; ++v) apart = apart || further_[v - 1] != v * in_vector;
    for (int j = 1; j < rows; ++j) apart = apart || further_rows_[j - 1] != j;
    return apart;
  }

  /// Returns the elements from an array's first cell to this lane's part of a layer.
  template <class Cell>
  __device__ __forceinline__ Index offset(const Array<Cell>& array, int layer) const {
    Index at = read_at_ + layer * array.step[last];
    if constexpr (axes == 3) at += read_row_ * array.step[1];
    return at;
  }

  /// Calls `call` with each row and vector of this lane's part of a layer, and where it is.
  template <Checks checks, class Call>
  __device__ __forceinline__ void each_vector(const Real* place, [[maybe_unused]] Index step,
                                              const Call& call) const {
#pragma unroll
    for (int j = 0; j < rows; ++j) {
      const Real* row = place;
      if (j > 0) row += (checks_beside<checks> ? further_rows_[j - 1] : j) * step;
#pragma unroll
      for (int v = 0; v < vectors; ++v) {
        const int further = v == 0 ? 0 : checks_beside<checks> ? further_[v - 1] : v * in_vector;
        call(j, v, reinterpret_cast<const Vector*>(row + further));
      }
    }
  }
  /// `again`: whether other sweeps of the pass read it, too.
  template <Checks checks, bool again>
  __device__ __forceinline__ void load_layer(Layer& layer, const Real* place, Index step) const {
    each_vector<checks>(place, step, [&](int j, int v, const Vector* from) {
      VectorOf<Real>::split(again ? __ldg(from) : __ldcs(from), layer.row[j].cell + v * in_vector);
    });
  }

  /// Whether sweep s of a pass reads an input where memory has it: a coefficient, or the level
  /// before the one that the pass reads.
  template <int input, int s>
  static constexpr bool is_in_memory = Update::source(input) == coefficient ||
                                       (Update::source(input) < coefficient && s == 0);

  /// Loads what a cell of sweep s reads of these inputs at itself.
  template <Checks checks, int s>
  __device__ __forceinline__ void load_beneath(Layer (&layers)[inputs], int at) const {
    for_each_number<inputs>([&](auto i) {
      if constexpr (is_in_memory<i.value, s>) {
        const Array<const Real>& array = work_.in[i.value];
        const Real* place;
        if constexpr (checks == Checks::all)
          place = array.cell + offset(array, readable_layer<checks>(at));
        else  // products of 64 bits would stay in registers, one for each sweep
          place = in_[i.value] - static_cast<Index>(s * lag * static_cast<int>(array.step[last]));
        load_layer<checks, true>(layers[i.value], place, array.step[1]);
      }
    });
  }

  /// Loads a layer of each computed field. In 3-D it is on its way until the step that takes it.
  template <Checks checks>
  __device__ __forceinline__ void load(int slot, int at) {
    for_each_number<inputs>([&](auto i) {
      constexpr int source = Update::source(i.value);
      if constexpr (source >= 0) {
        const Array<const Real>& array = work_.in[i.value];
        const Real* place;
        if constexpr (checks == Checks::all) {
          place = array.cell + offset(array, readable_layer<checks>(at));
        } else {
          place = in_[i.value];
          if constexpr (Shape::fetched > 0) {
            constexpr int lanes = 128 / static_cast<int>(sizeof(Real)) / width;
            if (threadIdx.x % (lanes > 0 ? lanes : 1) == 0)
              fetch_line(place + Shape::fetched * array.step[last]);
          }
        }
        if constexpr (axes == 2)
          load_layer<checks, false>(next_[slot][source], place, array.step[1]);
        else
          each_vector<checks>(place, array.step[1], [&](int j, int v, const Vector* from) {
            ahead_.copy(source, j, v, from);
          });
        if constexpr (checks != Checks::all) in_[i.value] += array.step[last];
      }
    });
    if constexpr (axes == 3) ahead_.end();
  }

  /// For steps from layer `at` on that check no layers.
  __device__ void set_places(int at) {
    for_each_number<inputs>([&](auto i) {
      const int first = Update::source(i.value) >= 0 ? at + ahead : at - lag;
      in_[i.value] = work_.in[i.value].cell + offset(work_.in[i.value], first);
    });
    for (int o = 0; o < outputs; ++o) {
      out_[o] = place_in(work_.out[o], at - sweeps * lag);
      if (work_.before[o].cell != nullptr)
        before_[o] = place_in(work_.before[o], at - (sweeps - 1) * lag);
    }
  }
  /// Returns where this lane's part of a layer is written.
  __device__ __forceinline__ Real* place_in(const Array<Real>& array, int layer) const {
    Real* place = array.cell + column_ + layer * array.step[last];
    if constexpr (axes == 3) place += row_ * array.step[1];
    return place;
  }

  /// Takes steps from `at` on until it is `until` or more.
  template <Checks checks>
  __device__ __forceinline__ void march(int& at, int until) {
    for (; at < until; at += phases)
      for_each_number<phases>([&](auto phase) { step<checks, phase.value>(at + phase.value); });
  }

  /// Takes a layer of the level that is read, and computes one of each other level.
  template <Checks checks, int phase>
  __device__ __forceinline__ void step(int at) {
    if constexpr (axes == 3 && checks_beside<checks>) {
      // Otherwise the compiler has a register for each bit, and those of levels in memory.
      stencil::cuda::forget(cells_);
      stencil::cuda::forget(rows_);
    }
    // The newest layer of a level, which is not among the kept ones yet, and that of the level
    // before it.
    Layer newest[outputs], older[outputs];
    if constexpr (axes == 2) {
#pragma unroll
      for (int o = 0; o < outputs; ++o) newest[o] = next_[phase % slots][o];
    } else {
      ahead_.await();
      for_each_number<outputs>([&](auto o) { ahead_.take(o.value, newest[o.value].row); });
      ahead_.taken();
    }
    load<checks>((phase + ahead) % slots, at + ahead);
    if constexpr (Edges::any) await_others<phase>();
    for_each_number<sweeps>([&](auto sweep) {
      constexpr int s = sweep.value;
      Layer computed[outputs];
      leave_edges<phase, s>(newest);
      update<checks, phase, s>(at - (s + 1) * lag, newest, older, computed);
      // A field that follows reads the level before the one that is read, so its newest layer is
      // kept only now.
      constexpr int done = Plan::follows ? s - 1 : s;
#pragma unroll
      for (int o = 0; o < outputs; ++o) {
        if constexpr (done >= 0) kept_[done][phase][o] = Plan::follows ? older[o] : newest[o];
        older[o] = newest[o];
        newest[o] = computed[o];
      }
    });
    if constexpr (Plan::follows) {
#pragma unroll
      for (int o = 0; o < outputs; ++o) kept_[sweeps - 1][phase][o] = older[o];
      store<checks>(at - (sweeps - 1) * lag, older, work_.before, before_);
    }
    store<checks>(at - sweeps * lag, newest, work_.out, out_);
    if constexpr (checks != Checks::all)
      for_each_number<inputs>([&](auto i) {
        if constexpr (Update::source(i.value) < 0) in_[i.value] += work_.in[i.value].step[last];
      });
  }

  /// Waits until the block's warps have left their rows, and read others', in the step before.
  template <int phase>
  __device__ __forceinline__ void await_others() {
    if constexpr (phases % 2 == 0) {
      Barrier::wait(phase % 2);
    } else {
      Barrier::wait(step_ & 1);
      ++step_;
    }
  }

  /// Leaves the rows of a level's newest layer that other warps read.
  template <int phase, int s>
  __device__ __forceinline__ void leave_edges(const Layer (&newest)[outputs]) {
    if constexpr (Edges::any)
      for_each_number<outputs>(
          [&](auto o) { edges_.template leave<phase, s, o.value, 0>(newest[o.value].row); });
  }

  /// Returns where a level keeps the layer that was its newest `ago` steps before.
  template <int phase>
  static __device__ __forceinline__ int place_of(int ago) {
    return (phase - ago + 8 * places) % places;
  }
  /// Returns a level's layer at `by` from the one that is computed. `back`: levels before the one
  /// that is read.
  template <int phase, int s, int by, int back>
  __device__ __forceinline__ const Layer& layer_of(const Layer (&newest)[outputs],
                                                   const Layer (&older)[outputs], int o) const {
    constexpr int ago = (1 + back) * lag - by;  // steps
    static_assert(ago >= 0 && ago <= kept);
    if constexpr (ago == 0)
      return back == 0 ? newest[o] : older[o];
    else
      return kept_[s - back][place_of<phase>(ago)][o];
  }

  /// Returns the value of a column of a row, which may be another lane's.
  template <int at>
  static __device__ __forceinline__ Real beside(const Row& row) {
    if constexpr (at >= 0 && at < width) {
      return row.cell[at];
    } else {
      constexpr int lanes = at < 0 ? (width - 1 - at) / width : at / width;
      constexpr int cell = at < 0 ? at + lanes * width : at - lanes * width;
      return at < 0 ? __shfl_up_sync(~0u, row.cell[cell], lanes)
                    : __shfl_down_sync(~0u, row.cell[cell], lanes);
    }
  }

  /// Returns an input's value where the level that is read, or a coefficient, has it in memory, at
  /// (x, y) from a column and row in the layer at `by`. In 2-D y is 0.
  template <Checks checks, int input, int column, int row, int x, int y>
  __device__ __forceinline__ Real loaded(int layer, int by) const {
    constexpr int v = column / in_vector, cell = column % in_vector;
    const Array<const Real>& array = work_.in[input];
    int at = read_at_ + cell + x;
    if constexpr (!checks_beside<checks>)
      at += v * in_vector;
    else if constexpr (v > 0)
      at += further_[v - 1];
    if (work_.around[0] > 0) {
      if constexpr (x != 0) at = wrapped(at, static_cast<int>(work_.around[0]));
    } else if constexpr (checks_beside<checks>) {
      const int least = work_.lead + static_cast<int>(work_.readable.lower[0]);
      const int most = work_.lead + static_cast<int>(work_.readable.upper[0]) - 1;
      at = at < least ? least : at > most ? most : at;
    }
    Index place = at + readable_layer<checks>(layer + by) * array.step[last];
    if constexpr (axes == 3)
      place +=
          (checks_beside<checks> ? readable<1>(row_ + row + y) : row_ + row + y) * array.step[1];
    return __ldg(array.cell + place);
  }

  /// The rows of neighbouring warps that a sweep reads, of each output.
  struct Neighbours {
    typename Edges::Rows of[outputs][Edges::layers];
  };

  /// A cell of a layer that sweep s of the pass computes, as updates see it.
  template <int phase, int s, int row, int column, Checks checks>
  struct CellInPass {
    const PassWalk& walk;
    const Layer (&newest)[outputs];
    const Layer (&older)[outputs];
    const Layer (&beneath)[inputs];
    const Neighbours& neighbours;
    int layer;

    template <int input, int x, int y, int z>
    __device__ __forceinline__ Real at() const {
      constexpr int source = Update::source(input);
      constexpr int over = axes == 3 ? y : 0, by = axes == 3 ? z : y;
      if constexpr (source >= 0) {
        if constexpr (row + over >= 0 && row + over < rows)
          return beside<column + x>(
              walk.template layer_of<phase, s, by, 0>(newest, older, source).row[row + over]);
        else
          return beside<column + x>(
              neighbours.of[source][Edges::number_of(by)].template at<row + over>());
      } else if constexpr (is_in_memory<input, s>) {
        if constexpr (x == 0 && over == 0 && by == 0)
          return beneath[input].row[row].cell[column];
        else
          return walk.template loaded<checks, input, column, row, x, over>(layer, by);
      } else {
        static_assert(row + over >= 0 && row + over < rows);
        return beside<column + x>(
            walk.template layer_of<phase, s, by, 1>(newest, older, -2 - source).row[row + over]);
      }
    }
    template <int axis>
    __device__ __forceinline__ Index index() const {
      return walk.work_.origin[axis] + (axis == 0      ? walk.column_ - walk.work_.lead + column
                                        : axis == last ? layer
                                        : axis == 1    ? walk.row_ + row
                                                       : 0);
    }
    __device__ __forceinline__ double time() const {
      const GraphClock& clock = walk.work_.clock;
      const long long first =
          clock.first == nullptr ? walk.work_.first_sweep : __ldg(clock.first) + clock.ahead;
      return static_cast<double>(first + s) * clock.dt;
    }
  };

  template <Checks checks, int phase, int s>
  __device__ __forceinline__ void update(int at, const Layer (&newest)[outputs],
                                         const Layer (&older)[outputs],
                                         Layer (&computed)[outputs]) {
    const bool counts = !checks_ends<checks> || (at >= count_from_ && at < count_to_);
    Layer beneath[inputs];
    load_beneath<checks, s>(beneath, at);
    Neighbours neighbours;
    take_edges<checks, phase, s>(at, neighbours);
    // The last of others' rows is read: they may leave those of the next step.
    if constexpr (Edges::any && s + 1 == sweeps) Barrier::arrive();
    for_each_number<rows>([&](auto row) {
      constexpr int j = row.value;
      const bool row_counts = counts && (axes == 2 || is(counted, rows_, j));
      const unsigned int cells = row_counts ? cells_ : 0;
      // A row's largest change, so that there is one condition for its cells: in fp32, where a
      // change is one instruction.
      constexpr bool by_row =
          kind == Norm::max && sizeof(Real) == 4 && axes == 3 && !checks_cells<checks>;
      Change<by_row ? kind : Norm::none, Real> of_row;
      for_each_number<width>([&](auto k) {
        const CellInPass<phase, s, j, k.value, checks> cell{*this,   newest,     older,
                                                            beneath, neighbours, at};
        Real values[outputs];
        update_(cell, values);
#pragma unroll
        for (int o = 0; o < outputs; ++o) computed[o].row[j].cell[k.value] = values[o];
        if constexpr (kind != Norm::none)
          for_each_number<Update::normed>([&](auto n) {
            const Real now = Update::template now<n.value>(cell, values);
            const Real before = Update::template before<n.value>(cell);
            // Where nothing is checked, lanes that do not store are left out at the end.
            if constexpr (by_row)
              of_row.add(now, before);
            else if (checks_cells<checks> ? is(counted, cells, k.value) : row_counts)
              change_[s].add(now, before);
          });
      });
      if constexpr (by_row)
        if (row_counts) change_[s].join(of_row);
    });
    if constexpr (!checks_beside<checks>) return;
    const bool layer_changes = checks != Checks::all || (at >= work_.changing.lower[last] &&
                                                         at < work_.changing.upper[last]);
    for_each_number<outputs>([&](auto o) {
      const Layer& was = layer_of<phase, s, 0, 0>(newest, older, o.value);
#pragma unroll
      for (int j = 0; j < rows; ++j) {
        const bool row_changes = axes == 2 || is(changing, rows_, j);
        const unsigned int cells = row_changes ? cells_ : 0;
#pragma unroll
        for (int k = 0; k < width; ++k)
          if (!layer_changes || (checks_cells<checks> ? !is(changing, cells, k) : !row_changes))
            computed[o.value].row[j].cell[k] = was.row[j].cell[k];
      }
    });
    // The next pass gets its own.
    if constexpr (s + 1 < sweeps)
      for_each_number<outputs>([&](auto o) {
        if (layer_changes) make_columns<s + 1, o.value>(at, computed[o.value]);
        if constexpr (checks == Checks::all)
          make_layers<phase, s + 1, o.value>(at, computed[o.value]);
      });
  }

  /// Returns the terms of ghosts that sweep s reads, of a place in the region.
  template <int s, int o, int side, int layer>
  __device__ __forceinline__ problem::GhostTerms<Real> terms(Index x, Index y, Index z) const {
    constexpr SideOfPass one = Plan::side(o, side);
    if constexpr (problem::values_of(one.kind) == 0) {
      return {};
    } else {
      Index number = 0, cells = 1;
      for_each_number<axes>([&](auto axis) {
        constexpr int along = axis.value;
        if constexpr (along != side / 2) {
          const Index at = along == 0 ? x : along == 1 ? y : z;
          if constexpr (Plan::side(o, side).by_place)
            number += cells * work_.along[along].number_of(work_.origin[along] + at);
          cells *= work_.along[along].cells;
        }
      });
      return work_.terms[o][side][place_of_terms(one, cells, s, layer, number)];
    }
  }

  /// Makes the ghosts of a layer beyond the sides of x. Those beyond a side of another axis, too,
  /// are that side's.
  template <int s, int o>
  __device__ __forceinline__ void make_columns(int at, Layer& layer) const {
    for_each_number<2>([&](auto end) {
      constexpr int side = end.value;  // NVRTC 13 has no constant `end.value` in the inner function
      constexpr SideOfPass one = Plan::side(o, side);
      if constexpr (one.layers > 0) {
        const int nearest = side_at_[side] - (side == 0 ? 1 : 0);
        if (nearest < 0 || nearest >= strip_lanes_ * width) return;
        for_each_number<rows>([&](auto row) {
          constexpr int j = row.value;
          const bool row_changes = axes == 2 || is(changing, rows_, j);
          for_each_number<one.layers>([&](auto number) {
            constexpr int out = side == 0 ? -number.value : number.value;
            const int place = nearest + out;
            const Real mirrored = cell_of_strip(layer.row[j], nearest - out + (side == 0 ? 1 : -1));
            const bool has_it = row_changes && lane_ == lane_of(place);
            if (axes == 3 && !has_it) return;
            const Real value =
                problem::ghost(one.kind,
                               axes == 3 ? terms<s, o, side, number.value>(0, row_ + j, at)
                                         : terms<s, o, side, number.value>(0, at, 0),
                               mirrored);
            // In a loop, NVRTC 13 takes k for the number it is compared with, and has the row in
            // memory.
            for_each_number<width>([&](auto k) {
              if (has_it && k.value == place - lane_of(place) * width)
                layer.row[j].cell[k.value] = value;
            });
          });
        });
      }
    });
  }

  /// Makes a row of ghosts from the one that mirrors it.
  template <int s, int o, int side, int layer>
  __device__ __forceinline__ void make_row(Row& ghosts, const Row& mirrored, int y, int z) const {
    for_each_number<width>([&](auto k) {
      ghosts.cell[k.value] = problem::ghost(
          Plan::side(o, side).kind, terms<s, o, side, layer>(column_ - work_.lead + k.value, y, z),
          mirrored.cell[k.value]);
    });
  }

  /// Makes the layers of ghosts beyond the lower side of the last axis that this layer mirrors; or
  /// makes it, beyond the upper side, from the layer that mirrors it. `s`: the sweep that reads it.
  template <int phase, int s, int o>
  __device__ __forceinline__ void make_layers(int at, Layer& layer) {
    for_each_number<2>([&](auto end) {
      constexpr int side = 2 * last + end.value;
      constexpr SideOfPass one = Plan::side(o, side);
      if constexpr (one.layers > 0)
        for_each_number<one.layers>([&](auto number) {
          constexpr int out = number.value, apart = 2 * out + 1;
          static_assert(apart <= kept);
          Layer& other = kept_[s][place_of<phase>(apart)][o];
          const int ours = static_cast<int>(side % 2 == 0 ? work_.changing.lower[last]
                                                          : work_.changing.upper[last]);
          if (at != ours + out) return;
          for_each_number<rows>([&](auto j) {
            Row &here = layer.row[j.value], &there = other.row[j.value];
            if constexpr (side % 2 == 0)
              make_row<s, o, side, out>(there, here, row_ + j.value, at);
            else
              make_row<s, o, side, out>(here, there, row_ + j.value, at);
          });
          if constexpr (side % 2 == 0 && Edges::first < 0)
            edges_.template leave<phase, s, o, apart>(other.row);
        });
    });
  }

  /// Takes the rows of neighbouring warps that sweep s reads, and makes those and this warp's own
  /// that are ghosts beyond the sides of y.
  template <Checks checks, int phase, int s>
  __device__ __forceinline__ void take_edges(int at, Neighbours& neighbours) {
    if constexpr (Edges::any)
      for_each_number<outputs>([&](auto output) {
        constexpr int o = output.value;
        if constexpr (Edges::reads_over(o))
          for_each_number<Edges::layers>([&](auto number) {
            constexpr int by = Edges::first + number.value, ago = lag - by;
            typename Edges::Rows& taken = neighbours.of[o][number.value];
            edges_.template take<phase, s, o, ago>(taken);
            if constexpr (checks_beside<checks> && s > 0) {
              const int z = at + by;
              // Next to a layer that changes may be one that does not.
              const bool layer_changes =
                  (checks != Checks::all && by == 0) ||
                  (z >= work_.changing.lower[last] && z < work_.changing.upper[last]);
              if (layer_changes) make_rows<s, o>(z, kept_[s][place_of<phase>(ago)][o], taken);
            }
          });
      });
  }

  /// Makes the ghosts beyond the sides of y among a layer's rows and those of neighbouring warps.
  template <int s, int o>
  __device__ __forceinline__ void make_rows(int z, Layer& layer, typename Edges::Rows& taken) {
    constexpr int over = Edges::over;
    for_each_number<2>([&](auto end) {
      constexpr int side = 2 + end.value;
      constexpr SideOfPass one = Plan::side(o, side);
      if constexpr (one.layers > 0) {
        // The domain's first row or the first behind it, counted from this warp's.
        const int begin =
            static_cast<int>(side == 2 ? work_.changing.lower[1] : work_.changing.upper[1]) - row_;
        if (begin < -over || begin > rows + over) return;
        for_each_number<one.layers>([&](auto number) {
          constexpr int out = number.value;
          const int ghosts = side == 2 ? begin - 1 - out : begin + out;
          const int mirrored = side == 2 ? begin + out : begin - 1 - out;
          // One row alone is made: all of their places in code of their own are too much of it.
          Row made = layer.row[0];
          for_each_number<rows + 2 * over>([&](auto place) {
            constexpr int at = place.value - over;
            if (at == mirrored) made = Edges::template row_of<at>(layer.row, taken);
          });
          make_row<s, o, side, out>(made, made, row_ + ghosts, z);
          for_each_number<rows + 2 * over>([&](auto place) {
            constexpr int at = place.value - over;
            if (at == ghosts) Edges::template row_of<at>(layer.row, taken) = made;
          });
        });
      }
    });
  }

  /// Returns the lane that has a cell of the strip; of none for cells outside it.
  static __device__ __forceinline__ int lane_of(int at) {
    return static_cast<int>(static_cast<unsigned>(at + warp_lanes * width) / width) - warp_lanes;
  }
  /// Returns the value of a cell of the strip.
  __device__ __forceinline__ Real cell_of_strip(const Row& row, int at) const {
    const int lane = lane_of(at);
    Real cell = row.cell[0];
    for_each_number<width>([&](auto k) {
      if (k.value == at - lane * width) cell = row.cell[k.value];
    });
    const int begin = static_cast<int>(threadIdx.x) - lane_;
    return __shfl_sync(~0u, cell, (begin + lane) & (warp_lanes - 1));
  }

  /// Stores a layer of each field that `arrays` have.
  template <Checks checks>
  __device__ __forceinline__ void store(int at, const Layer (&layers)[outputs],
                                        const Array<Real>* arrays, Real* (&places)[outputs]) const {
#pragma unroll
    for (int o = 0; o < outputs; ++o) {
      if (arrays[o].cell == nullptr) continue;
      Real* place = checks == Checks::all ? place_in(arrays[o], at) : places[o];
      if constexpr (checks != Checks::all) places[o] += arrays[o].step[last];
      if (checks_ends<checks> && !(at >= from_ && at < to_)) continue;
#pragma unroll
      for (int j = 0; j < rows; ++j) {
        Real* row = place + j * arrays[o].step[1];
        if (axes == 3 && !is(stored, rows_, j)) continue;
        const unsigned int cells = cells_ & all * stored;
        if (checks_cells<checks> ? cells == all : checks_beside<checks> || cells != 0) {
#pragma unroll
          for (int v = 0; v < vectors; ++v)
            __stcs(reinterpret_cast<Vector*>(row) + v,
                   VectorOf<Real>::make(layers[o].row[j].cell + v * in_vector));
        } else if (checks_cells<checks> && cells != 0) {
#pragma unroll
          for (int k = 0; k < width; ++k)
            if (is(stored, cells_, k)) row[k] = layers[o].row[j].cell[k];
        }
      }
    }
  }

  const Work& work_;
  const Update& update_;
  int lane_, strip_lanes_;  // of the strip
  int column_, read_at_;    // counted from the boundary at or before the region
  int row_ = 0, read_row_ = 0;
  int from_, to_, count_from_, count_to_;
  int side_at_[2];  // where the domain begins and ends along x, counted in the strip
  int further_[vectors > 1 ? vectors - 1 : 1];  // other vectors, from the first
  int further_rows_[rows > 1 ? rows - 1 : 1];   // other rows
  unsigned int cells_ = 0, rows_ = 0;
  const Real* in_[inputs];
  Real *out_[outputs], *before_[outputs];
  Layer next_[slots][outputs];  // on the way, in 2-D
  Ahead ahead_;
  Layer kept_[sweeps][places][outputs] = {};
  Change<kind, Real> change_[kind == Norm::none ? 1 : sweeps];
  Edges edges_;
  int step_ = 0;  ///< its number, where that of phases is odd
};

}  // namespace halocline::stencil::cuda

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The walk of a pass of several sweeps. A warp walks along the last axis over a strip of 32 lanes
// of some cells each, in 3-D over some rows of these, with the layers of all levels between the
// first and the last in registers: when it loads layer n it computes layer n - 1 of the next level
// (of a formula that reads the nearest cells), n - 2 of the one after it, and so on. Neighbours
// along x are in other lanes. In 3-D the warps of a block lie one above the other along y, and
// leave the rows that others read in the block's memory, see edges.cuh; a warp waits for the others
// once a layer, as late as it can. Where few columns are left for the last strip, a warp has rows
// of several tiles side by side there, see lane_of_walk().
//
// What lies outside the block's tile or before the walk's first layer, others compute too: at each
// end of the tile and of the walk as many cells as the sweeps of the pass read, which are neither
// stored nor counted. Ghosts that change are made for each sweep, see ghosts.cuh: beyond the sides
// of x when their row is computed, beyond those of the last axis when the layer is that mirrors
// them, and beyond those of y in 3-D when they are read: the rows that mirror them may be another
// warp's.
//
// `Plan`, printed with the update, has how layers depend on each other, see LayersOfPass, and the
// sides whose ghosts change.
//
// Compiled by NVRTC, so it includes nothing of the standard library.

#include "device/cuda/split_barrier.cuh"
#include "stencil/cuda/change.cuh"
#include "stencil/cuda/passes/ahead.cuh"
#include "stencil/cuda/passes/edges.cuh"
#include "stencil/cuda/passes/ghosts.cuh"
#include "stencil/cuda/passes/place.cuh"
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

template <class Real>
struct SizeInPass {
  using Type = Real;
};
template <>
struct SizeInPass<double> {
  using Type = unsigned long long;
};
/// The change of one sweep of a pass. In fp64 a number's |x| is an addition, of which a pass has
/// enough: by bits laplace runs at 922, not 836 GLUP/s on an H200 (16384x16384, max), and a single
/// sweep is 2 % slower.
template <Norm kind, class Real>
using ChangeInPass = Change<kind, Real, typename SizeInPass<Real>::Type>;

template <Norm kind, class Shape, class Plan, class Work, class Real, class Update>
class PassWalk {
 public:
  using Place = PlaceInPass<Shape, Plan, Work, Real>;
  static constexpr int axes = Place::axes, last = Place::last;
  static constexpr int sweeps = Shape::sweeps, lag = Plan::lag;
  static constexpr int width = Place::width, rows = Place::rows;
  static constexpr int in_vector = Place::in_vector, vectors = Place::vectors;
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
      : work_(work), update_(update), place_(work, walk) {
    from_ = walk.from;
    to_ = walk.to < work.cells[last] ? walk.to : static_cast<int>(work.cells[last]);
    count_from_ = larger(from_, work.owned.lower[last]);
    count_to_ = smaller(to_, work.owned.upper[last]);
  }

  __device__ void run() { run_inlined(); }
  /// Where formulas are long, NVRTC leaves run() a function, with the object in memory. Elsewhere
  /// it is better: by force, laplace by 12 sweeps keeps 152 bytes of a thread in memory, not 112.
  __device__ __forceinline__ void run_inlined() {
    const bool is_whole = __all_sync(~0u, place_.is_plain()) != 0;
    int at = begin();
    march_in_parts(at, is_whole);
  }

  /// In 3-D: whether all columns and rows that the block's walk reads are in the domain and the
  /// region. Call it on all threads of the block.
  __device__ bool block_is_plain() const { return __syncthreads_and(place_.is_plain()) != 0; }
  /// Whether the cells of each lane are alike: all of them change or none, and so on.
  __device__ bool block_has_whole_lanes() const {
    return __syncthreads_and(place_.is_whole()) != 0;
  }
  /// Whether all layers that the walk reads are in the domain.
  __device__ bool is_within() const {
    const Parts parts = parts_of_walk();
    return parts.begins_within && parts.ends_within;
  }
  /// Does a walk of which these are known.
  template <Checks checks, bool within>
  __device__ __forceinline__ void run_in_block() {
    if constexpr (checks == Checks::lanes_and_ends) place_.join_cells_to_rows();
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
  __device__ const ChangeInPass<kind, Real>& change(int sweep) const { return change_[sweep]; }
  /// Whether this lane's change counts.
  __device__ bool counts() const { return (place_.cells & Place::all * Place::counted) != 0; }

 private:
  using Vector = typename VectorOf<Real>::Type;
  using Row = RowOfLane<Real, width>;
  /// A lane's part of a layer.
  struct Layer {
    Row row[rows];
  };
  using Edges = EdgesOfPass<Shape, Plan, Real, outputs>;
  using Barrier = device::cuda::SplitBarrier;
  using Ahead = LayersAhead<Shape, Real, outputs, Edges::bytes()>;
  using Ghosts = GhostsOfPass<Shape, Plan, Work, Real>;
  static constexpr unsigned int stored = Place::stored, counted = Place::counted,
                                changing = Place::changing;
  static __device__ __forceinline__ bool is(unsigned int what, unsigned int bits, int number) {
    return Place::is(what, bits, number);
  }

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

  static __device__ int larger(Index a, Index b) { return static_cast<int>(a > b ? a : b); }
  static __device__ int smaller(Index a, Index b) { return static_cast<int>(a < b ? a : b); }
  template <Checks checks>
  __device__ __forceinline__ int readable_layer(int at) const {
    if constexpr (checks != Checks::all) return at;
    return place_.template readable<last>(at);
  }

  /// Calls `call` with each row and vector of this lane's part of a layer, and where it is.
  template <Checks checks, class Call>
  __device__ __forceinline__ void each_vector(const Real* place, [[maybe_unused]] Index step,
                                              const Call& call) const {
#pragma unroll
    for (int j = 0; j < rows; ++j) {
      const Real* row = place;
      if (j > 0) row += (checks_beside<checks> ? place_.further_rows[j - 1] : j) * step;
#pragma unroll
      for (int v = 0; v < vectors; ++v) {
        const int further = v == 0                  ? 0
                            : checks_beside<checks> ? place_.further[v - 1]
                                                    : v * in_vector;
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
          place = array.cell + place_.offset(array, readable_layer<checks>(at));
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
          place = array.cell + place_.offset(array, readable_layer<checks>(at));
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
      in_[i.value] = work_.in[i.value].cell + place_.offset(work_.in[i.value], first);
    });
    for (int o = 0; o < outputs; ++o) {
      out_[o] = place_.address_in(work_.out[o], at - sweeps * lag);
      if (work_.before[o].cell != nullptr)
        before_[o] = place_.address_in(work_.before[o], at - (sweeps - 1) * lag);
    }
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
      stencil::cuda::forget(place_.cells);
      stencil::cuda::forget(place_.bits_of_rows);
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
    int at = place_.read_at + cell + x;
    if constexpr (!checks_beside<checks>)
      at += v * in_vector;
    else if constexpr (v > 0)
      at += place_.further[v - 1];
    if (work_.around[0] > 0) {
      if constexpr (x != 0) at = Place::wrapped(at, static_cast<int>(work_.around[0]));
    } else if constexpr (checks_beside<checks>) {
      const int least = work_.lead + static_cast<int>(work_.readable.lower[0]);
      const int most = work_.lead + static_cast<int>(work_.readable.upper[0]) - 1;
      at = at < least ? least : at > most ? most : at;
    }
    Index place = at + readable_layer<checks>(layer + by) * array.step[last];
    if constexpr (axes == 3)
      place += (checks_beside<checks> ? place_.template readable<1>(place_.row + row + y)
                                      : place_.row + row + y) *
               array.step[1];
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
      return walk.work_.origin[axis] + (axis == 0 ? walk.place_.column - walk.work_.lead + column
                                        : axis == last ? layer
                                        : axis == 1    ? walk.place_.row + row
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
      const bool row_counts = counts && (axes == 2 || is(counted, place_.bits_of_rows, j));
      const unsigned int cells = row_counts ? place_.cells : 0;
      // A row's largest change, so that there is one condition for its cells.
      constexpr bool by_row = kind == Norm::max && axes == 3 && !checks_cells<checks>;
      ChangeInPass<by_row ? kind : Norm::none, Real> of_row;
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
        const bool row_changes = axes == 2 || is(changing, place_.bits_of_rows, j);
        const unsigned int cells = row_changes ? place_.cells : 0;
#pragma unroll
        for (int k = 0; k < width; ++k)
          if (!layer_changes || (checks_cells<checks> ? !is(changing, cells, k) : !row_changes))
            computed[o.value].row[j].cell[k] = was.row[j].cell[k];
      }
    });
    // The next pass gets its own.
    if constexpr (s + 1 < sweeps)
      for_each_number<outputs>([&](auto o) {
        if (layer_changes)
          ghosts().template make_columns<s + 1, o.value>(at, computed[o.value].row);
        if constexpr (checks == Checks::all)
          make_layers<phase, s + 1, o.value>(at, computed[o.value]);
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
              ghosts().template make_row<s, o, side, out>(there, here, place_.row + j.value, at);
            else
              ghosts().template make_row<s, o, side, out>(here, there, place_.row + j.value, at);
          });
          if constexpr (side % 2 == 0 && Edges::first < 0)
            edges_.template leave<phase, s, o, apart>(other.row);
        });
    });
  }

  __device__ __forceinline__ Ghosts ghosts() const { return {work_, place_}; }

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
              if (layer_changes)
                ghosts().template make_rows<Edges, s, o>(z, kept_[s][place_of<phase>(ago)][o].row,
                                                         taken);
            }
          });
      });
  }

  /// Stores a layer of each field that `arrays` have.
  template <Checks checks>
  __device__ __forceinline__ void store(int at, const Layer (&layers)[outputs],
                                        const Array<Real>* arrays, Real* (&places)[outputs]) const {
#pragma unroll
    for (int o = 0; o < outputs; ++o) {
      if (arrays[o].cell == nullptr) continue;
      Real* place = checks == Checks::all ? place_.address_in(arrays[o], at) : places[o];
      if constexpr (checks != Checks::all) places[o] += arrays[o].step[last];
      if (checks_ends<checks> && !(at >= from_ && at < to_)) continue;
#pragma unroll
      for (int j = 0; j < rows; ++j) {
        Real* row = place + j * arrays[o].step[1];
        if (axes == 3 && !is(stored, place_.bits_of_rows, j)) continue;
        const unsigned int cells = place_.cells & Place::all * stored;
        if (checks_cells<checks> ? cells == Place::all : checks_beside<checks> || cells != 0) {
#pragma unroll
          for (int v = 0; v < vectors; ++v)
            __stcs(reinterpret_cast<Vector*>(row) + v,
                   VectorOf<Real>::make(layers[o].row[j].cell + v * in_vector));
        } else if (checks_cells<checks> && cells != 0) {
#pragma unroll
          for (int k = 0; k < width; ++k)
            if (is(stored, place_.cells, k)) row[k] = layers[o].row[j].cell[k];
        }
      }
    }
  }

  const Work& work_;
  const Update& update_;
  Place place_;
  int from_, to_, count_from_, count_to_;
  const Real* in_[inputs];
  Real *out_[outputs], *before_[outputs];
  Layer next_[slots][outputs];  // on the way, in 2-D
  Ahead ahead_;
  Layer kept_[sweeps][places][outputs] = {};
  ChangeInPass<kind, Real> change_[kind == Norm::none ? 1 : sweeps];
  Edges edges_;
  int step_ = 0;  ///< its number, where that of phases is odd
};

}  // namespace halocline::stencil::cuda

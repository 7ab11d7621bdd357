// SPDX-License-Identifier: Apache-2.0
#pragma once
// Several sweeps in one pass over memory, in two axes. A warp walks along y over a strip of 32
// lanes of some cells each, with the rows of all levels between the first and the last in
// registers: when it loads row y it computes row y - 1 of the next level (of a formula that reads
// the nearest cells), y - 2 of the one after it, and so on. Neighbours along x are in other lanes.
// What lies outside the strip or before the walk's first row, others compute too: at each end of
// the strip and of the walk as many cells as the sweeps of the pass read, which are neither stored
// nor counted. Ghosts that change are made for each sweep, in registers: columns when their row is
// computed, rows when the row is that mirrors them.
//
// `Plan`, printed with the update, has how rows depend on each other, see RowsOfPass, and the
// sides whose ghosts change.
//
// Compiled by NVRTC, so it includes nothing of the standard library.

#include "stencil/cuda/change.cuh"
#include "stencil/cuda/passes/pass_work.cuh"
#include "stencil/cuda/walks/march.cuh"

namespace halocline::stencil::cuda {

/// `vectors` of a lane in a row; rows `ahead` loaded before they are used; `warps` of a block, and
/// blocks that must fit on a multiprocessor, which limits registers; `fetched`: the rows before its
/// load at which a row is brought into the second-level cache (0: it is not); `bare`: whether the
/// steps in the middle of a walk have code of their own, which does not check rows; `inlined`:
/// whether the walk is a part of the kernel by force.
template <int sweeps_, int vectors_, int ahead_, int warps_, int blocks_, int fetched_, bool bare_,
          bool inlined_>
struct PassShape {
  static constexpr int sweeps = sweeps_, vectors = vectors_, ahead = ahead_, warps = warps_,
                       blocks = blocks_, fetched = fetched_;
  static constexpr bool bare = bare_, inlined = inlined_;
};

/// What a step checks: nothing; which rows are stored and counted, at the ends of a walk; which
/// columns are, and which change; or all of these, and which rows change and can be read.
enum class Checks { none, ends, columns, columns_and_ends, all };

template <Checks checks>
inline constexpr bool checks_columns = checks >= Checks::columns;
template <Checks checks>
inline constexpr bool checks_ends = checks == Checks::ends || checks >= Checks::columns_and_ends;

template <Norm kind, class Shape, class Plan, class Work, class Real, class Update>
class PassWalk {
 public:
  static constexpr int sweeps = Shape::sweeps, lag = Plan::lag;
  static constexpr int in_vector = vector_cells<Real>;
  static constexpr int width = Shape::vectors * in_vector;  ///< cells of a lane
  static constexpr int kept = Plan::kept, ahead = Shape::ahead;
  static constexpr int inputs = Update::inputs, outputs = Update::outputs;
  /// Rows after which registers have the same roles again.
  static constexpr int phases = kept > ahead ? kept : ahead;
  static_assert(phases % kept == 0 && phases % ahead == 0);

  __device__ __forceinline__ PassWalk(const Work& work, const Update& update,
                                      const WalkOfPass& walk)
      : work_(work), update_(update) {
    constexpr int lost = lost_lanes(sweeps, Plan::beside, width);
    constexpr int strip_width = (warp_lanes - 2 * lost) * width;
    static_assert(strip_width > 0);
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
    column_ = walk.strip * strip_width + (lane - lost) * width;
    from_ = walk.from;
    to_ = walk.to < work.cells[1] ? walk.to : static_cast<int>(work.cells[1]);
    count_from_ = larger(from_, work.owned.lower[1]);
    count_to_ = smaller(to_, work.owned.upper[1]);
    const bool is_own = lane >= lost && lane < warp_lanes - lost;
    for (int k = 0; k < width; ++k) {
      const int x = column_ + k - work.lead;
      const bool is_stored = is_own && x >= 0 && x < work.cells[0];
      if (is_stored) stored_ |= 1u << k;
      if (is_stored && x >= work.owned.lower[0] && x < work.owned.upper[0]) counted_ |= 1u << k;
      if (x >= work.changing.lower[0] && x < work.changing.upper[0]) changing_ |= 1u << k;
    }
    const Index strip_begin = column_ - lane * width - work.lead;
    side_at_[0] = static_cast<int>(work.changing.lower[0] - strip_begin);
    side_at_[1] = static_cast<int>(work.changing.upper[0] - strip_begin);
    for (int v = 0; v < Shape::vectors; ++v) {
      const int at = readable_column(column_ + v * in_vector);
      if (v == 0)
        read_at_ = at;
      else
        further_[v - 1] = at - read_at_;
    }
  }

  __device__ void run() { run_inlined(); }
  /// Where formulas are long, NVRTC leaves run() a function, with the object in memory. Elsewhere
  /// it is better: by force, laplace by 12 sweeps keeps 152 bytes of a thread in memory, not 112.
  __device__ __forceinline__ void run_inlined() {
    const bool is_plain = changing_ == all && (stored_ == all || stored_ == 0) &&
                          counted_ == stored_ && !reads_apart();
    const bool is_whole = __all_sync(~0u, is_plain) != 0;
    const int first = from_ - sweeps * Plan::behind, end = to_ + sweeps * lag;
    // From `steady` on, the rows of all levels are stored and counted ones, until `steady_end`.
    const int steady = larger(count_from_, work_.changing.lower[1]) + sweeps * lag;
    const int steady_end = smaller(smaller(count_to_, work_.changing.upper[1]) + lag,
                                   work_.readable.upper[1] - ahead - Shape::fetched);
    // Steps before and after that check less within the domain: all checks take 2.5 times as long,
    // and laplace (4096x4096 cells in fp32) took 9.9 us a sweep by 12 where it takes 8.8.
    constexpr int before = Plan::in_memory < 0 ? 0 : sweeps * lag + Plan::in_memory;
    constexpr int loaded = ahead + Shape::fetched;
    constexpr int beyond = phases + (loaded > Plan::in_memory ? loaded : Plan::in_memory);
    const bool begins_within =
        first >= work_.changing.lower[1] && first - before >= work_.readable.lower[1] &&
        steady + phases <= work_.changing.upper[1] && steady + beyond <= work_.readable.upper[1];
    const bool ends_within =
        end <= work_.changing.upper[1] && end + beyond <= work_.readable.upper[1];
    int row = first;
    for_each_number<ahead>([&](auto j) { load<Checks::all>(next_[j.value], row + j.value); });
    if (begins_within) set_places(row);
#pragma unroll 1  // the code of each kind of step is there once
    for (int part = 0; part < 3; ++part) {
      const int until = part == 0   ? smaller(steady, end)
                        : part == 1 ? steady_end - phases + 1
                                    : end;
      const bool is_within = part == 0 ? begins_within : part == 1 || ends_within;
      if (part == 1 && !begins_within) set_places(row);
      if (!is_within) {
        march<Checks::all>(row, until);
      } else if (Shape::bare && part == 1) {
        if (is_whole)
          march<Checks::none>(row, until);
        else
          march<Checks::columns>(row, until);
      } else {
        if (is_whole)
          march<Checks::ends>(row, until);
        else
          march<Checks::columns_and_ends>(row, until);
      }
    }
  }

  /// Returns a sweep's change, of the cells that this lane counts.
  __device__ const Change<kind, Real>& change(int sweep) const { return change_[sweep]; }

 private:
  static constexpr unsigned int all = width == 32 ? ~0u : (1u << width) - 1;
  using Vector = typename VectorOf<Real>::Type;
  struct Row {
    Real cell[width];
  };

  static __device__ int larger(Index a, Index b) { return static_cast<int>(a > b ? a : b); }
  static __device__ int smaller(Index a, Index b) { return static_cast<int>(a < b ? a : b); }
  static __device__ int wrapped(int at, int cells) {
    const int rest = at % cells;
    return rest < 0 ? rest + cells : rest;
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
  /// Whether this lane's vectors are not side by side in memory.
  __device__ bool reads_apart() const {
    bool apart = false;
    for (int v = 1; v < Shape::vectors; ++v) apart = apart || further_[v - 1] != v * in_vector;
    return apart;
  }

  template <Checks checks>
  __device__ __forceinline__ int readable_row(int row) const {
    if constexpr (checks != Checks::all) return row;
    if (work_.around[1] > 0) return wrapped(row, static_cast<int>(work_.around[1]));
    const int least = static_cast<int>(work_.readable.lower[1]);
    const int most = static_cast<int>(work_.readable.upper[1]) - 1;
    return row < least ? least : row > most ? most : row;
  }

  /// `again`: whether other sweeps of the pass read it, too.
  template <Checks checks, bool again = false>
  __device__ __forceinline__ void load_row(Row& row, const Real* place) const {
#pragma unroll
    for (int v = 0; v < Shape::vectors; ++v) {
      const int further = v == 0 ? 0 : checks_columns<checks> ? further_[v - 1] : v * in_vector;
      const Vector* at = reinterpret_cast<const Vector*>(place + further);
      VectorOf<Real>::split(again ? __ldg(at) : __ldcs(at), row.cell + v * in_vector);
    }
  }

  /// Whether sweep s of a pass reads an input where memory has it: a coefficient, or the level
  /// before the one that the pass reads.
  template <int input, int s>
  static constexpr bool is_in_memory = Update::source(input) == coefficient ||
                                       (Update::source(input) < coefficient && s == 0);

  /// Loads what a cell of sweep s reads of these inputs at itself.
  template <Checks checks, int s>
  __device__ __forceinline__ void load_beneath(Row (&rows)[inputs], int y) const {
    for_each_number<inputs>([&](auto i) {
      if constexpr (is_in_memory<i.value, s>) {
        const Array<const Real>& array = work_.in[i.value];
        const Real* place;
        if constexpr (checks == Checks::all)
          place = array.cell + read_at_ + readable_row<checks>(y) * array.step[1];
        else  // products of 64 bits would stay in registers, one for each sweep
          place = in_[i.value] - static_cast<Index>(s * lag * static_cast<int>(array.step[1]));
        load_row<checks, true>(rows[i.value], place);
      }
    });
  }

  /// Loads a row of each computed field.
  template <Checks checks>
  __device__ __forceinline__ void load(Row (&rows)[outputs], int row) {
    for_each_number<inputs>([&](auto i) {
      constexpr int source = Update::source(i.value);
      if constexpr (source >= 0) {
        const Array<const Real>& array = work_.in[i.value];
        if constexpr (checks == Checks::all) {
          load_row<checks>(rows[source],
                           array.cell + read_at_ + readable_row<checks>(row) * array.step[1]);
        } else {
          load_row<checks>(rows[source], in_[i.value]);
          if constexpr (Shape::fetched > 0) {
            constexpr int lanes = 128 / static_cast<int>(sizeof(Real)) / width;
            if (threadIdx.x % (lanes > 0 ? lanes : 1) == 0)
              fetch_line(in_[i.value] + Shape::fetched * array.step[1]);
          }
          in_[i.value] += array.step[1];
        }
      }
    });
  }

  /// For steps from `row` on that check no rows.
  __device__ void set_places(int row) {
    for_each_number<inputs>([&](auto i) {
      const int first = Update::source(i.value) >= 0 ? row + ahead : row - lag;
      in_[i.value] = work_.in[i.value].cell + read_at_ + first * work_.in[i.value].step[1];
    });
    for (int o = 0; o < outputs; ++o) {
      out_[o] = work_.out[o].cell + column_ + (row - sweeps * lag) * work_.out[o].step[1];
      if (work_.before[o].cell != nullptr)
        before_[o] =
            work_.before[o].cell + column_ + (row - (sweeps - 1) * lag) * work_.before[o].step[1];
    }
  }

  /// Takes steps from `row` on until it is `until` or more.
  template <Checks checks>
  __device__ __forceinline__ void march(int& row, int until) {
    for (; row < until; row += phases)
      for_each_number<phases>([&](auto phase) { step<checks, phase.value>(row + phase.value); });
  }

  /// Takes a row of the level that is read, and computes one of each other level.
  template <Checks checks, int phase>
  __device__ __forceinline__ void step(int row) {
    // The newest row of a level, which is not among the kept ones yet, and that of the level before
    // it.
    Row newest[outputs], older[outputs];
#pragma unroll
    for (int o = 0; o < outputs; ++o) newest[o] = next_[phase % ahead][o];
    load<checks>(next_[phase % ahead], row + ahead);
    for_each_number<sweeps>([&](auto sweep) {
      constexpr int s = sweep.value;
      Row computed[outputs];
      update<checks, phase, s>(row - (s + 1) * lag, newest, older, computed);
      // A field that follows reads the level before the one that is read, so its newest row is kept
      // only now.
      constexpr int done = Plan::follows ? s - 1 : s;
#pragma unroll
      for (int o = 0; o < outputs; ++o) {
        if constexpr (done >= 0)
          kept_[done][phase % kept][o] = Plan::follows ? older[o] : newest[o];
        older[o] = newest[o];
        newest[o] = computed[o];
      }
    });
    if constexpr (Plan::follows) {
#pragma unroll
      for (int o = 0; o < outputs; ++o) kept_[sweeps - 1][phase % kept][o] = older[o];
      store<checks>(row - (sweeps - 1) * lag, older, work_.before, before_);
    }
    store<checks>(row - sweeps * lag, newest, work_.out, out_);
    if constexpr (checks != Checks::all)
      for_each_number<inputs>([&](auto i) {
        if constexpr (Update::source(i.value) < 0) in_[i.value] += work_.in[i.value].step[1];
      });
  }

  /// Returns a level's row at `by` from the one that is computed. `back`: levels before the one
  /// that is read.
  template <int phase, int s, int by, int back>
  __device__ __forceinline__ const Row& row_of(const Row (&newest)[outputs],
                                               const Row (&older)[outputs], int o) const {
    constexpr int ago = (1 + back) * lag - by;  // steps
    static_assert(ago >= 0 && ago <= kept);
    if constexpr (ago == 0)
      return back == 0 ? newest[o] : older[o];
    else
      return kept_[s - back][(phase - ago + 8 * kept) % kept][o];
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

  /// Returns an input's value where the level that is read, or a coefficient, has it in memory.
  template <Checks checks, int input, int column, int by>
  __device__ __forceinline__ Real loaded(int row, int to) const {
    constexpr int v = column / in_vector, cell = column % in_vector;
    int at = read_at_ + cell + by;
    if constexpr (!checks_columns<checks>)
      at += v * in_vector;
    else if constexpr (v > 0)
      at += further_[v - 1];
    if (work_.around[0] > 0) {
      if constexpr (by != 0) at = wrapped(at, static_cast<int>(work_.around[0]));
    } else if constexpr (checks_columns<checks>) {
      const int least = work_.lead + static_cast<int>(work_.readable.lower[0]);
      const int most = work_.lead + static_cast<int>(work_.readable.upper[0]) - 1;
      at = at < least ? least : at > most ? most : at;
    }
    return __ldg(work_.in[input].cell + at +
                 readable_row<checks>(row + to) * work_.in[input].step[1]);
  }

  /// A cell of a row that sweep s of the pass computes, as updates see it.
  template <int phase, int s, int column, Checks checks>
  struct CellInPass {
    const PassWalk& walk;
    const Row (&newest)[outputs];
    const Row (&older)[outputs];
    const Row (&beneath)[inputs];
    int row;

    template <int input, int x, int y, int z>
    __device__ __forceinline__ Real at() const {
      constexpr int source = Update::source(input);
      if constexpr (source >= 0)
        return beside<column + x>(walk.template row_of<phase, s, y, 0>(newest, older, source));
      else if constexpr (is_in_memory<input, s> && x == 0 && y == 0)
        return beneath[input].cell[column];
      else if constexpr (!is_in_memory<input, s>)
        return beside<column + x>(walk.template row_of<phase, s, y, 1>(newest, older, -2 - source));
      else
        return walk.template loaded<checks, input, column, x>(row, y);
    }
    template <int axis>
    __device__ __forceinline__ Index index() const {
      return walk.work_.origin[axis] + (axis == 0   ? walk.column_ - walk.work_.lead + column
                                        : axis == 1 ? row
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
  __device__ __forceinline__ void update(int y, const Row (&newest)[outputs],
                                         const Row (&older)[outputs], Row (&computed)[outputs]) {
    const bool counts = !checks_ends<checks> || (y >= count_from_ && y < count_to_);
    Row beneath[inputs];
    load_beneath<checks, s>(beneath, y);
    for_each_number<width>([&](auto k) {
      const CellInPass<phase, s, k.value, checks> cell{*this, newest, older, beneath, y};
      Real values[outputs];
      update_(cell, values);
#pragma unroll
      for (int o = 0; o < outputs; ++o) computed[o].cell[k.value] = values[o];
      if constexpr (kind != Norm::none)
        for_each_number<Update::normed>([&](auto n) {
          const Real now = Update::template now<n.value>(cell, values);
          const Real before = Update::template before<n.value>(cell);
          // Where nothing is checked, lanes that do not store are left out at the end.
          if (counts && (!checks_columns<checks> || (counted_ >> k.value & 1) != 0))
            change_[s].add(now, before);
        });
    });
    if constexpr (!checks_columns<checks>) return;
    const bool row_changes =
        checks != Checks::all || (y >= work_.changing.lower[1] && y < work_.changing.upper[1]);
    for_each_number<outputs>([&](auto o) {
      const Row& was = row_of<phase, s, 0, 0>(newest, older, o.value);
#pragma unroll
      for (int k = 0; k < width; ++k)
        if (!row_changes || (changing_ >> k & 1) == 0) computed[o.value].cell[k] = was.cell[k];
    });
    // The next pass gets its own.
    if constexpr (s + 1 < sweeps)
      for_each_number<outputs>([&](auto o) {
        if (row_changes) make_columns<checks, s + 1, o.value>(y, computed[o.value]);
        if constexpr (checks == Checks::all) make_rows<phase, s + 1, o.value>(y, computed[o.value]);
      });
  }

  /// Returns the terms of ghosts that sweep s reads. `along`: the cell's place along the side,
  /// counted from the region's first.
  template <int s, int o, int side, int layer>
  __device__ __forceinline__ problem::GhostTerms<Real> terms(Index along) const {
    constexpr SideOfPass one = Plan::side(o, side);
    if constexpr (problem::values_of(one.kind) == 0) {
      return {};
    } else {
      constexpr int axis = side < 2 ? 1 : 0;
      const CellsAlong& all = work_.along[axis];
      const Index number = one.by_place ? all.number_of(work_.origin[axis] + along) : 0;
      return work_.terms[o][side][place_of_terms(one, all.cells, s, layer, number)];
    }
  }

  /// Makes the ghosts of a row beyond the sides of x.
  template <Checks checks, int s, int o>
  __device__ __forceinline__ void make_columns(int y, Row& row) const {
    for_each_number<2>([&](auto end) {
      constexpr int side = end.value;  // NVRTC 13 has no constant `end.value` in the inner function
      constexpr SideOfPass one = Plan::side(o, side);
      if constexpr (one.layers > 0) {
        const int nearest = side_at_[side] - (side == 0 ? 1 : 0);
        if (nearest < 0 || nearest >= warp_lanes * width) return;
        for_each_number<one.layers>([&](auto layer) {
          constexpr int out = side == 0 ? -layer.value : layer.value;
          const int at = nearest + out;
          const Real mirrored = cell_of_strip(row, nearest - out + (side == 0 ? 1 : -1));
          const Real value = problem::ghost(one.kind, terms<s, o, side, layer.value>(y), mirrored);
          const bool has_it = static_cast<int>(threadIdx.x) % warp_lanes == lane_of(at);
          // In a loop, NVRTC 13 takes k for the number it is compared with, and has the row in
          // memory.
          for_each_number<width>([&](auto k) {
            if (has_it && k.value == (at & (width - 1))) row.cell[k.value] = value;
          });
        });
      }
    });
  }

  /// Makes the rows of ghosts beyond the lower side of y that this row mirrors; or makes it, beyond
  /// the upper side, from the row that mirrors it. `s`: the sweep that reads it.
  template <int phase, int s, int o>
  __device__ __forceinline__ void make_rows(int y, Row& row) {
    for_each_number<2>([&](auto end) {
      constexpr int side = 2 + end.value;
      constexpr SideOfPass one = Plan::side(o, side);
      if constexpr (one.layers > 0)
        for_each_number<one.layers>([&](auto layer) {
          constexpr int apart = 2 * layer.value + 1;
          static_assert(apart <= kept);
          Row& other = kept_[s][(phase - apart + 8 * kept) % kept][o];
          const int ours =
              static_cast<int>(end.value == 0 ? work_.changing.lower[1] : work_.changing.upper[1]);
          if (y != ours + layer.value) return;
#pragma unroll
          for (int k = 0; k < width; ++k) {
            const problem::GhostTerms<Real> made_of =
                terms<s, o, side, layer.value>(column_ - work_.lead + k);
            if (end.value == 0)
              other.cell[k] = problem::ghost(one.kind, made_of, row.cell[k]);
            else
              row.cell[k] = problem::ghost(one.kind, made_of, other.cell[k]);
          }
        });
    });
  }

  /// Returns the lane that has a cell of the strip; of none for cells outside it.
  static __device__ __forceinline__ int lane_of(int at) {
    return (at - (at & (width - 1))) / width;
  }
  /// Returns the value of a cell of the strip.
  static __device__ __forceinline__ Real cell_of_strip(const Row& row, int at) {
    static_assert((width & (width - 1)) == 0);
    Real cell = row.cell[0];
    for_each_number<width>([&](auto k) {
      if (k.value == (at & (width - 1))) cell = row.cell[k.value];
    });
    return __shfl_sync(~0u, cell, lane_of(at) & (warp_lanes - 1));
  }

  /// Stores a row of each field that `arrays` have.
  template <Checks checks>
  __device__ __forceinline__ void store(int y, const Row (&rows)[outputs],
                                        const Array<Real>* arrays, Real* (&places)[outputs]) const {
#pragma unroll
    for (int o = 0; o < outputs; ++o) {
      if (arrays[o].cell == nullptr) continue;
      Real* place =
          checks == Checks::all ? arrays[o].cell + column_ + y * arrays[o].step[1] : places[o];
      if constexpr (checks != Checks::all) places[o] += arrays[o].step[1];
      if (checks_ends<checks> && !(y >= from_ && y < to_)) continue;
      if (checks_columns<checks> ? stored_ == all : stored_ != 0) {
#pragma unroll
        for (int v = 0; v < Shape::vectors; ++v)
          __stcs(reinterpret_cast<Vector*>(place) + v,
                 VectorOf<Real>::make(rows[o].cell + v * in_vector));
      } else if (checks_columns<checks> && stored_ != 0) {
#pragma unroll
        for (int k = 0; k < width; ++k)
          if ((stored_ >> k & 1) != 0) place[k] = rows[o].cell[k];
      }
    }
  }

 public:
  /// Whether this lane's change counts.
  __device__ bool counts() const { return counted_ != 0; }

 private:
  const Work& work_;
  const Update& update_;
  int column_, read_at_;  // counted from the boundary at or before the region
  int from_, to_, count_from_, count_to_;
  int side_at_[2];  // where the domain begins and ends along x, counted in the strip
  int further_[Shape::vectors > 1 ? Shape::vectors - 1 : 1];  // other vectors, from the first
  unsigned int stored_ = 0, counted_ = 0, changing_ = 0;      // a bit for each of the lane's cells
  const Real* in_[inputs];
  Real *out_[outputs], *before_[outputs];
  Row next_[ahead][outputs];  // on the way
  Row kept_[sweeps][kept][outputs] = {};
  Change<kind, Real> change_[kind == Norm::none ? 1 : sweeps];
};

/// Stores a block's partial norms, of all sweeps of the pass.
template <Norm kind, int sweeps, int warps, class Work>
__device__ void leave_norms(const Work& work, const double (&of_warp)[sweeps][warps]) {
  const auto sweep = static_cast<int>(threadIdx.x);
  if (sweep >= sweeps) return;
  double part = of_warp[sweep][0];
  for (int warp = 1; warp < warps; ++warp) part = joined<kind>(part, of_warp[sweep][warp]);
  PartialNorms& parts = *parts_of_sweep(work.parts, sweep);
  parts.values[work.first_part + blockIdx.x] = part;
  if (blockIdx.x == 0 && work.is_last) parts.count = work.first_part + gridDim.x;
}

template <Norm kind, class Shape, class Plan, class Real, class Update, int inputs, int outputs>
__global__ void __launch_bounds__(Shape::warps* warp_lanes, Shape::blocks)
    pass(PassWork<Real, inputs, outputs> work, Update update) {
  constexpr int sweeps = Shape::sweeps, warps = Shape::warps;
  if (work.stop != nullptr && *work.stop != 0) return;
  const auto warp = static_cast<int>(threadIdx.x) / warp_lanes;
  const int number = static_cast<int>(blockIdx.x) * warps + warp;
  const WalkOfPass walk = walk_of_pass(work.walks, number);
  [[maybe_unused]] __shared__ double of_warp[kind == Norm::none ? 1 : sweeps][warps];
  if (walk.from < work.cells[1]) {
    PassWalk<kind, Shape, Plan, PassWork<Real, inputs, outputs>, Real, Update> walker(work, update,
                                                                                      walk);
    if constexpr (Shape::inlined)
      walker.run_inlined();
    else
      walker.run();
    if constexpr (kind != Norm::none)
      for_each_number<sweeps>([&](auto s) {
        const double part =
            (walker.counts() ? walker.change(s.value) : Change<kind, Real>()).of_warp();
        if (threadIdx.x % warp_lanes == 0) of_warp[s.value][warp] = part;
      });
  } else if constexpr (kind != Norm::none) {
    if (threadIdx.x % warp_lanes == 0)
      for (int s = 0; s < sweeps; ++s) of_warp[s][warp] = 0;
  }
  if constexpr (kind != Norm::none) {
    __syncthreads();
    leave_norms<kind, sweeps, warps>(work, of_warp);
  }
}

}  // namespace halocline::stencil::cuda

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The fast sweep on a GPU. A warp updates a strip of 32 vectors of 16 bytes and walks along the
// last axis, so that it loads every cell once: the cells behind, here and ahead stay in registers,
// those to the left and right come from the neighbouring lanes. In 3-D a lane walks with a few rows
// at once, so that the rows above and below are mostly its own. A warp loads several layers before
// it uses the first: to reach the speed of its memory, a GPU needs about 30 KiB of loads in flight
// per multiprocessor.
//
// Compiles with nvcc and with NVRTC, so it includes nothing of the standard library.

#include "device/cuda/early.cuh"
#include "stencil/cuda/change.cuh"
#include "stencil/cuda/faces.cuh"
#include "stencil/cuda/lane.cuh"
#include "stencil/cuda/reduce.cuh"
#include "stencil/cuda/work.cuh"

namespace halocline::stencil::cuda {

/// The shape of a walk. `ahead`: layers loaded before the first is used; `rows`: rows per lane in
/// 3-D; `blocks`: blocks that must fit on a multiprocessor, which limits registers; `layers`: the
/// length of a walk, unless the region or its planes are small.
template <int ahead_, int rows_, int blocks_, int layers_ = 2 * ahead_>
struct Shape {
  static constexpr int ahead = ahead_, rows = rows_, blocks = blocks_, layers = layers_;
};

// The fastest shapes of bench_gpu_shapes on an H200 (bench/results/h200). Longer walks load fewer
// layers twice, but were slower with large planes: the values that neighbours loaded have left the
// cache by then.
// Loading the next group before using the last one took 116 to 160 % of the time: it takes
// registers from the warps that hide the loads.
template <Norm kind, int axes, class Real>
struct ShapeFor : Shape<8, 1, 1, 24> {};
template <>
struct ShapeFor<Norm::max, 2, float> : Shape<12, 1, 1, 24> {};
template <>
struct ShapeFor<Norm::max, 2, double> : Shape<10, 1, 1, 30> {};
template <>
struct ShapeFor<Norm::none, 2, double> : Shape<10, 1, 2, 30> {};
template <Norm kind, class Real>
struct ShapeFor<kind, 3, Real> : Shape<2, 2, 2, 12> {};

/// The shape of walks at the ends, which keep more in registers: with as many layers ahead as
/// others, all warps would get as many registers, and only half of the warps would fit.
template <class Inner>
using AtFace = Shape<(Inner::ahead > 4 ? 4 : Inner::ahead), Inner::rows, Inner::blocks>;

/// The walk of a warp: a strip of `rows` rows over some layers. `whole`: all cells of the strip and
/// all rows are in the region.
template <bool whole, class Shape, Norm kind, int axes, class Real, class Formula>
class Walk {
 public:
  static constexpr int rows = Shape::rows, ahead = Shape::ahead;
  static constexpr int width = RowPart<Real>::width;

  __device__ Walk(const Work<Real>& work, const Formula& formula, const Lane<Real>& lane,
                  Index first_row, Index first_layer, int layers)
      : formula_(formula),
        lane_(lane),
        layers_(layers),
        rows_here_(static_cast<int>(smaller(rows, axes == 2 ? 1 : work.cells[1] - first_row))),
        in_layer_(work.in_step[axes - 1]),
        out_layer_(work.out_step[axes - 1]),
        in_row_(work.in_step[1]),
        out_row_(work.out_step[1]),
        in_(work.in + lane.column + first_layer * in_layer_ +
            (axes == 2 ? 0 : first_row * in_row_)),
        out_(work.out + lane.column + first_layer * out_layer_ +
             (axes == 2 ? 0 : first_row * out_row_)) {
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
    Layer window[ahead + 2];
    window[0] = load(in_ - in_layer_);
    window[1] = load(in_);
    int at = 0;
    for (; at + ahead <= layers_; at += ahead) {
#pragma unroll
      for (int j = 0; j < ahead; ++j) window[j + 2] = load(in_ + (j + 1) * in_layer_);
#pragma unroll
      for (int j = 0; j < ahead; ++j)
        update(at + j, window[j], window[j + 1], window[j + 2], change);
      window[0] = window[ahead];
      window[1] = window[ahead + 1];
    }
    for (; at < layers_; ++at) {
      window[2] = load(in_ + in_layer_);
      update(at, window[0], window[1], window[2], change);
      window[0] = window[1];
      window[1] = window[2];
    }
  }

 private:
  struct Layer {
    RowPart<Real> row[rows];
  };

  static __device__ Index smaller(Index a, Index b) { return a < b ? a : b; }
  __device__ int within_walk(Index layer) const {
    return static_cast<int>(smaller(layer < 0 ? 0 : layer, layers_));
  }

  __device__ RowPart<Real> load_row(const Real* place) const {
    RowPart<Real> part{};
    using Vector = typename VectorOf<Real>::Type;
    if (whole || lane_.reads)
      VectorOf<Real>::split(__ldg(reinterpret_cast<const Vector*>(place)), part.value);
    if (lane_.reads_beside) part.beside = __ldg(place + lane_.beside);
    return part;
  }

  __device__ Layer load(const Real* place) const {
    Layer layer{};
#pragma unroll
    for (int row = 0; row < rows; ++row)  // the row after the region's last is its neighbour
      if (whole || row <= rows_here_) layer.row[row] = load_row(place + row * in_row_);
    return layer;
  }

  /// Updates the layer at in_ and out_, and advances them.
  __device__ void update(int at, const Layer& behind, const Layer& here, const Layer& ahead_of,
                         Change<kind, Real>& change) {
    const unsigned int counted =
        kind != Norm::none && at >= counted_from_ && at < counted_to_ ? counted_rows_ : 0;
    RowPart<Real> below{}, above{};
    if constexpr (axes == 3) {
      below = load_row(in_ - in_row_);
      if (whole || rows <= rows_here_) above = load_row(in_ + rows * in_row_);
    }
#pragma unroll
    for (int row = 0; row < rows; ++row) {
      if (!whole && row >= rows_here_) break;  // the same for the whole warp
      const RowPart<Real>& south = row > 0 ? here.row[row - 1] : below;
      const RowPart<Real>& north = row + 1 < rows ? here.row[row + 1] : above;
      update_row(out_ + row * out_row_, (counted >> row & 1) != 0 ? lane_.owned : 0,
                 {here.row[row], south, north, behind.row[row], ahead_of.row[row]}, change);
    }
    in_ += in_layer_;
    out_ += out_layer_;
  }

  /// A row and those around it.
  struct Around {
    const RowPart<Real>&here, &south, &north, &behind, &ahead_of;
  };

  __device__ void update_row(Real* out, unsigned int counted, const Around& rows_around,
                             Change<kind, Real>& change) {
    const RowPart<Real>& here = rows_around.here;
    const bool first = lane_.number == 0, last = lane_.number == warp_lanes - 1;
    const Real before = __shfl_up_sync(~0u, here.value[width - 1], 1);
    const Real after = __shfl_down_sync(~0u, here.value[0], 1);
    const Real left = first ? here.beside : before, right = last ? here.beside : after;
    Real updated[width];
#pragma unroll
    for (int i = 0; i < width; ++i) {
      Cells<Real> u;
      u.c_ = here.value[i];
      u.w_ = i > 0 ? here.value[i > 0 ? i - 1 : 0] : left;
      u.e_ = i + 1 < width ? here.value[i + 1 < width ? i + 1 : i] : right;
      u.d_ = rows_around.behind.value[i];
      u.t_ = rows_around.ahead_of.value[i];
      u.s_ = axes == 2 ? u.d_ : rows_around.south.value[i];
      u.n_ = axes == 2 ? u.t_ : rows_around.north.value[i];
      updated[i] = formula_(u);
      if (kind != Norm::none && (counted >> i & 1) != 0) change.add(updated[i], u.c_);
    }
    store(out, updated);
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

  const Formula& formula_;
  const Lane<Real>& lane_;
  int layers_, rows_here_;
  Index in_layer_, out_layer_, in_row_, out_row_;
  const Real* in_;
  Real* out_;
  int counted_from_, counted_to_;
  unsigned int counted_rows_ = 0;
};

/// Divides a region into tiles, one walk of a warp each: strips along x, groups of rows (only in
/// 3-D) and pieces along the last axis.
template <class Shape, class Real, int axes>
class Tiles {
 public:
  Index strips, row_groups, pieces;

  __host__ __device__ static Tiles of(const Work<Real>& work) {
    Tiles tiles{};
    tiles.strips = ceil_div(work.lead + work.cells[0], strip_cells<Real>);
    tiles.row_groups = axes == 2 ? 1 : ceil_div(work.cells[1], Shape::rows);
    tiles.pieces = ceil_div(work.cells[axes - 1], work.layers);
    return tiles;
  }
  __host__ __device__ Index count() const { return strips * row_groups * pieces; }
  /// Orders pieces so that those at both ends come first: neighbours wait for them.
  __device__ Index piece(Index turn) const {
    return turn == 0 ? 0 : turn == 1 ? pieces - 1 : turn - 1;
  }

 private:
  __host__ __device__ static Index ceil_div(Index a, Index b) { return (a + b - 1) / b; }
};

template <Norm kind, int axes, class Real, class Formula, class Shape = ShapeFor<kind, axes, Real>>
__global__ void __launch_bounds__(block_threads, Shape::blocks)
    march(Work<Real> work, ReduceWork reduction, Formula formula) {
  device::cuda::let_next_begin();
  device::cuda::await_stream();
  if (work.stop != nullptr && *work.stop != 0) return;
  if (reduction.parts != nullptr && blockIdx.x == 0) return reduce(reduction);
  const SweepBlocks blocks(reduction);
  const auto tiles = Tiles<Shape, Real, axes>::of(work);
  const Index warps = static_cast<Index>(blocks.count) * block_warps;
  Change<kind, Real> change;
  for (Index tile = static_cast<Index>(blocks.number) * block_warps + threadIdx.x / warp_lanes;
       tile < tiles.count(); tile += warps) {
    // In 3-D the warps of a block are adjacent along y, so that they share rows in the first-level
    // cache.
    const Index group = tile % tiles.row_groups, rest = tile / tiles.row_groups;
    const Index strip = rest % tiles.strips;
    const Index from = tiles.piece(rest / tiles.strips) * work.layers;
    const Index end = work.cells[axes - 1];
    const Index to = from + work.layers < end ? from + work.layers : end;
    const Lane<Real> lane(work, strip);
    const Index row = group * Shape::rows;
    const int layers = static_cast<int>(to - from);
    const bool whole = lane.strip_is_whole() && (axes == 2 || row + Shape::rows <= work.cells[1]);
    const bool is_lower = work.faces.lower.to != nullptr && from == 0;
    const bool is_upper = work.faces.upper.to != nullptr && to == end;
    if (is_lower || is_upper) {
      const Index face = group * tiles.strips + strip;
      if (is_lower) await_face(work.faces.lower, work.faces.watch, face, 0);
      if (is_upper) await_face(work.faces.upper, work.faces.watch, face, 1);
      Walk<false, AtFace<Shape>, kind, axes, Real, Formula>(work, formula, lane, row, from, layers)
          .run(change);
      if (is_lower) push_face<Shape::rows, axes>(work, work.faces.lower, lane, row, Index{0}, face);
      if (is_upper) push_face<Shape::rows, axes>(work, work.faces.upper, lane, row, end - 1, face);
    } else if (whole) {
      Walk<true, Shape, kind, axes, Real, Formula>(work, formula, lane, row, from, layers)
          .run(change);
    } else {
      Walk<false, Shape, kind, axes, Real, Formula>(work, formula, lane, row, from, layers)
          .run(change);
    }
  }
  change.publish(work, blocks);
}

}  // namespace halocline::stencil::cuda

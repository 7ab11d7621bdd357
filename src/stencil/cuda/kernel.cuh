#pragma once
// Sweeps on a GPU. Templates over a formula that compile with nvcc and with NVRTC, so nothing of
// the standard library is included.
//
// `march` is the fast one. A warp updates a strip as wide as 32 vectors of 16 bytes and walks along
// the last axis, so that every cell is loaded once: the cells behind, here and ahead stay in
// registers, those to the left and right come from the neighbouring lanes. In 3-D a lane walks with
// a few rows at once, so that the rows above and below are mostly its own. Several layers are
// loaded before the first is used: a GPU has to have about 30 KiB of loads under way per
// multiprocessor to be at the speed of its memory. `per_cell` does any layout, a cell per thread.

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>
#endif

namespace halocline::stencil::cuda {

using Index = long long;

enum class Norm { none, max, l2 };

inline constexpr int warp_lanes = 32;
inline constexpr int block_threads = 256;
inline constexpr int block_warps = block_threads / warp_lanes;

/// Where a norm goes. The maximum is kept as the bits of a double: those of numbers that are not
/// negative are ordered as the numbers are, and any NaN is above them all.
struct NormPlace {
  double* sum;            ///< the value so far, added to
  double* partials;       ///< one per block, for sums
  unsigned int* arrived;  ///< blocks that have written theirs; zero between sweeps
  // What becomes of it when all blocks have: see NormVerdict. Nothing if `norm` is null.
  double* norm;
  unsigned int* stop;
  double tolerance;
};

/// A box of cells within a region: lower and upper along each axis.
struct Range {
  Index lower[3], upper[3];
};

/// One sweep over a region, as a kernel sees it.
template <class Real>
struct Work {
  const Real* in;  ///< the region's first cell; for `march` `lead` cells before it
  Real* out;
  Index in_step[3], out_step[3];  ///< elements from a cell to the next along x, y, z
  Index cells[3];                 ///< of the region
  int lead;                       ///< cells from a 16-byte boundary to the region's first
  Index layers;                   ///< that a warp walks along the last axis
  Range owned;                    ///< those the norm counts, in the region's coordinates
  NormPlace norm;
  const unsigned int* stop;  ///< not zero: do nothing; may be null
};

/// What a formula sees.
template <class Real>
struct Cells {
  Real c_, w_, e_, s_, n_, d_, t_;

  __device__ Real c() const { return c_; }
  __device__ Real w() const { return w_; }
  __device__ Real e() const { return e_; }
  __device__ Real s() const { return s_; }
  __device__ Real n() const { return n_; }
  __device__ Real d() const { return d_; }
  __device__ Real t() const { return t_; }
  __device__ static Real constant(Real value) { return value; }
};

// Norms.

template <class Real>
struct BitsOf;
template <>
struct BitsOf<float> {
  using Type = unsigned int;
};
template <>
struct BitsOf<double> {
  using Type = unsigned long long;
};

/// True in the block that comes here last; what the others wrote before is then there to read
/// (past the first cache). All threads of a block.
__device__ inline bool comes_last(const NormPlace& place) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicInc(place.arrived, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  return last;
}

/// Ends a norm. One thread.
__device__ inline void settle(const NormPlace& place, double norm) {
  constexpr double largest = 1.7976931348623157e308;
  *place.norm = norm;
  *place.sum = 0;
  if (place.stop != nullptr && (norm <= place.tolerance || !(norm <= largest))) *place.stop = 1;
}

template <Norm kind, class Real>
class Change;

template <class Real>
class Change<Norm::none, Real> {
 public:
  __device__ void add(Real, Real) {}
  __device__ void publish(const NormPlace&) const {}
};

template <class Real>
class Change<Norm::max, Real> {
 public:
  __device__ void add(Real now, Real before) {
    // Through bits, since the comparison of numbers would lose a NaN.
    const Bits bits = bits_of(now - before);
    largest_ = bits > largest_ ? bits : largest_;
  }
  /// All threads of the block.
  __device__ void publish(const NormPlace& place) const {
    __shared__ Bits of_warp[block_warps];
    Bits largest = largest_;
    for (int distance = warp_lanes / 2; distance > 0; distance /= 2) {
      const Bits other = __shfl_xor_sync(~0u, largest, distance);
      largest = other > largest ? other : largest;
    }
    if (threadIdx.x % warp_lanes == 0) of_warp[threadIdx.x / warp_lanes] = largest;
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int warp = 1; warp < block_warps; ++warp)
        largest = of_warp[warp] > largest ? of_warp[warp] : largest;
      // A maximum is the same in any order.
      if (largest != 0)
        atomicMax(reinterpret_cast<unsigned long long*>(place.sum), as_double(largest));
    }
    if (place.norm != nullptr && comes_last(place) && threadIdx.x == 0)
      settle(place, __ldcg(place.sum));
  }

 private:
  using Bits = typename BitsOf<Real>::Type;

  // Of the magnitude: without the sign, which a NaN may have, too.
  static __device__ unsigned int bits_of(float value) {
    return __float_as_uint(value) & 0x7fffffffu;
  }
  static __device__ unsigned long long bits_of(double value) {
    return static_cast<unsigned long long>(__double_as_longlong(value)) & 0x7fffffffffffffffull;
  }
  /// Of the same number as a double.
  static __device__ unsigned long long as_double(unsigned int bits) {
    return bits_of(static_cast<double>(__uint_as_float(bits)));
  }
  static __device__ unsigned long long as_double(unsigned long long bits) { return bits; }

  Bits largest_ = 0;
};

template <class Real>
class Change<Norm::l2, Real> {
 public:
  __device__ void add(Real now, Real before) {
    const double change = static_cast<double>(now - before);  // rounded to Real first
    sum_ += change * change;
  }
  /// All threads of the block. The block that comes last adds up those of all, in their order, so
  /// that the sum is the same each time.
  __device__ void publish(const NormPlace& place) const {
    const double of_block = sum_of_block(sum_);
    if (threadIdx.x == 0) place.partials[blockIdx.x] = of_block;
    if (!comes_last(place)) return;
    double mine = 0;
    for (unsigned int block = threadIdx.x; block < gridDim.x; block += block_threads)
      mine += __ldcg(&place.partials[block]);
    const double of_all = sum_of_block(mine);
    if (threadIdx.x != 0) return;
    if (place.norm != nullptr)
      settle(place, sqrt(*place.sum + of_all));
    else
      *place.sum += of_all;
  }

 private:
  /// On thread 0.
  static __device__ double sum_of_block(double value) {
    __shared__ double of_warp[block_warps];
    for (int distance = warp_lanes / 2; distance > 0; distance /= 2)
      value += __shfl_xor_sync(~0u, value, distance);
    __syncthreads();  // of_warp may still be read from the time before
    if (threadIdx.x % warp_lanes == 0) of_warp[threadIdx.x / warp_lanes] = value;
    __syncthreads();
    double sum = of_warp[0];
    for (int warp = 1; warp < block_warps; ++warp) sum += of_warp[warp];
    return sum;
  }

  double sum_ = 0;
};

// Vectors of 16 bytes.

template <class Real>
struct VectorOf;
template <>
struct VectorOf<float> {
  using Type = float4;
  static __device__ float4 make(const float* v) { return make_float4(v[0], v[1], v[2], v[3]); }
  static __device__ void split(const float4& from, float* v) {
    v[0] = from.x, v[1] = from.y, v[2] = from.z, v[3] = from.w;
  }
};
template <>
struct VectorOf<double> {
  using Type = double2;
  static __device__ double2 make(const double* v) { return make_double2(v[0], v[1]); }
  static __device__ void split(const double2& from, double* v) { v[0] = from.x, v[1] = from.y; }
};

/// A lane's part of one row, and the cell beside the strip for the first and the last lane.
template <class Real>
struct RowPart {
  static constexpr int width = 16 / sizeof(Real);
  Real value[width];
  Real beside;
};

template <class Real>
inline constexpr int strip_cells = warp_lanes* RowPart<Real>::width;

/// A lane's place in a strip. Columns count from 16 bytes' boundary before the region.
template <class Real>
class Lane {
 public:
  static constexpr int width = RowPart<Real>::width;

  __device__ Lane(const Work<Real>& work, Index strip)
      : lane_(static_cast<int>(threadIdx.x) % warp_lanes),
        column_(strip * strip_cells<Real> + lane_ * width),
        first_(work.lead),
        end_(work.lead + work.cells[0]) {
    // The cell to the right of the region is read, too. To the left, a strip that begins before
    // the region has it in its first vector; there may be no memory before that.
    reads_ = column_ <= end_;
    const bool left = lane_ == 0 && (column_ > 0 || first_ == 0) && column_ < end_;
    const bool right = lane_ == warp_lanes - 1 && column_ + width <= end_;
    beside_ = left ? column_ - 1 : column_ + width;
    reads_beside_ = left || right;
  }

  __device__ RowPart<Real> load(const Real* row) const {
    RowPart<Real> part{};
    using Vector = typename VectorOf<Real>::Type;
    if (reads_)
      VectorOf<Real>::split(__ldg(reinterpret_cast<const Vector*>(row + column_)), part.value);
    if (reads_beside_) part.beside = __ldg(row + beside_);
    return part;
  }

  /// What is left of the first cell and right of the last. All lanes.
  __device__ Real left_of(const RowPart<Real>& part) const {
    const Real value = __shfl_up_sync(~0u, part.value[width - 1], 1);
    return lane_ == 0 ? part.beside : value;
  }
  __device__ Real right_of(const RowPart<Real>& part) const {
    const Real value = __shfl_down_sync(~0u, part.value[0], 1);
    return lane_ == warp_lanes - 1 ? part.beside : value;
  }

  __device__ void store(Real* row, const Real* values) const {
    using Vector = typename VectorOf<Real>::Type;
    if (column_ >= first_ && column_ + width <= end_) {
      // What is written is not read before the whole field is: let it leave the caches first.
      __stcs(reinterpret_cast<Vector*>(row + column_), VectorOf<Real>::make(values));
    } else {
      for (int i = 0; i < width; ++i)
        if (holds(i)) row[column_ + i] = values[i];
    }
  }

  /// Whether cell `i` lies in the region.
  __device__ bool holds(int i) const { return column_ + i >= first_ && column_ + i < end_; }
  /// Its x in the region.
  __device__ Index x(int i) const { return column_ + i - first_; }

 private:
  int lane_;
  Index column_, first_, end_, beside_;
  bool reads_, reads_beside_;
};

template <class Real>
__device__ bool is_owned(const Range& owned, Index x, Index y, Index z) {
  return x >= owned.lower[0] && x < owned.upper[0] && y >= owned.lower[1] && y < owned.upper[1] &&
         z >= owned.lower[2] && z < owned.upper[2];
}

/// Layers loaded ahead, and rows that a lane walks with in 3-D.
template <int axes>
inline constexpr int layers_ahead = axes == 2 ? 4 : 1;
template <int axes>
inline constexpr int rows_per_lane = axes == 2 ? 1 : 4;

/// One warp's walk: a strip of `rows` rows over `layers` layers.
template <Norm kind, int axes, class Real, class Formula>
class Walk {
 public:
  static constexpr int rows = rows_per_lane<axes>;
  static constexpr int ahead = layers_ahead<axes>;
  static constexpr int width = RowPart<Real>::width;
  static constexpr int last_axis = axes - 1;

  __device__ Walk(const Work<Real>& work, const Formula& formula, Index strip, Index first_row)
      : work_(work), formula_(formula), lane_(work, strip), first_row_(first_row) {}

  __device__ void run(Index from, Index to, Change<kind, Real>& change) {
    Layer behind = load(from - 1), here = load(from);
    for (Index at = from; at < to; at += ahead) {
      Layer next[ahead];
#pragma unroll
      for (int j = 0; j < ahead; ++j)
        if (at + j < to) next[j] = load(at + j + 1);
#pragma unroll
      for (int j = 0; j < ahead; ++j) {
        if (at + j >= to) break;
        update(at + j, behind, here, next[j], change);
        behind = here;
        here = next[j];
      }
    }
  }

 private:
  struct Layer {
    RowPart<Real> row[rows];
  };

  /// Only rows of the region, and its neighbours, are there.
  __device__ bool has_row(int row) const { return axes == 2 || first_row_ + row <= work_.cells[1]; }

  __device__ const Real* row_at(Index layer, int row) const {
    if constexpr (axes == 2) return work_.in + layer * work_.in_step[1];
    return work_.in + layer * work_.in_step[2] + (first_row_ + row) * work_.in_step[1];
  }

  __device__ Layer load(Index layer) const {
    Layer result{};
#pragma unroll
    for (int row = 0; row < rows; ++row)
      if (has_row(row)) result.row[row] = lane_.load(row_at(layer, row));
    return result;
  }

  __device__ void update(Index layer, const Layer& behind, const Layer& here, const Layer& ahead_of,
                         Change<kind, Real>& change) {
    RowPart<Real> below{}, above{};
    if constexpr (axes == 3) {
      below = lane_.load(row_at(layer, -1));
      if (has_row(rows)) above = lane_.load(row_at(layer, rows));
    }
#pragma unroll
    for (int row = 0; row < rows; ++row) {
      // The rows after it are not in the region either; the same for the whole warp.
      if (axes == 3 && first_row_ + row >= work_.cells[1]) break;
      const RowPart<Real>& south = row > 0 ? here.row[row - 1] : below;
      const RowPart<Real>& north = row + 1 < rows ? here.row[row + 1] : above;
      update_row(layer, row, here.row[row], south, north, behind.row[row], ahead_of.row[row],
                 change);
    }
  }

  __device__ void update_row(Index layer, int row, const RowPart<Real>& here,
                             const RowPart<Real>& south, const RowPart<Real>& north,
                             const RowPart<Real>& behind, const RowPart<Real>& ahead_of,
                             Change<kind, Real>& change) {
    const Real left = lane_.left_of(here), right = lane_.right_of(here);
    const Index y = axes == 2 ? layer : first_row_ + row, z = axes == 2 ? 0 : layer;
    Real updated[width];
#pragma unroll
    for (int i = 0; i < width; ++i) {
      Cells<Real> u;
      u.c_ = here.value[i];
      u.w_ = i > 0 ? here.value[i > 0 ? i - 1 : 0] : left;
      u.e_ = i + 1 < width ? here.value[i + 1 < width ? i + 1 : i] : right;
      u.s_ = axes == 2 ? behind.value[i] : south.value[i];
      u.n_ = axes == 2 ? ahead_of.value[i] : north.value[i];
      u.d_ = behind.value[i];
      u.t_ = ahead_of.value[i];
      updated[i] = formula_(u);
      if (kind != Norm::none && lane_.holds(i) && is_owned<Real>(work_.owned, lane_.x(i), y, z))
        change.add(updated[i], u.c_);
    }
    lane_.store(work_.out + y * work_.out_step[1] + z * work_.out_step[2], updated);
  }

  const Work<Real>& work_;
  const Formula& formula_;
  Lane<Real> lane_;
  Index first_row_;
};

/// Strips along x, groups of rows (3-D only) and pieces along the last axis: one for each warp.
template <class Real, int axes>
class Tiles {
 public:
  Index strips, row_groups, pieces;

  __host__ __device__ static Tiles of(const Work<Real>& work) {
    Tiles tiles{};
    tiles.strips = ceil_div(work.lead + work.cells[0], strip_cells<Real>);
    tiles.row_groups = axes == 2 ? 1 : ceil_div(work.cells[1], rows_per_lane<axes>);
    tiles.pieces = ceil_div(work.cells[axes - 1], work.layers);
    return tiles;
  }
  __host__ __device__ Index count() const { return strips * row_groups * pieces; }

 private:
  __host__ __device__ static Index ceil_div(Index a, Index b) { return (a + b - 1) / b; }
};

template <Norm kind, int axes, class Real, class Formula>
__global__ void __launch_bounds__(block_threads) march(Work<Real> work, Formula formula) {
  if (work.stop != nullptr && *work.stop != 0) return;
  const Tiles<Real, axes> tiles = Tiles<Real, axes>::of(work);
  const Index warps = static_cast<Index>(gridDim.x) * block_warps;
  Change<kind, Real> change;
  for (Index tile = static_cast<Index>(blockIdx.x) * block_warps + threadIdx.x / warp_lanes;
       tile < tiles.count(); tile += warps) {
    // In 3-D the warps of a block are neighbours along y, whose rows meet in the first cache.
    const Index group = tile % tiles.row_groups, rest = tile / tiles.row_groups;
    const Index from = rest / tiles.strips * work.layers;
    const Index end = work.cells[axes - 1];
    const Index to = from + work.layers < end ? from + work.layers : end;
    Walk<kind, axes, Real, Formula> walk(work, formula, rest % tiles.strips,
                                         group * rows_per_lane<axes>);
    walk.run(from, to, change);
  }
  change.publish(work.norm);
}

template <Norm kind, int axes, class Real, class Formula>
__global__ void __launch_bounds__(block_threads) per_cell(Work<Real> work, Formula formula) {
  if (work.stop != nullptr && *work.stop != 0) return;
  const Index count = work.cells[0] * work.cells[1] * work.cells[2];
  Change<kind, Real> change;
  for (Index i = static_cast<Index>(blockIdx.x) * block_threads + threadIdx.x; i < count;
       i += static_cast<Index>(gridDim.x) * block_threads) {
    const Index x = i % work.cells[0], row = i / work.cells[0];
    const Index y = row % work.cells[1], z = row / work.cells[1];
    const Real* cell = work.in + x * work.in_step[0] + y * work.in_step[1] + z * work.in_step[2];
    Cells<Real> u{};
    u.c_ = cell[0];
    u.w_ = cell[-work.in_step[0]];
    u.e_ = cell[work.in_step[0]];
    if constexpr (axes > 1) {
      u.s_ = cell[-work.in_step[1]];
      u.n_ = cell[work.in_step[1]];
    }
    if constexpr (axes > 2) {
      u.d_ = cell[-work.in_step[2]];
      u.t_ = cell[work.in_step[2]];
    }
    const Real updated = formula(u);
    work.out[x * work.out_step[0] + y * work.out_step[1] + z * work.out_step[2]] = updated;
    if (kind != Norm::none && is_owned<Real>(work.owned, x, y, z)) change.add(updated, u.c_);
  }
  change.publish(work.norm);
}

}  // namespace halocline::stencil::cuda

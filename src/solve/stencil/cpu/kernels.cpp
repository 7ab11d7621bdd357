// SPDX-License-Identifier: Apache-2.0
// The vector kernels. Highway compiles this file once for each kind of vectors listed at its end,
// each in its own namespace.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "stencil/compiled.hpp"
#include "stencil/cpu/expression.hpp"
#include "stencil/cpu/kernel.hpp"
#include "stencil/cpu/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "stencil/cpu/kernels.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/cache_control.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace halocline::stencil::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// A cell of the input, and the distances in elements to its neighbours.
template <class Real>
struct CellPointer {
  const Real* cell;
  std::int64_t y, z;
};

/// All lanes of a vector.
template <class D>
struct All {
  using Tag = D;
  D d;
  template <class Real>
  HWY_INLINE hn::Vec<D> load(const Real* from) const {
    return hn::LoadU(d, from);
  }
  template <int X, int Y, int Z, class Real>
  HWY_INLINE hn::Vec<D> cell(const CellPointer<Real>& at) const {
    return load(at.cell + X + Y * at.y + Z * at.z);
  }
  HWY_INLINE hn::Vec<D> keep(hn::Vec<D> value) const { return value; }
};

/// Whether the target has fast stores of part of a vector that leave the adjacent bytes untouched:
/// another thread or a neighbour's message may be writing them.
constexpr bool has_masked_stores = HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3;

/// The first lanes of a vector only.
template <class D>
struct First {
  using Tag = D;
  D d;
  hn::Mask<D> mask;
  template <class Real>
  HWY_INLINE hn::Vec<D> load(const Real* from) const {
    return hn::MaskedLoad(mask, d, from);
  }
  template <int X, int Y, int Z, class Real>
  HWY_INLINE hn::Vec<D> cell(const CellPointer<Real>& at) const {
    return load(at.cell + X + Y * at.y + Z * at.z);
  }
  HWY_INLINE hn::Vec<D> keep(hn::Vec<D> value) const { return hn::IfThenElseZero(mask, value); }
};

template <class Lanes, class Real, int X, int Y, int Z>
HWY_INLINE auto evaluate(const Lanes& lanes, Cell<X, Y, Z>, const CellPointer<Real>& at) {
  return lanes.template cell<X, Y, Z>(at);
}
template <class Lanes, class Real>
HWY_INLINE auto evaluate(const Lanes& lanes, const Constant<Real>& constant,
                         const CellPointer<Real>&) {
  return hn::Set(lanes.d, constant.value);
}
template <class Lanes, class Real, class L, class R>
HWY_INLINE auto evaluate(const Lanes& lanes, const Sum<L, R>& sum, const CellPointer<Real>& at);
template <class Lanes, class Real, class L, class R>
HWY_INLINE auto evaluate(const Lanes& lanes, const Difference<L, R>& difference,
                         const CellPointer<Real>& at);
template <class Lanes, class Real, class L, class R>
HWY_INLINE auto evaluate(const Lanes& lanes, const Product<L, R>& product,
                         const CellPointer<Real>& at);

template <class Lanes, class Real, class L, class R>
HWY_INLINE auto evaluate(const Lanes& lanes, const Sum<L, R>& sum, const CellPointer<Real>& at) {
  return hn::Add(evaluate(lanes, sum.left, at), evaluate(lanes, sum.right, at));
}
template <class Lanes, class Real, class L, class R>
HWY_INLINE auto evaluate(const Lanes& lanes, const Difference<L, R>& difference,
                         const CellPointer<Real>& at) {
  return hn::Sub(evaluate(lanes, difference.left, at), evaluate(lanes, difference.right, at));
}
template <class Lanes, class Real, class L, class R>
HWY_INLINE auto evaluate(const Lanes& lanes, const Product<L, R>& product,
                         const CellPointer<Real>& at) {
  return hn::Mul(evaluate(lanes, product.left, at), evaluate(lanes, product.right, at));
}

// The partial norms in registers during the update of rows. Rows of one step count from 0.

template <class Real, int rows>
struct NoNorm {
  template <class Lanes>
  HWY_INLINE void add(const Lanes&, hn::Vec<typename Lanes::Tag>, int) {}
  HWY_INLINE void end_row(int, std::int64_t, BlockNorm&) {}
  HWY_INLINE void end(BlockNorm&) {}
};

/// The largest |change|. Compares magnitudes as integers: the order of numbers is the same, and NaN
/// compares above infinity and so is never lost, which a maximum of floating-point vectors does not
/// guarantee.
template <class Real, int rows>
class MaxNorm {
 public:
  HWY_INLINE MaxNorm() : wide_(hn::Zero(Bits())) {}

  template <class Lanes>
  HWY_INLINE void add(const Lanes& lanes, hn::Vec<typename Lanes::Tag> change, int) {
    const hn::RebindToSigned<typename Lanes::Tag> bits;
    const auto magnitude = hn::BitCast(bits, hn::Abs(lanes.keep(change)));
    if constexpr (std::is_same_v<typename Lanes::Tag, Wide>)
      wide_ = hn::Max(wide_, magnitude);
    else
      single_ = std::max(single_, hn::GetLane(magnitude));
  }
  HWY_INLINE void end_row(int, std::int64_t, BlockNorm&) {}
  HWY_INLINE void end(BlockNorm& norm) {
    const Bits bits;
    HWY_ALIGN Integer lanes[hn::MaxLanes(bits)];
    hn::Store(wide_, bits, lanes);
    Integer largest = single_;
    for (std::size_t i = 0; i < hn::Lanes(bits); ++i) largest = std::max(largest, lanes[i]);
    Real magnitude;
    std::memcpy(&magnitude, &largest, sizeof(Real));
    norm.max = larger(norm.max, magnitude);
  }

 private:
  using Wide = hn::ScalableTag<Real>;
  using Bits = hn::RebindToSigned<Wide>;
  using Integer = hn::TFromD<Bits>;
  hn::Vec<Bits> wide_;
  Integer single_ = 0;
};

/// The sum of squares of the changes of each row, each change widened to double precision first.
template <class Real, int rows>
class SquaresNorm {
 public:
  HWY_INLINE SquaresNorm() : SquaresNorm(std::make_integer_sequence<int, rows>()) {}

  template <class Lanes>
  HWY_INLINE void add(const Lanes& lanes, hn::Vec<typename Lanes::Tag> change, int row) {
    const auto kept = lanes.keep(change);
    if constexpr (!std::is_same_v<typename Lanes::Tag, Wide>) {
      add_single(hn::GetLane(kept), row);
    } else if constexpr (std::is_same_v<Real, double>) {
      lower_[row] = hn::Add(lower_[row], hn::Mul(kept, kept));
    } else {
#if HWY_TARGET == HWY_SCALAR
      add_single(hn::GetLane(kept), row);
#else
      const hn::Half<Wide> half;
      const auto lower = hn::PromoteTo(Doubles(), hn::LowerHalf(half, kept));
      const auto upper = hn::PromoteTo(Doubles(), hn::UpperHalf(half, kept));
      lower_[row] = hn::Add(lower_[row], hn::Mul(lower, lower));
      upper_[row] = hn::Add(upper_[row], hn::Mul(upper, upper));
#endif
    }
  }
  HWY_INLINE void end_row(int row, std::int64_t number, BlockNorm& norm) {
    const auto lanes = hn::Add(lower_[row], upper_[row]);
    norm.row_sums[number] += hn::GetLane(hn::SumOfLanes(Doubles(), lanes)) + single_[row];
  }
  HWY_INLINE void end(BlockNorm&) {}

 private:
  using Wide = hn::ScalableTag<Real>;
  using Doubles = hn::ScalableTag<double>;

  template <int... row>
  HWY_INLINE explicit SquaresNorm(std::integer_sequence<int, row...>)
      : lower_{(static_cast<void>(row), hn::Zero(Doubles()))...},
        upper_{(static_cast<void>(row), hn::Zero(Doubles()))...},
        single_{} {}
  HWY_INLINE void add_single(double change, int row) { single_[row] += change * change; }

  hn::Vec<Doubles> lower_[rows], upper_[rows];
  double single_[rows];
};

/// The vectors updated in one step: `vectors` of each of `rows` rows in each of `planes` planes.
template <int rows_, int planes_, int vectors_>
struct Shape {
  static constexpr int rows = rows_, planes = planes_, vectors = vectors_;
  static constexpr int all_rows = rows * planes, all_vectors = all_rows * vectors;

  static constexpr int row(int i) { return i / vectors % rows; }
  static constexpr int plane(int i) { return i / vectors / rows; }
  static constexpr int vector(int i) { return i % vectors; }
};

// Several rows at a time, because a step then reads each row of the input from the second-level
// cache once or twice instead of three times, and because more loads from memory are in flight. One
// core of an EPYC 9004, fp64 laplace 8192^2, AVX-512, as a fraction of the speed of a copy with
// streamed stores: 1 row 0.49, 2 rows 0.67, 4 rows 0.80, 8 rows 0.97, 16 rows 0.88 (no registers
// left).
//
// Streamed stores come a whole line at a time: half lines of 8 rows overflow the processor's
// write-combining buffers (AVX2, 4 rows: 0.44 by half lines, 0.57 by whole lines; 8 rows 0.75). In
// the caches 4 rows are as good as 8 with 32 registers and 7 % better with 16.
//
// In 3-D, rows are short, and many rows side by side restart the prefetcher often; planes side by
// side do not. star7 512^3: 8x1 rows by planes 0.40, 4x1 0.44, 1x4 0.53, 2x4 with rows ahead
// prefetched 0.61.
template <class Real, int axes, Stores stores>
constexpr auto shape_for() {
  constexpr int bytes = static_cast<int>(hn::MaxLanes(hn::ScalableTag<Real>()) * sizeof(Real));
  constexpr int line = stores == Stores::streamed ? std::max(1, 64 / bytes) : 1;
  constexpr int rows = bytes == 64 || stores == Stores::streamed ? 8 : 4;
  if constexpr (bytes < 16)
    return Shape<1, 1, 1>();
  else if constexpr (axes == 1)
    return Shape<1, 1, line>();
  else if constexpr (axes == 2)
    return Shape<rows, 1, line>();
  else if constexpr (bytes == 64)
    return Shape<2, 4, line>();
  else if constexpr (stores == Stores::streamed)
    return Shape<1, 4, line>();
  else
    return Shape<2, 2, line>();
}

/// Rows side by side, described by the first one.
template <class Real>
struct Rows {
  const Real* in;
  Real* out;
  std::int64_t cells;
  std::int64_t in_y, in_z, out_y, out_z;
  std::int64_t number, number_z;  // of the first row's sum of squares; step to the next plane's

  HWY_INLINE CellPointer<Real> cell_at(std::int64_t x, int row, int plane) const {
    return {in + row * in_y + plane * in_z + x, in_y, in_z};
  }
  HWY_INLINE Real* target(std::int64_t x, int row, int plane) const {
    return out + row * out_y + plane * out_z + x;
  }
  HWY_INLINE std::int64_t number_of(int row, int plane) const {
    return number + row + plane * number_z;
  }
  HWY_INLINE Rows only(int row, int plane) const {
    Rows one = *this;
    one.in = cell_at(0, row, plane).cell;
    one.out = target(0, row, plane);
    one.number = number_of(row, plane);
    return one;
  }
};

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
/// Three vectors along x in each row of a step: a cell is loaded once, and the neighbours along x
/// are shifted out of two vectors. A load that does not begin on its own size takes two lines, with
/// vectors of 64 bytes always. laplace in fp64 on one core of a Xeon (Sapphire Rapids), 256x32
/// cells in its caches: 2.6 GLUP/s to 2.3; by passes 4.9 to 4.2. In 3-D it was a fifth slower.
template <class Real, class S>
struct Window {
  using Tag = hn::ScalableTag<Real>;
  hn::Vec<Tag> before[S::rows], here[S::rows], behind[S::rows];

  HWY_INLINE void advance() {
    for (int i = 0; i < S::rows; ++i) {
      before[i] = here[i];
      here[i] = behind[i];
    }
  }
};

/// Lanes `n` and following of two vectors side by side.
template <int n, class V>
HWY_INLINE V shifted(V lower, V upper) {
  V both;
  if constexpr (sizeof(hn::TFromV<V>) == 8)
    both.raw = _mm512_castsi512_pd(
        _mm512_alignr_epi64(_mm512_castpd_si512(upper.raw), _mm512_castpd_si512(lower.raw), n));
  else
    both.raw = _mm512_castsi512_ps(
        _mm512_alignr_epi32(_mm512_castps_si512(upper.raw), _mm512_castps_si512(lower.raw), n));
  return both;
}

/// All lanes of the vector in a row of a window.
template <class Real, class S, int row>
struct InWindow {
  using Tag = hn::ScalableTag<Real>;
  Tag d;
  const Window<Real, S>& window;

  template <int X, int Y, int Z>
  HWY_INLINE hn::Vec<Tag> cell(const CellPointer<Real>& at) const {
    constexpr int of = row + Y, lanes = 64 / static_cast<int>(sizeof(Real));
    if constexpr (of < 0 || of >= S::rows || Z != 0) {
      return hn::LoadU(d, at.cell + X + Y * at.y + Z * at.z);
    } else {
      if constexpr (X < 0) return shifted<lanes + X>(window.before[of], window.here[of]);
      if constexpr (X > 0) return shifted<X>(window.here[of], window.behind[of]);
      return window.here[of];
    }
  }
  HWY_INLINE hn::Vec<Tag> keep(hn::Vec<Tag> value) const { return value; }
};
#endif

template <class Real, class Formula>
class VectorKernel final : public Kernel {
 public:
  explicit VectorKernel(const Formula& formula) : formula_(formula) {}

  void update(const Block& block, Stores stores, BlockNorm& norm) const override {
    if (norm.kind == Norm::none) return update_with<NoNorm>(block, stores, norm);
    if (norm.kind == Norm::max) return update_with<MaxNorm>(block, stores, norm);
    for (std::int64_t z = 0; z < block.extent().z; ++z)
      std::fill_n(norm.row_sums + z * norm.plane, block.extent().y, 0.0);
    update_with<SquaresNorm>(block, stores, norm);
  }

 private:
  using Wide = hn::ScalableTag<Real>;
  using Single = hn::CappedTag<Real, 1>;

  template <template <class, int> class Norm>
  void update_with(const Block& block, Stores stores, BlockNorm& norm) const {
    // Vectors of 16 bytes are faster through the caches (SSE4, the same laplace: 1.27 GLUP/s
    // to 1.05).
    if constexpr (sizeof(hn::Vec<Wide>) >= 32)
      if (stores == Stores::streamed) return update_block<Norm, Stores::streamed>(block, norm);
    update_block<Norm, Stores::cached>(block, norm);
  }

  template <template <class, int> class Norm, Stores stores>
  void update_block(const Block& block, BlockNorm& norm) const {
    using Most = decltype(shape_for<Real, axes_of<Formula>, stores>());
    using One = Shape<1, 1, 1>;
    const Int3 count = block.extent();
    // Rows and planes that fill no shape are updated row by row.
    const bool fits = rows_are_aligned_alike(block);
    const std::int64_t rows = fits ? count.y / Most::rows * Most::rows : 0;
    const std::int64_t planes = fits ? count.z / Most::planes * Most::planes : 0;
    for (std::int64_t z = 0; z < planes; z += Most::planes) {
      for (std::int64_t y = 0; y < rows; y += Most::rows)
        update_rows<Norm, stores, Most>(rows_from(block, norm, y, z), norm);
      for (std::int64_t plane = z; plane < z + Most::planes; ++plane)
        for (std::int64_t y = rows; y < count.y; ++y)
          update_rows<Norm, stores, One>(rows_from(block, norm, y, plane), norm);
    }
    for (std::int64_t z = planes; z < count.z; ++z)
      for (std::int64_t y = 0; y < count.y; ++y)
        update_rows<Norm, stores, One>(rows_from(block, norm, y, z), norm);
  }

  /// Streamed stores must be aligned. Besides, the order in which a row's squares are added up must
  /// depend only on where its vectors begin, not on the rows updated with it.
  static bool rows_are_aligned_alike(const Block& block) {
    const auto width = static_cast<std::int64_t>(hn::Lanes(Wide()));
    const Int3& step = block.out[0].step;
    return step.y % width == 0 && step.z % width == 0;
  }

  static Rows<Real> rows_from(const Block& block, const BlockNorm& norm, std::int64_t y,
                              std::int64_t z) {
    const Corner &in = block.in[0], &out = block.out[0];
    return {.in = reinterpret_cast<const Real*>(in.cell) + y * in.step.y + z * in.step.z,
            .out = reinterpret_cast<Real*>(out.cell) + y * out.step.y + z * out.step.z,
            .cells = block.extent().x,
            .in_y = in.step.y,
            .in_z = in.step.z,
            .out_y = out.step.y,
            .out_z = out.step.z,
            .number = y + z * norm.plane,
            .number_z = norm.plane};
  }

  template <template <class, int> class Norm, Stores stores, class S>
  HWY_NOINLINE void update_rows(Rows<Real> rows, BlockNorm& norm) const {
    // As rows, a copy: what no store can change stays in registers.
    const Formula formula = formula_;
    Norm<Real, S::all_rows> sum;
    const auto width = static_cast<std::int64_t>(hn::Lanes(Wide()));
    const std::int64_t first = std::min(rows.cells, cells_to_alignment(rows.out));
    std::int64_t x = first;
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
    if constexpr (S::vectors == 1 && S::planes == 1 && S::rows > 1)
      x = update_by_window<stores, S>(formula, rows, x, sum, Counter<S::all_rows>());
#endif
    for (; x + S::vectors * width <= rows.cells; x += S::vectors * width)
      update_vectors<stores, S>(formula, rows, x, sum, Counter<S::all_vectors>());
    if constexpr (S::vectors > 1)
      for (; x + width <= rows.cells; x += width)
        update_vectors<stores, Shape<S::rows, S::planes, 1>>(formula, rows, x, sum,
                                                             Counter<S::all_rows>());
    end_rows<S>(rows, sum, norm, Counter<S::all_rows>());
    if (first == 0 && x == rows.cells) return;
    for (int plane = 0; plane < S::planes; ++plane)
      for (int row = 0; row < S::rows; ++row)
        update_ends<Norm>(rows.only(row, plane), first, x, norm);
  }

  /// Updates the cells of a row before and after its whole vectors.
  template <template <class, int> class Norm>
  HWY_NOINLINE void update_ends(const Rows<Real>& row, std::int64_t first, std::int64_t last,
                                BlockNorm& norm) const {
    Norm<Real, 1> sum;
    update_few(formula_, row, 0, first, sum);
    update_few(formula_, row, last, row.cells, sum);
    end_rows<Shape<1, 1, 1>>(row, sum, norm, Counter<1>());
  }

  // Unrolled by a parameter pack instead of a loop, so that all values stay in registers.
  template <int count>
  using Counter = std::make_integer_sequence<int, count>;

  template <Stores stores, class S, class Norm, int... i>
  static HWY_INLINE void update_vectors(const Formula& formula, const Rows<Real>& rows,
                                        std::int64_t x, Norm& sum,
                                        std::integer_sequence<int, i...>) {
    const All<Wide> lanes{};
    const auto width = static_cast<std::int64_t>(hn::Lanes(lanes.d));
    // Prefetch the rows after the next step's; this step already reads the first of the next
    // step's.
    if constexpr (S::planes > 1)
      (hwy::Prefetch(rows.cell_at(x, S::row(i) + S::rows + 1, S::plane(i) + 1).cell), ...);
    const CellPointer<Real> cells[] = {
        rows.cell_at(x + S::vector(i) * width, S::row(i), S::plane(i))...};
    // All loads before the first store, so that values that two rows need are loaded once.
    const hn::Vec<Wide> updated[] = {evaluate(lanes, formula, cells[i])...};
    (sum.add(lanes, hn::Sub(updated[i], lanes.load(cells[i].cell)), i / S::vectors), ...);
    (store<stores>(updated[i], rows.target(x + S::vector(i) * width, S::row(i), S::plane(i))), ...);
  }

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  /// Updates all vectors from x on but the last, which has none behind it; returns where that is.
  template <Stores stores, class S, class Norm, int... i>
  static HWY_INLINE std::int64_t update_by_window(const Formula& formula, const Rows<Real>& rows,
                                                  std::int64_t x, Norm& sum,
                                                  std::integer_sequence<int, i...> all) {
    const Wide d;
    const auto width = static_cast<std::int64_t>(hn::Lanes(d));
    if (x + 3 * width > rows.cells) return x;
    update_vectors<stores, S>(formula, rows, x, sum, all);
    Window<Real, S> window{.before = {hn::LoadU(d, rows.cell_at(x, i, 0).cell)...},
                           .here = {hn::LoadU(d, rows.cell_at(x + width, i, 0).cell)...},
                           .behind = {}};
    for (x += width; x + 2 * width <= rows.cells; x += width) {
      const CellPointer<Real> cells[] = {rows.cell_at(x, i, 0)...};
      ((window.behind[i] = hn::LoadU(d, cells[i].cell + width)), ...);
      const hn::Vec<Wide> updated[] = {
          evaluate(InWindow<Real, S, i>{d, window}, formula, cells[i])...};
      (sum.add(All<Wide>{}, hn::Sub(updated[i], window.here[i]), i), ...);
      (store<stores>(updated[i], rows.target(x, i, 0)), ...);
      window.advance();
    }
    return x;
  }
#endif

  template <Stores stores>
  static HWY_INLINE void store(hn::Vec<Wide> value, Real* to) {
    if constexpr (stores == Stores::streamed)
      hn::Stream(value, Wide(), to);
    else
      hn::StoreU(value, Wide(), to);
  }

  template <class S, class Norm, int... row>
  static HWY_INLINE void end_rows(const Rows<Real>& rows, Norm& sum, BlockNorm& norm,
                                  std::integer_sequence<int, row...>) {
    (sum.end_row(row, rows.number_of(row % S::rows, row / S::rows), norm), ...);
    sum.end(norm);
  }

  /// Updates fewer cells than a vector holds.
  template <class Norm>
  static HWY_INLINE void update_few(const Formula& formula, const Rows<Real>& row,
                                    std::int64_t from, std::int64_t to, Norm& sum) {
    if (from == to) return;
    if constexpr (has_masked_stores) {
      const First<Wide> lanes{Wide(), hn::FirstN(Wide(), static_cast<std::size_t>(to - from))};
      const CellPointer<Real> at = row.cell_at(from, 0, 0);
      const auto updated = evaluate(lanes, formula, at);
      sum.add(lanes, hn::Sub(updated, lanes.load(at.cell)), 0);
      hn::BlendedStore(updated, lanes.mask, lanes.d, row.target(from, 0, 0));
    } else {
      const All<Single> lanes{};
      for (std::int64_t x = from; x < to; ++x) {
        const CellPointer<Real> at = row.cell_at(x, 0, 0);
        const auto updated = evaluate(lanes, formula, at);
        sum.add(lanes, hn::Sub(updated, lanes.load(at.cell)), 0);
        hn::StoreU(updated, lanes.d, row.target(x, 0, 0));
      }
    }
  }

  static std::int64_t cells_to_alignment(const Real* out) {
    const std::size_t bytes = hn::Lanes(Wide()) * sizeof(Real);
    const std::size_t beyond = reinterpret_cast<std::uintptr_t>(out) % bytes;
    return beyond == 0 ? 0 : static_cast<std::int64_t>((bytes - beyond) / sizeof(Real));
  }

  Formula formula_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const problem::Model& model) {
  std::unique_ptr<Kernel> kernel;
  const auto make = [&]<class Real>(const auto& formula) {
    const auto expression = formula(Symbols<Real>());
    using Expression = std::remove_const_t<decltype(expression)>;
    kernel = std::make_unique<VectorKernel<Real, Expression>>(expression);
  };
  use_compiled(model, make, problem::CompiledFormulas{});
  return kernel;
}

}  // namespace HWY_NAMESPACE
}  // namespace halocline::stencil::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halocline::stencil::cpu {
namespace {

/// Returns the lowest level, which every processor that this build supports has.
std::string_view name_of_baseline() {
  switch (HWY_STATIC_TARGET) {
    case HWY_AVX3:
      return "avx512";
    case HWY_AVX2:
      return "avx2";
    case HWY_SSE4:
      return "sse4";
    case HWY_NEON:
      return "neon";
    default:
      return "scalar";
  }
}

struct WiderLevel {
  Level level;
  std::int64_t target;
};

/// Lists the wider levels, narrowest first; `make` is null for those that this build lacks.
std::span<const WiderLevel> wider_levels() {
  static const WiderLevel all[] = {
      {{"sse4", HWY_CHOOSE_SSE4(make_kernel)}, HWY_SSE4},
      {{"neon", HWY_CHOOSE_NEON(make_kernel)}, HWY_NEON},
      {{"avx2", HWY_CHOOSE_AVX2(make_kernel)}, HWY_AVX2},
      {{"avx512", HWY_CHOOSE_AVX3(make_kernel)}, HWY_AVX3},
  };
  return all;
}

/// Whether this processor has the instructions of a target of Highway, as its library, which we do
/// not link, asks. (With AVX2 come F16C and LZCNT, which Clang 14 does not know by name.)
bool has(std::int64_t target) {
#if HWY_ARCH_X86
  __builtin_cpu_init();
  const bool sse4 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul") &&
                    __builtin_cpu_supports("aes");
  const bool avx2 = sse4 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  if (target == HWY_SSE4) return sse4;
  if (target == HWY_AVX2) return avx2;
  if (target == HWY_AVX3)
    return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd");
#endif
  return false;
}

std::vector<Level> find_levels() {
  std::vector<Level> found{{name_of_baseline(), &HWY_STATIC_DISPATCH(make_kernel)}};
  for (const WiderLevel& wider : wider_levels())
    if (wider.level.make != nullptr && wider.level.make != found[0].make && has(wider.target))
      found.push_back(wider.level);
  return found;
}

}  // namespace

std::span<const Level> levels() {
  static const std::vector<Level> all = find_levels();
  return all;
}

bool is_level_elsewhere(std::string_view name) {
  for (const WiderLevel& wider : wider_levels())
    if (wider.level.name == name && wider.level.make != nullptr) return !has(wider.target);
  return false;
}

void flush_stores() { hwy::FlushStream(); }

}  // namespace halocline::stencil::cpu
#endif  // HWY_ONCE

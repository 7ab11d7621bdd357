// The vector kernels: this file is compiled once for each kind of vectors that it lists at its
// end, each time in a namespace of its own.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "stencil/cpu/expression.hpp"
#include "stencil/cpu/kernel.hpp"
#include "stencil/formulas.hpp"

// Vectors whose length is not known when compiling cannot be members of a class, and SSSE3 has
// nothing that SSE4 machines need.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS \
  (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV | HWY_SSSE3)
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

/// All lanes of a vector.
template <class D>
struct All {
  using Tag = D;
  D d;
  template <class Real>
  HWY_INLINE hn::Vec<D> load(const Real* from) const {
    return hn::LoadU(d, from);
  }
  HWY_INLINE hn::Vec<D> keep(hn::Vec<D> value) const { return value; }
};

/// Whether part of a vector can be stored, fast and without touching what lies beside it, which
/// another thread or a neighbour's message may be writing.
constexpr bool has_masked_stores = HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3;

/// The first lanes of a vector only.
template <class D>
struct First {
  using Tag = D;
  D d;
  hn::Mask<D> lanes;
  template <class Real>
  HWY_INLINE hn::Vec<D> load(const Real* from) const {
    return hn::MaskedLoad(lanes, d, from);
  }
  HWY_INLINE hn::Vec<D> keep(hn::Vec<D> value) const { return hn::IfThenElseZero(lanes, value); }
};

/// A cell of the input, from which neighbours are a number of elements away.
template <class Real>
struct Place {
  const Real* cell;
  std::int64_t y, z;
};

template <class Lanes, class Real, int X, int Y, int Z>
HWY_INLINE auto evaluate(const Lanes& lanes, Cell<X, Y, Z>, const Place<Real>& at) {
  return lanes.load(at.cell + X + Y * at.y + Z * at.z);
}
template <class Lanes, class Real>
HWY_INLINE auto evaluate(const Lanes& lanes, const Constant<Real>& constant, const Place<Real>&) {
  return hn::Set(lanes.d, constant.value);
}
template <class Lanes, class Real, class L, class R>
HWY_INLINE auto evaluate(const Lanes& lanes, const Sum<L, R>& sum, const Place<Real>& at);
template <class Lanes, class Real, class L, class R>
HWY_INLINE auto evaluate(const Lanes& lanes, const Difference<L, R>& difference,
                         const Place<Real>& at);
template <class Lanes, class Real, class L, class R>
HWY_INLINE auto evaluate(const Lanes& lanes, const Product<L, R>& product, const Place<Real>& at);

template <class Lanes, class Real, class L, class R>
HWY_INLINE auto evaluate(const Lanes& lanes, const Sum<L, R>& sum, const Place<Real>& at) {
  return hn::Add(evaluate(lanes, sum.left, at), evaluate(lanes, sum.right, at));
}
template <class Lanes, class Real, class L, class R>
HWY_INLINE auto evaluate(const Lanes& lanes, const Difference<L, R>& difference,
                         const Place<Real>& at) {
  return hn::Sub(evaluate(lanes, difference.left, at), evaluate(lanes, difference.right, at));
}
template <class Lanes, class Real, class L, class R>
HWY_INLINE auto evaluate(const Lanes& lanes, const Product<L, R>& product, const Place<Real>& at) {
  return hn::Mul(evaluate(lanes, product.left, at), evaluate(lanes, product.right, at));
}

// What a norm keeps in registers while rows are updated. Rows that are updated together are
// numbered from 0.

template <class Real, int rows>
struct NoNorm {
  template <class Lanes>
  HWY_INLINE void add(const Lanes&, hn::Vec<typename Lanes::Tag>, int) {}
  HWY_INLINE void end_row(BlockNorm&, int, std::int64_t) {}
  HWY_INLINE void end(BlockNorm&) {}
};

/// The largest |change|. Magnitudes are compared as integers: for numbers that is the same
/// order, and what is not a number comes after infinity and so is never lost, which a maximum
/// of floating-point vectors does not promise.
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
  HWY_INLINE void end_row(BlockNorm&, int, std::int64_t) {}
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
  HWY_INLINE void end_row(BlockNorm& norm, int row, std::int64_t row_of_block) {
    const auto lanes = hn::Add(lower_[row], upper_[row]);
    norm.row_sums[row_of_block] += hn::GetLane(hn::SumOfLanes(Doubles(), lanes)) + single_[row];
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

#ifndef T_V
#define T_V 8
#define T_3R 2
#define T_PF 1
#endif
/// What is updated together: `rows` rows of `planes` planes, `vectors` vectors of each.
template <int Rows, int Planes, int Vectors>
struct Shape {
  static constexpr int rows = Rows, planes = Planes, vectors = Vectors;
  static constexpr int all_rows = rows * planes, all_vectors = all_rows * vectors;
};

template <class Real, int axes>
constexpr auto shape_for() {
  constexpr int bytes = static_cast<int>(hn::MaxLanes(hn::ScalableTag<Real>()) * sizeof(Real));
  constexpr int line = bytes < 16 ? 1 : std::max(1, 64 / bytes);
  constexpr int rows = bytes < 16 ? 1 : T_V / line;
  if constexpr (axes == 1) return Shape<1, 1, line>();
  else if constexpr (axes == 2) return Shape<rows, 1, line>();
  else if constexpr (rows == 8) return Shape<T_3R, 8/T_3R, line>();
  else return Shape<1, rows, line>();
}

template <class Real, class Formula>
class VectorKernel final : public Kernel {
 public:
  explicit VectorKernel(const Formula& formula) : formula_(formula) {}

  void update(const Block& block, Stores stores, BlockNorm& norm) const override {
    if (norm.kind == problem::NormKind::none) return update_block<NoNorm>(block, stores, norm);
    if (norm.kind == problem::NormKind::max) return update_block<MaxNorm>(block, stores, norm);
    for (std::int64_t z = 0; z < block.extent.z; ++z)
      std::fill_n(norm.row_sums + z * norm.plane, block.extent.y, 0.0);
    update_block<SquaresNorm>(block, stores, norm);
  }

 private:
  using Wide = hn::ScalableTag<Real>;
  using OneLane = hn::CappedTag<Real, 1>;

  template <template <class, int> class Norm>
  void update_block(const Block& block, Stores stores, BlockNorm& norm) const {
    using Bundle = decltype(shape_for<Real, axes_of<Formula>>());
    const Int3 count = block.extent;
    // Bundles first, then what does not fill one, row by row.
    const std::int64_t rows = count.y / Bundle::rows * Bundle::rows;
    const std::int64_t planes = count.z / Bundle::planes * Bundle::planes;
    for (std::int64_t z = 0; z < planes; z += Bundle::planes) {
      for (std::int64_t y = 0; y < rows; y += Bundle::rows)
        update_bundle<Norm>(Bundle(), rows_from(block, y, z, norm.plane), stores, norm);
      for (std::int64_t plane = z; plane < z + Bundle::planes; ++plane)
        for (std::int64_t y = rows; y < count.y; ++y)
          update_row<Norm>(rows_from(block, y, plane, norm.plane), stores, norm);
    }
    for (std::int64_t z = planes; z < count.z; ++z)
      for (std::int64_t y = 0; y < count.y; ++y)
        update_row<Norm>(rows_from(block, y, z, norm.plane), stores, norm);
  }

  /// Rows side by side, from one on.
  struct Rows {
    const Real* in;
    Real* out;
    std::int64_t cells;
    std::int64_t in_y, in_z, out_y, out_z;
    std::int64_t number, plane;  // of the first row's sum, and from plane to plane

    HWY_INLINE Place<Real> place(std::int64_t x, int row, int in_plane) const {
      return {in + row * in_y + in_plane * in_z + x, in_y, in_z};
    }
    HWY_INLINE Real* target(std::int64_t x, int row, int in_plane) const {
      return out + row * out_y + in_plane * out_z + x;
    }
  };

  static HWY_INLINE Rows rows_from(const Block& block, std::int64_t y, std::int64_t z, std::int64_t plane) {
    return {static_cast<const Real*>(block.in) + y * block.in_step.y + z * block.in_step.z,
            static_cast<Real*>(block.out) + y * block.out_step.y + z * block.out_step.z,
            block.extent.x, block.in_step.y, block.in_step.z, block.out_step.y, block.out_step.z, y + z * plane, plane};
  }

  template <template <class, int> class Norm, class Bundle>
  HWY_NOINLINE void update_bundle(Bundle bundle, const Rows& rows, Stores stores, BlockNorm& norm) const {
    constexpr auto sequence = std::make_integer_sequence<int, Bundle::all_vectors>();
    // A copy that no store can change, so that the coefficients stay in registers.
    const Formula formula = formula_;
    Norm<Real, Bundle::all_rows> sum;
    const std::int64_t width = Bundle::vectors * static_cast<std::int64_t>(hn::Lanes(Wide()));
    const std::int64_t first = std::min(rows.cells, cells_to_alignment(rows.out));
    std::int64_t x = first;
    for (; x + width <= rows.cells; x += width) update_vectors(bundle, sequence, formula, rows, x, stores, sum);
    end_rows(bundle, std::make_integer_sequence<int, Bundle::all_rows>(), sum, rows, norm);
    sum.end(norm);
    if (first > 0 || x < rows.cells)
      for (int row = 0; row < Bundle::all_rows; ++row) {
        Rows part = rows;
        part.in = rows.place(0, row % Bundle::rows, row / Bundle::rows).cell;
        part.out = rows.target(0, row % Bundle::rows, row / Bundle::rows);
        part.number = rows.number + row % Bundle::rows + row / Bundle::rows * rows.plane;
        part.cells = first;
        if (first > 0) update_row<Norm>(part, Stores::cached, norm);
        part.in += x;
        part.out += x;
        part.cells = rows.cells - x;
        update_row<Norm>(part, Stores::cached, norm);
      }
  }

  template <class Bundle, int... i, class Norm>
  static HWY_INLINE void update_vectors(Bundle, std::integer_sequence<int, i...>, const Formula& formula, const Rows& rows, std::int64_t x, Stores stores, Norm& sum) {
    const All<Wide> lanes{};
    const auto width = static_cast<std::int64_t>(hn::Lanes(lanes.d));
    if constexpr (T_PF && Bundle::planes > 1)
        (__builtin_prefetch(rows.place(x, i / Bundle::vectors % Bundle::rows + Bundle::rows, i / Bundle::vectors / Bundle::rows + 1).cell), ...);
    const Place<Real> places[] = {rows.place(x + i % Bundle::vectors * width, i / Bundle::vectors % Bundle::rows, i / Bundle::vectors / Bundle::rows)...};
    // All loads before the first store: what two rows both need is then loaded once.
    const hn::Vec<Wide> updated[] = {evaluate(lanes, formula, places[i])...};
    (sum.add(lanes, hn::Sub(updated[i], evaluate(lanes, Cell<0, 0, 0>(), places[i])), i / Bundle::vectors), ...);
    Real* const targets[] = {rows.target(x + i % Bundle::vectors * width, i / Bundle::vectors % Bundle::rows, i / Bundle::vectors / Bundle::rows)...};
    if (stores == Stores::streamed)
      (hn::Stream(updated[i], lanes.d, targets[i]), ...);
    else
      (hn::StoreU(updated[i], lanes.d, targets[i]), ...);
  }

  template <class Bundle, int... row, class Norm>
  static HWY_INLINE void end_rows(Bundle, std::integer_sequence<int, row...>, Norm& sum, const Rows& rows, BlockNorm& norm) {
    (sum.end_row(norm, row, rows.number + row % Bundle::rows + row / Bundle::rows * rows.plane), ...);
  }

  /// One row, or part of one.
  template <template <class, int> class Norm>
  HWY_NOINLINE void update_row(const Rows& rows, Stores stores, BlockNorm& norm) const {
    const Formula formula = formula_;
    Norm<Real, 1> sum;
    const auto width = static_cast<std::int64_t>(hn::Lanes(Wide()));
    std::int64_t x = std::min(rows.cells, cells_to_alignment(rows.out));
    update_few(formula, rows, 0, x, sum);
    for (; x + width <= rows.cells; x += width)
      update_vectors(Shape<1, 1, 1>(), std::integer_sequence<int, 0>(), formula, rows, x, stores, sum);
    update_few(formula, rows, x, rows.cells, sum);
    sum.end_row(norm, 0, rows.number);
    sum.end(norm);
  }

  /// Fewer cells than a vector holds.
  template <class Norm>
  static HWY_INLINE void update_few(const Formula& formula, const Rows& rows, std::int64_t from,
                                    std::int64_t to, Norm& sum) {
    if constexpr (has_masked_stores) {
      if (from == to) return;
      const Wide d;
      const First<Wide> lanes{d, hn::FirstN(d, static_cast<std::size_t>(to - from))};
      const Place<Real> at = rows.place(from, 0, 0);
      const auto updated = evaluate(lanes, formula, at);
      sum.add(lanes, hn::Sub(updated, evaluate(lanes, Cell<0, 0, 0>(), at)), 0);
      hn::BlendedStore(updated, lanes.lanes, d, rows.target(from, 0, 0));
    } else {
      for (std::int64_t x = from; x < to; ++x) {
        const All<OneLane> lanes{};
        const Place<Real> at = rows.place(x, 0, 0);
        const auto updated = evaluate(lanes, formula, at);
        sum.add(lanes, hn::Sub(updated, evaluate(lanes, Cell<0, 0, 0>(), at)), 0);
        hn::StoreU(updated, lanes.d, rows.target(x, 0, 0));
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

struct Maker {
  using Result = std::unique_ptr<Kernel>;
  template <class Real, class Formula>
  Result make(const Formula& formula) const {
    const auto expression = formula(Symbols<Real>());
    using Expression = std::remove_const_t<decltype(expression)>;
    return std::make_unique<VectorKernel<Real, Expression>>(expression);
  }
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const problem::Problem& problem,
                                    const problem::Setting& setting,
                                    problem::Precision precision) {
  return make_of_formula(problem::Catalogue{}, problem, setting, precision, Maker{});
}

}  // namespace HWY_NAMESPACE
}  // namespace halocline::stencil::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halocline::stencil::cpu {
namespace {

struct Row {
  Level level;
  std::int64_t target;
};

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

std::vector<Level> find_levels() {
  // Without the lowest row, which every processor has that this was compiled for.
  const Row wider[] = {
      {{"sse4", HWY_CHOOSE_SSE4(make_kernel)}, HWY_SSE4},
      {{"neon", HWY_CHOOSE_NEON(make_kernel)}, HWY_NEON},
      {{"avx2", HWY_CHOOSE_AVX2(make_kernel)}, HWY_AVX2},
      {{"avx512", HWY_CHOOSE_AVX3(make_kernel)}, HWY_AVX3},
  };
  std::vector<Level> found{{name_of_baseline(), &HWY_STATIC_DISPATCH(make_kernel)}};
  for (const Row& row : wider)
    if (row.level.make != nullptr && row.level.make != found[0].make &&
        (hwy::SupportedTargets() & row.target) != 0)
      found.push_back(row.level);
  return found;
}

}  // namespace

std::span<const Level> levels() {
  static const std::vector<Level> all = find_levels();
  return all;
}

void flush_stores() { hwy::FlushStream(); }

}  // namespace halocline::stencil::cpu
#endif  // HWY_ONCE

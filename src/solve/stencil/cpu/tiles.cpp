// SPDX-License-Identifier: Apache-2.0
// Kernels that interpret any formula: one operation after the other, each for a tile of cells that
// stays in the first-level cache. Highway compiles this file once for each kind of vectors.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "problem/cell_position.hpp"
#include "problem/functions.hpp"
#include "problem/interpreter.hpp"
#include "stencil/cpu/kernel.hpp"
#include "stencil/cpu/tape.hpp"

// Vectors of a length unknown at compile time cannot be members of a class. SSSE3 and AVX3_DL gain
// nothing over their neighbours.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS \
  (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV | HWY_SSSE3 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "stencil/cpu/tiles.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/cache_control.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace halocline::stencil::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using problem::Op;

// Rows side by side, because a tile then reads each row of the input from the second-level cache
// little more than once, not three times, and because more loads from memory are in flight.
constexpr std::int64_t most_rows = 8;
/// Bytes of a row of a tile, in any precision.
constexpr std::int64_t most_row_bytes = 1024;

/// An operand: values of the cells of a tile, adjacent in a row, or one for each row.
template <class Real>
struct Source {
  const Real* first = nullptr;
  std::int64_t row_step = 0;
  bool is_one = false;  ///< for all cells of a row
};

// The operations, for vectors of any size. Truth values are 1 and 0.

template <class D>
using VecOf = hn::Vec<D>;

template <class D, class M>
HWY_INLINE VecOf<D> truth(D d, M mask) {
  return hn::IfThenElseZero(mask, hn::Set(d, hn::TFromD<D>(1)));
}
template <class D>
HWY_INLINE auto is_true(D d, VecOf<D> a) {
  return hn::Ne(a, hn::Zero(d));
}

template <Op op>
struct Apply {
  template <class D, class V = VecOf<D>>
  static HWY_INLINE V one(D d, V a) {
    if constexpr (op == Op::negate) return hn::Neg(a);
    if constexpr (op == Op::abs) return hn::Abs(a);
    if constexpr (op == Op::sqrt) return hn::Sqrt(a);
    if constexpr (op == Op::logical_not) return truth(d, hn::Eq(a, hn::Zero(d)));
  }
  template <class D, class V = VecOf<D>>
  static HWY_INLINE V two(D d, V a, V b) {
    if constexpr (op == Op::add) return hn::Add(a, b);
    if constexpr (op == Op::subtract) return hn::Sub(a, b);
    if constexpr (op == Op::multiply) return hn::Mul(a, b);
    if constexpr (op == Op::divide) return hn::Div(a, b);
    if constexpr (op == Op::less) return truth(d, hn::Lt(a, b));
    if constexpr (op == Op::less_equal) return truth(d, hn::Le(a, b));
    if constexpr (op == Op::greater) return truth(d, hn::Gt(a, b));
    if constexpr (op == Op::greater_equal) return truth(d, hn::Ge(a, b));
    if constexpr (op == Op::equal) return truth(d, hn::Eq(a, b));
    if constexpr (op == Op::not_equal) return truth(d, hn::Ne(a, b));
    if constexpr (op == Op::logical_and) return truth(d, hn::And(is_true(d, a), is_true(d, b)));
    if constexpr (op == Op::logical_or) return truth(d, hn::Or(is_true(d, a), is_true(d, b)));
  }
  template <class D, class V = VecOf<D>>
  static HWY_INLINE V three(D d, V a, V b, V c) {
    return hn::IfThenElse(is_true(d, a), b, c);
  }
};

/// A value of one lane or of all.
template <class D, class Real>
HWY_INLINE VecOf<D> load(D d, const Source<Real>& source, const Real* row, std::int64_t x) {
  return source.is_one ? hn::Set(d, *row) : hn::LoadU(d, row + x);
}

struct Extent {
  std::int64_t rows, cells;  ///< of each row
};

template <class Real>
using Sources = std::array<Source<Real>, 3>;

/// Calls `step(d, x)` for the vectors of a row, then for its last cells one by one.
template <class Real, class Step>
HWY_INLINE void for_row(std::int64_t cells, const Step& step) {
  const hn::ScalableTag<Real> wide;
  const hn::CappedTag<Real, 1> single;
  const auto width = static_cast<std::int64_t>(hn::Lanes(wide));
  std::int64_t x = 0;
  for (; x + width <= cells; x += width) step(wide, x);
  for (; x < cells; ++x) step(single, x);
}

template <Op op, class Real>
HWY_NOINLINE void run_one(const Extent& extent, const Sources<Real>& from, Real* to,
                          std::int64_t to_step) {
  for (std::int64_t row = 0; row < extent.rows; ++row) {
    const Real* a = from[0].first + row * from[0].row_step;
    Real* result = to + row * to_step;
    for_row<Real>(extent.cells, [&](auto d, std::int64_t x) HWY_ATTR {
      hn::StoreU(Apply<op>::one(d, hn::LoadU(d, a + x)), d, result + x);
    });
  }
}

template <Op op, bool one_a, bool one_b, class Real>
HWY_NOINLINE void run_two(const Extent& extent, const Sources<Real>& from, Real* to,
                          std::int64_t to_step) {
  for (std::int64_t row = 0; row < extent.rows; ++row) {
    const Real* a = from[0].first + row * from[0].row_step;
    const Real* b = from[1].first + row * from[1].row_step;
    Real* result = to + row * to_step;
    for_row<Real>(extent.cells, [&](auto d, std::int64_t x) HWY_ATTR {
      const auto left = one_a ? hn::Set(d, *a) : hn::LoadU(d, a + x);
      const auto right = one_b ? hn::Set(d, *b) : hn::LoadU(d, b + x);
      hn::StoreU(Apply<op>::two(d, left, right), d, result + x);
    });
  }
}

template <Op op, class Real>
void run_two(const Extent& extent, const Sources<Real>& from, Real* to, std::int64_t to_step) {
  if (from[0].is_one) return run_two<op, true, false>(extent, from, to, to_step);
  if (from[1].is_one) return run_two<op, false, true>(extent, from, to, to_step);
  run_two<op, false, false>(extent, from, to, to_step);
}

/// Two operations in one pass, and perhaps a factor. All operands move along x: numbers are rows.
template <Op op, SecondOp second, bool scaled, class Real>
HWY_NOINLINE void run_pair(const Extent& extent, const Sources<Real>& from, Real factor, Real* to,
                           std::int64_t to_step) {
  for (std::int64_t row = 0; row < extent.rows; ++row) {
    const Real* a = from[0].first + row * from[0].row_step;
    const Real* b = from[1].first + row * from[1].row_step;
    const Real* c = from[2].first + row * from[2].row_step;
    Real* result = to + row * to_step;
    for_row<Real>(extent.cells, [&](auto d, std::int64_t x) HWY_ATTR {
      auto value = Apply<op>::two(d, hn::LoadU(d, a + x), hn::LoadU(d, b + x));
      if constexpr (second == SecondOp::add) value = hn::Add(value, hn::LoadU(d, c + x));
      if constexpr (second == SecondOp::subtract) value = hn::Sub(value, hn::LoadU(d, c + x));
      if constexpr (second == SecondOp::subtract_from) value = hn::Sub(hn::LoadU(d, c + x), value);
      if constexpr (second == SecondOp::multiply) value = hn::Mul(value, hn::LoadU(d, c + x));
      if constexpr (scaled) value = hn::Mul(value, hn::Set(d, factor));
      hn::StoreU(value, d, result + x);
    });
  }
}

template <class Real>
using RunPair = void (*)(const Extent&, const Sources<Real>&, Real, Real*, std::int64_t);

template <Op op, class Real>
RunPair<Real> pair_of(SecondOp second, bool scaled) {
  switch (second) {
#define HALOCLINE_THEN(name)                                                \
  case SecondOp::name:                                                      \
    return scaled ? RunPair<Real>{run_pair<op, SecondOp::name, true, Real>} \
                  : RunPair<Real>{run_pair<op, SecondOp::name, false, Real>};
    HALOCLINE_THEN(add)
    HALOCLINE_THEN(subtract)
    HALOCLINE_THEN(subtract_from)
    HALOCLINE_THEN(multiply)
#undef HALOCLINE_THEN
    default:
      return run_pair<op, SecondOp::nothing, true, Real>;
  }
}

template <class Real>
RunPair<Real> pair_of(const Instruction& instruction) {
  const bool scaled = instruction.factor.has_value();
  return instruction.op == Op::add        ? pair_of<Op::add, Real>(instruction.second, scaled)
         : instruction.op == Op::subtract ? pair_of<Op::subtract, Real>(instruction.second, scaled)
                                          : pair_of<Op::multiply, Real>(instruction.second, scaled);
}

template <class Real>
HWY_NOINLINE void run_select(const Extent& extent, const Sources<Real>& from, Real* to,
                             std::int64_t to_step) {
  for (std::int64_t row = 0; row < extent.rows; ++row) {
    const Real* a = from[0].first + row * from[0].row_step;
    const Real* b = from[1].first + row * from[1].row_step;
    const Real* c = from[2].first + row * from[2].row_step;
    Real* result = to + row * to_step;
    for_row<Real>(extent.cells, [&](auto d, std::int64_t x) HWY_ATTR {
      hn::StoreU(hn::IfThenElse(is_true(d, load(d, from[0], a, x)), load(d, from[1], b, x),
                                load(d, from[2], c, x)),
                 d, result + x);
    });
  }
}

/// Without vectors: levels that lack the operation would round twice.
template <class Real>
HWY_NOINLINE void run_fma(const Extent& extent, const Sources<Real>& from, Real* to,
                          std::int64_t to_step) {
  const auto at = [&](std::size_t i, std::int64_t row, std::int64_t x) {
    return from[i].first[row * from[i].row_step + (from[i].is_one ? 0 : x)];
  };
  for (std::int64_t row = 0; row < extent.rows; ++row)
    for (std::int64_t x = 0; x < extent.cells; ++x)
      to[row * to_step + x] = std::fma(at(0, row, x), at(1, row, x), at(2, row, x));
}

/// Our own functions, in loops that the compiler turns into vector code.
template <class Real>
HWY_NOINLINE void run_function(Op op, const Extent& extent, const Sources<Real>& from, Real* to,
                               std::int64_t to_step) {
  namespace own = problem::functions;
  for (std::int64_t row = 0; row < extent.rows; ++row) {
    const Real* a = from[0].first + row * from[0].row_step;
    Real* const result = to + row * to_step;
    const std::int64_t cells = extent.cells;
    if (op == Op::exp)
      for (std::int64_t x = 0; x < cells; ++x) result[x] = own::exp(a[x]);
    else if (op == Op::log)
      for (std::int64_t x = 0; x < cells; ++x) result[x] = own::log(a[x]);
    else if (op == Op::tanh)
      for (std::int64_t x = 0; x < cells; ++x) result[x] = own::tanh(a[x]);
    else if (op == Op::sin)
      own::sines(a, result, cells);
    else
      own::cosines(a, result, cells);
  }
}

template <class Real>
HWY_NOINLINE void run_pow(const Extent& extent, const Sources<Real>& from, Real* to,
                          std::int64_t to_step) {
  for (std::int64_t row = 0; row < extent.rows; ++row) {
    const Real* a = from[0].first + row * from[0].row_step;
    const Real* b = from[1].first + row * from[1].row_step;
    Real* const result = to + row * to_step;
    const std::int64_t step_a = from[0].is_one ? 0 : 1, step_b = from[1].is_one ? 0 : 1;
    for (std::int64_t x = 0; x < extent.cells; ++x)
      result[x] = problem::functions::pow(a[x * step_a], b[x * step_b]);
  }
}

template <class Real>
void run(Op op, const Extent& extent, const Sources<Real>& from, Real* to, std::int64_t to_step) {
  switch (op) {
#define HALOCLINE_ONE(name) \
  case Op::name:            \
    return run_one<Op::name, Real>(extent, from, to, to_step);
#define HALOCLINE_TWO(name) \
  case Op::name:            \
    return run_two<Op::name, Real>(extent, from, to, to_step);
    HALOCLINE_ONE(negate)
    HALOCLINE_ONE(abs)
    HALOCLINE_ONE(sqrt)
    HALOCLINE_ONE(logical_not)
    HALOCLINE_TWO(add)
    HALOCLINE_TWO(subtract)
    HALOCLINE_TWO(multiply)
    HALOCLINE_TWO(divide)
    HALOCLINE_TWO(less)
    HALOCLINE_TWO(less_equal)
    HALOCLINE_TWO(greater)
    HALOCLINE_TWO(greater_equal)
    HALOCLINE_TWO(equal)
    HALOCLINE_TWO(not_equal)
    HALOCLINE_TWO(logical_and)
    HALOCLINE_TWO(logical_or)
#undef HALOCLINE_ONE
#undef HALOCLINE_TWO
    case Op::select:
      return run_select<Real>(extent, from, to, to_step);
    case Op::fma:
      return run_fma<Real>(extent, from, to, to_step);
    case Op::pow:
      return run_pow<Real>(extent, from, to, to_step);
    default:
      return run_function<Real>(op, extent, from, to, to_step);
  }
}

/// Rows of values side by side.
template <class Real>
struct RowsOf {
  Real* first;
  std::int64_t step;
  Real* row(std::int64_t number) const { return first + number * step; }
};

/// The largest |a - b|, NaN if one is; compared as integers, as in text/rows.hpp.
template <class Real>
HWY_NOINLINE double largest_change(const Extent& extent, const RowsOf<const Real>& a,
                                   const RowsOf<const Real>& b) {
  double largest = 0;
  const hn::ScalableTag<Real> wide;
  const hn::RebindToSigned<decltype(wide)> bits;
  auto most = hn::Zero(bits);
  const auto width = static_cast<std::int64_t>(hn::Lanes(wide));
  for (std::int64_t row = 0; row < extent.rows; ++row) {
    const Real *now = a.row(row), *before = b.row(row);
    std::int64_t x = 0;
    for (; x + width <= extent.cells; x += width)
      most = hn::Max(most, hn::BitCast(bits, hn::Abs(hn::Sub(hn::LoadU(wide, now + x),
                                                             hn::LoadU(wide, before + x)))));
    for (; x < extent.cells; ++x) largest = larger(largest, std::fabs(now[x] - before[x]));
  }
  HWY_ALIGN Real lanes[hn::MaxLanes(wide)];
  hn::Store(hn::BitCast(wide, most), wide, lanes);
  for (std::int64_t i = 0; i < width; ++i) largest = larger(largest, lanes[i]);
  return largest;
}

/// The sum of the squares of a - b, always in the same order.
template <class Real>
HWY_NOINLINE double squared_change(const Real* a, const Real* b, std::int64_t cells) {
  constexpr std::int64_t lanes = 16;
  double sums[lanes] = {};
  std::int64_t x = 0;
  for (; x + lanes <= cells; x += lanes)
    for (std::int64_t i = 0; i < lanes; ++i) {
      const double change = a[x + i] - b[x + i];
      sums[i] += change * change;
    }
  for (; x < cells; ++x) {
    const double change = a[x] - b[x];
    sums[x % lanes] += change * change;
  }
  double sum = 0;
  for (const double one : sums) sum += one;
  return sum;
}

template <class Real>
HWY_NOINLINE void copy_out(const Real* from, Real* to, std::int64_t cells, Stores stores) {
  const hn::ScalableTag<Real> wide;
  const std::size_t bytes = hn::Lanes(wide) * sizeof(Real);
  const bool streams =
      stores == Stores::streamed && reinterpret_cast<std::uintptr_t>(to) % bytes == 0;
  for_row<Real>(cells, [&](auto d, std::int64_t x) HWY_ATTR {
    const auto value = hn::LoadU(d, from + x);
    if (hn::MaxLanes(d) == hn::MaxLanes(wide) && streams)
      hn::Stream(value, d, to + x);
    else
      hn::StoreU(value, d, to + x);
  });
}

// Of the widest vectors, and of two cache lines, which are fetched together.
constexpr std::align_val_t of_vectors{128};

struct AlignedDelete {
  void operator()(void* memory) const { operator delete(memory, of_vectors); }
};
template <class Real>
using AlignedArray = std::unique_ptr<Real[], AlignedDelete>;

template <class Real>
AlignedArray<Real> aligned_array(std::size_t count) {
  return AlignedArray<Real>(static_cast<Real*>(operator new(count * sizeof(Real), of_vectors)));
}

/// Interprets a tape for the tiles of a block, in one thread.
template <class Real>
class Machine {
 public:
  Machine(const problem::Model& model, const Tape& tape)
      : model_(model),
        tape_(tape),
        registers_(aligned_array<Real>((tape.registers + 1) * register_cells)),
        numbers_(tape.numbers.begin(), tape.numbers.end()),
        number_rows_(aligned_array<Real>((numbers_.size() + 1) * row_cells)),
        of_rows_(model.tree, tape.rows, problem::Functions::own),
        row_values_(static_cast<std::size_t>(most_rows) * tape.rows.size()),
        cells_(tape.accesses.size()) {
    for (std::size_t i = 0; i < numbers_.size(); ++i)
      std::fill_n(number_rows_.get() + static_cast<std::int64_t>(i) * row_cells, row_cells,
                  numbers_[i]);
  }

  void run(const Block& block, Stores stores, BlockNorm& norm) {
    block_ = &block;
    stores_ = stores;
    const Int3 count = block.extent();
    for (std::int64_t z = 0; z < count.z; ++z)
      for (std::int64_t y = 0; y < count.y; y += most_rows) {
        at_ = {0, y, z};
        extent_.rows = std::min(most_rows, count.y - y);
        begin_rows(norm);
        for (extent_.cells = std::min(cells_to_alignment(), count.x); at_.x < count.x;
             at_.x += extent_.cells, extent_.cells = std::min(row_cells, count.x - at_.x))
          run_tile(norm);
      }
  }

 private:
  static constexpr std::int64_t row_cells = most_row_bytes / std::int64_t{sizeof(Real)};
  static constexpr std::size_t register_cells = static_cast<std::size_t>(most_rows * row_cells);

  static const Real* cell(const Corner& corner, Int3 at) {
    return reinterpret_cast<const Real*>(corner.cell) + at.x * corner.step.x +
           at.y * corner.step.y + at.z * corner.step.z;
  }
  static Real* cell_to_write(const Corner& corner, Int3 at) {
    return const_cast<Real*>(cell(corner, at));
  }

  /// Returns the cells before whole vectors, and lines, can be streamed to the first output. Where
  /// rows are not aligned alike, tiles begin with the row: the order in which a row's squares are
  /// added up must not depend on the neighbouring rows.
  std::int64_t cells_to_alignment() const {
    constexpr std::int64_t line = 64 / std::int64_t{sizeof(Real)};
    const Corner& out = block_->out[tape_.outputs[0].field];
    if (out.step.y % line != 0 || out.step.z % line != 0) return row_cells;
    const auto address = reinterpret_cast<std::uintptr_t>(cell(out, at_)) / sizeof(Real);
    const std::int64_t beyond = static_cast<std::int64_t>(address) % line;
    return beyond == 0 ? row_cells : line - beyond;
  }

  void begin_rows(BlockNorm& norm) {
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      const auto& [symbol, offset] = tape_.accesses[i];
      const Corner& corner = block_->in[symbol];
      cells_[i] = cell(corner, at_ + Int3{offset[0], offset[1], offset[2]});
    }
    for (std::int64_t row = 0; row < extent_.rows; ++row) {
      if (norm.kind == Norm::l2) norm.row_sums[at_.y + row + at_.z * norm.plane] = 0;
      if (tape_.rows.empty()) continue;
      of_rows_.evaluate(place(row));
      for (std::size_t i = 0; i < tape_.rows.size(); ++i)
        row_values_[static_cast<std::size_t>(row) * tape_.rows.size() + i] =
            of_rows_.value(tape_.rows[i]);
    }
  }

  problem::CellPosition place(std::int64_t row) const {
    return {model_, block_->cells.lower + at_ + Int3{0, row, 0}, block_->time};
  }

  void run_tile(BlockNorm& norm) {
    for (const Instruction& instruction : tape_.instructions) {
      Real* to = registers_.get() + instruction.to * register_cells;
      if (instruction.op == Op::coordinate || instruction.op == Op::index) {
        fill_along_x(instruction, to);
        continue;
      }
      Sources<Real> from;
      for (std::size_t i = 0; i < operands_of(instruction); ++i)
        from[i] = source(instruction.from[i]);
      if (instruction.second == SecondOp::nothing && !instruction.factor)
        HWY_NAMESPACE::run(instruction.op, extent_, from, to, row_cells);
      else
        run_as_pair(instruction, from, to);
    }
    for (const Output& output : tape_.outputs) store(output, norm);
    // A field that follows another takes the old values of that one.
    if (norm.kind == Norm::none) return;
    for (const std::size_t field : model_.norm_of)
      if (const auto& followed = model_.fields[field].follows)
        add_to_norm(field, cells_of(*followed), norm);
  }

  static std::size_t operands_of(const Instruction& instruction) {
    return static_cast<std::size_t>(problem::operands_of(instruction.op)) +
           (instruction.second == SecondOp::nothing ? 0 : 1);
  }

  void run_as_pair(const Instruction& instruction, Sources<Real>& from, Real* to) {
    for (std::size_t i = 0; i < operands_of(instruction); ++i) {
      const Operand& operand = instruction.from[i];
      if (operand.kind != Operand::Kind::number) continue;
      from[i] = {number_rows_.get() + static_cast<std::int64_t>(operand.index) * row_cells, 0,
                 false};
    }
    pair_of<Real>(instruction)(
        extent_, from, instruction.factor ? numbers_[*instruction.factor] : Real(1), to, row_cells);
  }

  Source<Real> source(const Operand& operand) const {
    switch (operand.kind) {
      case Operand::Kind::number:
        return {&numbers_[operand.index], 0, true};
      case Operand::Kind::row:
        return {&row_values_[operand.index], std::ssize(tape_.rows), true};
      case Operand::Kind::cells:
        return {cells_[operand.index] + at_.x,
                block_->in[tape_.accesses[operand.index].symbol].step.y, false};
      default:
        return {registers_.get() + operand.index * register_cells, row_cells, false};
    }
  }

  void fill_along_x(const Instruction& instruction, Real* to) const {
    problem::CellPosition here = place(0);
    for (std::int64_t x = 0; x < extent_.cells; ++x, ++here.at.x)
      to[x] =
          static_cast<Real>(instruction.op == Op::index ? here.index(0, instruction.offset)
                                                        : here.coordinate(0, instruction.offset));
    for (std::int64_t row = 1; row < extent_.rows; ++row)
      std::copy_n(to, extent_.cells, to + row * row_cells);
  }

  void store(const Output& output, BlockNorm& norm) {
    const RowsOf<const Real> values = rows_of(source(output.from));
    if (norm.kind != Norm::none && model_.is_in_norm(output.field))
      add_to_norm(output.field, values, norm);
    const Corner& out = block_->out[output.field];
    for (std::int64_t row = 0; row < extent_.rows; ++row)
      copy_out(values.row(row), cell_to_write(out, at_) + row * out.step.y, extent_.cells, stores_);
  }

  /// Values of a cell each; one for a whole row is spread.
  RowsOf<const Real> rows_of(const Source<Real>& source) {
    if (!source.is_one) return {source.first, source.row_step};
    Real* const spread = registers_.get() + tape_.registers * register_cells;
    for (std::int64_t row = 0; row < extent_.rows; ++row)
      std::fill_n(spread + row * row_cells, extent_.cells, source.first[row * source.row_step]);
    return {spread, row_cells};
  }

  RowsOf<const Real> cells_of(std::size_t field) const {
    return {cell(block_->in[field], at_), block_->in[field].step.y};
  }

  void add_to_norm(std::size_t field, const RowsOf<const Real>& values, BlockNorm& norm) const {
    const RowsOf<const Real> before = cells_of(field);
    if (norm.kind == Norm::max) {
      norm.max = larger(norm.max, largest_change(extent_, values, before));
      return;
    }
    for (std::int64_t row = 0; row < extent_.rows; ++row)
      norm.row_sums[at_.y + row + at_.z * norm.plane] +=
          squared_change(values.row(row), before.row(row), extent_.cells);
  }

  const problem::Model& model_;
  const Tape& tape_;
  const Block* block_ = nullptr;
  Stores stores_ = Stores::cached;
  AlignedArray<Real> registers_;  // the tape's, and one more
  std::vector<Real> numbers_;
  AlignedArray<Real> number_rows_;  // as long as a row of a tile
  problem::Interpreter<Real> of_rows_;
  std::vector<Real> row_values_;    // row after row
  std::vector<const Real*> cells_;  // of each access, in the tile's first row, at x = 0
  Int3 at_{};                       // the tile's first cell in the block
  Extent extent_{};                 // of the tile
};

template <class Real>
class TileKernel final : public Kernel {
 public:
  explicit TileKernel(const problem::Model& model) : model_(model), tape_(tape_of(model)) {}

  void update(const Block& block, Stores stores, BlockNorm& norm) const override {
    if (!block.memory) block.memory = std::make_shared<Machine<Real>>(model_, tape_);
    static_cast<Machine<Real>*>(block.memory.get())->run(block, stores, norm);
  }

 private:
  const problem::Model& model_;
  Tape tape_;
};

}  // namespace

std::unique_ptr<Kernel> make_tiles(const problem::Model& model) {
  if (model.precision == Precision::f32) return std::make_unique<TileKernel<float>>(model);
  return std::make_unique<TileKernel<double>>(model);
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
      {{"sse4", HWY_CHOOSE_SSE4(make_tiles)}, HWY_SSE4},
      {{"neon", HWY_CHOOSE_NEON(make_tiles)}, HWY_NEON},
      {{"avx2", HWY_CHOOSE_AVX2(make_tiles)}, HWY_AVX2},
      {{"avx512", HWY_CHOOSE_AVX3(make_tiles)}, HWY_AVX3},
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
  std::vector<Level> found{{name_of_baseline(), &HWY_STATIC_DISPATCH(make_tiles)}};
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

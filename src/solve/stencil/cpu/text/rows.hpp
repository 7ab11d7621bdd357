// SPDX-License-Identifier: Apache-2.0
#pragma once
// The update of a block of rows of adjacent cells, by the vectors that it is compiled for. A
// printed formula includes it; it includes no header of a system.

#include "stencil/cpu/text/arguments.hpp"
#include "stencil/cpu/text/vectors.hpp"

namespace halocline::stencil::cpu::HALOCLINE_VECTORS {

template <class A, class B>
inline constexpr bool is_same = false;
template <class A>
inline constexpr bool is_same<A, A> = true;

/// Returns the larger value; NaN if either is NaN.
HALOCLINE_INLINE double larger(double a, double b) { return a > b || a != a ? a : b; }

/// Rows side by side, described by the first one.
template <class Real, class Formula>
struct Rows {
  const Real* in[Formula::inputs];
  Index in_y[Formula::inputs], in_z[Formula::inputs];
  Real* out[Formula::outputs];
  Index out_y[Formula::outputs], out_z[Formula::outputs];
  Index cells;
  Index lower[3];
  double time;
  Index number, plane;  ///< of the first row's sum of squares; from a plane to the next

  HALOCLINE_INLINE const Real* cell(int input, Index x, int row, int layer) const {
    return in[input] + x + row * in_y[input] + layer * in_z[input];
  }
  HALOCLINE_INLINE Real* target(int output, Index x, int row, int layer) const {
    return out[output] + x + row * out_y[output] + layer * out_z[output];
  }
  HALOCLINE_INLINE Rows only(int row, int layer) const {
    Rows one = *this;
    for (int i = 0; i < Formula::inputs; ++i) one.in[i] = cell(i, 0, row, layer);
    for (int o = 0; o < Formula::outputs; ++o) one.out[o] = target(o, 0, row, layer);
    one.lower[1] += row;
    one.lower[2] += layer;
    one.number += row + layer * plane;
    return one;
  }
};

/// What a formula reads, for a vector of cells.
template <class V, class Formula, int row, int layer>
struct Cells {
  const Rows<RealOf<V>, Formula>& rows;
  Index x;

  template <int input, int X, int Y, int Z>
  HALOCLINE_INLINE V at() const {
    return load<V>(rows.cell(input, x + X, row + Y, layer + Z));
  }
  template <int axis>
  HALOCLINE_INLINE auto index() const {
    if constexpr (axis == 0)
      return Along<V>{rows.lower[0] + x};
    else
      return rows.lower[axis] + (axis == 1 ? row : layer);
  }
  HALOCLINE_INLINE double time() const { return rows.time; }
};

/// Three vectors along x in each row of a step, of one input: a cell is loaded once, and the
/// neighbours along x are shifted out of two vectors. A load that does not begin on its own size
/// takes two lines, with vectors of 64 bytes always. laplace in fp64 on one core of a Xeon
/// (Sapphire Rapids), 256x32 cells in its caches: 2.6 GLUP/s to 2.3; by passes 4.9 to 4.2. In 3-D
/// it was a fifth slower.
template <class V, int rows>
struct Window {
  V before[rows], here[rows], behind[rows];
};

template <class V, class Formula, int row, int rows_of_step>
struct CellsInWindow : Cells<V, Formula, row, 0> {
  const Window<V, rows_of_step>& window;

  template <int input, int X, int Y, int Z>
  HALOCLINE_INLINE V at() const {
    constexpr int of = row + Y, lanes = width_of<V>;
    if constexpr (input != Formula::beside || of < 0 || of >= rows_of_step || Z != 0 ||
                  X <= -lanes || X >= lanes)
      return Cells<V, Formula, row, 0>::template at<input, X, Y, Z>();
    else if constexpr (X < 0)
      return shifted<lanes + X>(window.before[of], window.here[of], Count<lanes>());
    else if constexpr (X > 0)
      return shifted<X>(window.here[of], window.behind[of], Count<lanes>());
    else
      return window.here[of];
  }
};

// Partial norms during the update of rows. Rows of a step count from 0.

template <class Real, int rows>
struct NoNorm {
  template <class V>
  HALOCLINE_INLINE void add(V, int) {}
  HALOCLINE_INLINE void end_row(int, Index, UpdateArguments&) {}
  HALOCLINE_INLINE void end(UpdateArguments&) {}
};

/// The largest |change|. Compares magnitudes as integers: the order of numbers is the same, and NaN
/// compares above infinity and so is never lost, which a maximum of floating-point vectors does not
/// guarantee.
template <class Real, int rows>
struct MaxNorm {
  using Wide = BitsOf<Vector<Real>>;
  using Single = BitsOf<Real>;
  Wide wide{};
  Single single = 0;

  template <class V>
  HALOCLINE_INLINE void add(V change, int) {
    const auto size = as_bits<BitsOf<V>>(absolute(change));
    if constexpr (width_of<V> == 1)
      single = size > single ? size : single;
    else
      wide = size > wide ? size : wide;
  }
  HALOCLINE_INLINE void end_row(int, Index, UpdateArguments&) {}
  HALOCLINE_INLINE void end(UpdateArguments& block) {
    const Wide all = wide;  // what has an address is in memory
    for (int i = 0; i < lanes_of<Real>; ++i) single = all[i] > single ? all[i] : single;
    block.max = larger(block.max, static_cast<double>(as_bits<Real>(single)));
  }
};

/// The sum of squares of the changes of each row, each change widened to double precision first.
template <class Real, int rows>
struct SquaresNorm {
  // As many numbers as a vector has.
  using Doubles = typename VectorOf<double, lanes_of<Real>>::Type;
  Doubles wide[rows]{};
  double single[rows]{};

  template <class V>
  HALOCLINE_INLINE void add(V change, int row) {
    if constexpr (width_of<V> == 1) {
      const double one = change;
      single[row] += one * one;
    } else {
      const auto all = __builtin_convertvector(change, Doubles);
      wide[row] += all * all;
    }
  }
  HALOCLINE_INLINE void end_row(int row, Index number, UpdateArguments& block) {
    block.row_sums[number] += sum_of(wide[row]) + single[row];
  }
  HALOCLINE_INLINE void end(UpdateArguments&) {}

  /// Adds halves, then quarters, and so on.
  static HALOCLINE_INLINE double sum_of(Doubles lanes) {
    double all[lanes_of<Real>];
    __builtin_memcpy(all, &lanes, sizeof(all));
    for (int count = lanes_of<Real> / 2; count > 0; count /= 2)
      for (int i = 0; i < count; ++i) all[i] += all[i + count];
    return all[0];
  }
};

/// The vectors updated in one step: `vectors` of each of `rows` rows in each of `layers` planes.
template <int rows_, int layers_, int vectors_>
struct Shape {
  static constexpr int rows = rows_, layers = layers_, vectors = vectors_;
  static constexpr int all_rows = rows * layers, all = all_rows * vectors;

  static constexpr int row(int i) { return i / vectors % rows; }
  static constexpr int layer(int i) { return i / vectors / rows; }
  static constexpr int vector(int i) { return i % vectors; }
};
using OneVector = Shape<1, 1, 1>;

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
//
// Longer updates keep more in registers. GLUP/s by 1, 2, 4 and 8 rows on two cores of a Xeon
// (Sapphire Rapids), AVX-512, fp32, one sweep at a time: gray_scott 1.6, 2.2, 2.5, 2.3;
// acoustic 1.0, 1.5, 1.7, 1.6. By 1, 2, 4 planes and by 4 with 2 rows: star13 0.7, 0.9, 1.6, 1.4;
// box27 1.0, 1.3, 1.4, 1.5.
template <class Formula, bool streamed>
constexpr auto shape_for() {
  constexpr bool is_wide = vector_bytes == 64;
  constexpr int line = streamed && !is_wide ? 64 / vector_bytes : 1;
  constexpr bool is_long = Formula::outputs > 1 || Formula::operations > 12;
  constexpr int rows_of_long = is_wide ? 4 : 2, rows_of_short = is_wide || streamed ? 8 : 4;
  constexpr int rows = is_long ? rows_of_long : rows_of_short;
  constexpr int rows_of_plane = Formula::farthest > 1 ? 1 : 2;
  if constexpr (Formula::axes == 1)
    return Shape<1, 1, line>();
  else if constexpr (Formula::axes == 2)
    return Shape<rows, 1, line>();
  else if constexpr (is_wide)
    return Shape<rows_of_plane, 4, line>();
  else if constexpr (is_long)
    return Shape<1, 2, line>();
  else if constexpr (streamed)
    return Shape<1, 4, line>();
  else
    return Shape<2, 2, line>();
}

template <class Real, class Formula>
class BlockUpdate {
 public:
  HALOCLINE_INLINE explicit BlockUpdate(UpdateArguments& block) : block_(block) {
    for (int c = 0; c < Formula::constant_count; ++c)
      formula_.constants[c] = static_cast<Real>(block.constants[c]);
  }

  HALOCLINE_INLINE void run() {
    if (block_.norm == 0) return with<NoNorm>();
    if (block_.norm == 1) return with<MaxNorm>();
    for (Index z = 0; z < block_.cells[2]; ++z)
      for (Index y = 0; y < block_.cells[1]; ++y) block_.row_sums[y + z * block_.plane] = 0;
    with<SquaresNorm>();
  }

 private:
  using Wide = Vector<Real>;
  static constexpr Index width = lanes_of<Real>;

  template <template <class, int> class Norm>
  void with() {
    // Vectors of 16 bytes are faster through the caches (SSE4, the same laplace: 1.27 GLUP/s to
    // 1.05).
    if constexpr (vector_bytes >= 32)
      if (block_.streamed && outputs_are_aligned_alike()) return update<Norm, true>();
    update<Norm, false>();
  }

  template <template <class, int> class Norm, bool streamed>
  void update() {
    using Most = decltype(shape_for<Formula, streamed>());
    const Index* const count = block_.cells;
    // Planes that fill no shape are updated by as many rows side by side, what is left row by row.
    const bool fits = rows_are_aligned_alike();
    const Index rows = fits ? count[1] / Most::rows * Most::rows : 0;
    const Index layers = fits ? count[2] / Most::layers * Most::layers : 0;
    for (Index z = 0; z < layers; z += Most::layers) {
      for (Index y = 0; y < rows; y += Most::rows)
        update_rows<Norm, streamed, Most>(rows_from(y, z));
      for (Index layer = z; layer < z + Most::layers; ++layer)
        for (Index y = rows; y < count[1]; ++y)
          update_rows<Norm, streamed, OneRow<Most>>(rows_from(y, layer));
    }
    for (Index z = layers; z < count[2]; ++z) {
      Index y = 0;
      if constexpr (Most::layers > 1)
        for (; fits && y + Flat<Most>::rows <= count[1]; y += Flat<Most>::rows)
          update_rows<Norm, streamed, Flat<Most>>(rows_from(y, z));
      for (; y < count[1]; ++y) update_rows<Norm, streamed, OneRow<Most>>(rows_from(y, z));
    }
  }
  template <class Most>
  using Flat = Shape<Most::all_rows, 1, Most::vectors>;
  template <class Most>
  using OneRow = Shape<1, 1, Most::vectors>;

  /// Streamed stores must be aligned. Besides, the order in which a row's squares are added up must
  /// depend only on where its vectors begin, not on the rows updated with it.
  bool rows_are_aligned_alike() const {
    for (int o = 0; o < Formula::outputs; ++o)
      if (block_.out[o].y % width != 0 || block_.out[o].z % width != 0) return false;
    return true;
  }
  bool outputs_are_aligned_alike() const {
    for (int o = 1; o < Formula::outputs; ++o)
      if ((address(o) - address(0)) % vector_bytes != 0 ||
          (block_.out[o].y - block_.out[0].y) % width != 0 ||
          (block_.out[o].z - block_.out[0].z) % width != 0)
        return false;
    return true;
  }
  Index address(int output) const { return as_bits<Index>(block_.out[output].cell); }

  Rows<Real, Formula> rows_from(Index y, Index z) const {
    Rows<Real, Formula> rows;
    for (int i = 0; i < Formula::inputs; ++i) {
      const BlockOfArray& in = block_.in[i];
      rows.in[i] = static_cast<const Real*>(in.cell) + y * in.y + z * in.z;
      rows.in_y[i] = in.y;
      rows.in_z[i] = in.z;
    }
    for (int o = 0; o < Formula::outputs; ++o) {
      const BlockOfArray& out = block_.out[o];
      rows.out[o] = static_cast<Real*>(out.cell) + y * out.y + z * out.z;
      rows.out_y[o] = out.y;
      rows.out_z[o] = out.z;
    }
    rows.cells = block_.cells[0];
    rows.lower[0] = block_.lower[0];
    rows.lower[1] = block_.lower[1] + y;
    rows.lower[2] = block_.lower[2] + z;
    rows.time = block_.time;
    rows.number = y + z * block_.plane;
    rows.plane = block_.plane;
    return rows;
  }

  template <template <class, int> class Norm, bool streamed, class S>
  __attribute__((noinline)) void update_rows(Rows<Real, Formula> rows) {
    // As rows, a copy: what no store can change stays in registers.
    const Formula formula = formula_;
    Norm<Real, S::all_rows> norm;
    const Index to_alignment = cells_to_alignment(rows.out[0]);
    const Index first = rows.cells < to_alignment ? rows.cells : to_alignment;
    Index x = first;
    if constexpr (has_window<S>)
      x = update_by_window<streamed, S>(formula, rows, x, norm, Count<S::all>());
    for (; x + S::vectors * width <= rows.cells; x += S::vectors * width)
      update_step<streamed, S>(formula, rows, x, norm, Count<S::all>());
    if constexpr (S::vectors > 1)
      for (; x + width <= rows.cells; x += width)
        update_step<streamed, Shape<S::rows, S::layers, 1>>(formula, rows, x, norm,
                                                            Count<S::all_rows>());
    end_rows<S>(rows, norm, Count<S::all_rows>());
    if (first == 0 && x == rows.cells) return;
    for (int layer = 0; layer < S::layers; ++layer)
      for (int row = 0; row < S::rows; ++row) update_ends<Norm>(rows.only(row, layer), first, x);
  }

  /// Updates the cells of a row before and after its whole vectors: by vectors that begin and end
  /// with the row, and update some cells again, if it is as long as a vector.
  template <template <class, int> class Norm>
  __attribute__((noinline)) void update_ends(const Rows<Real, Formula>& row, Index first,
                                             Index last) {
    const Formula formula = formula_;
    Norm<Real, 1> norm;
    if (row.cells >= width) {
      if (first > 0) update_some(formula, row, 0, 0, first, norm);
      const Index begin = row.cells - width;
      if (last < row.cells) update_some(formula, row, begin, last - begin, width, norm);
    } else {
      for (Index x = 0; x < row.cells; ++x)
        update_cells<Real>(formula, row, x, norm, [](Real change) { return change; });
    }
    end_rows<OneVector>(row, norm, Count<1>());
  }

  /// Updates a vector, of which lanes from `from` to `to` count for the norm.
  template <class Norm>
  static HALOCLINE_INLINE void update_some(const Formula& formula, const Rows<Real, Formula>& row,
                                           Index x, Index from, Index to, Norm& norm) {
    const BitsOf<Wide> lane = lanes(Count<lanes_of<Real>>());
    using Bit = BitsOf<Real>;
    const auto counts =
        as_bits<BitsOf<Wide>>((lane >= static_cast<Bit>(from)) & (lane < static_cast<Bit>(to)));
    update_cells<Wide>(formula, row, x, norm, [&](Wide change) {
      return as_bits<Wide>(as_bits<BitsOf<Wide>>(change) & counts);
    });
  }
  template <int... i>
  static HALOCLINE_INLINE BitsOf<Wide> lanes(Numbers<i...>) {
    return BitsOf<Wide>{i...};
  }

  /// The new values of a vector of cells.
  template <class V>
  struct Values {
    V now[Formula::outputs];
  };

  template <bool streamed, class S, class Norm, int... i>
  static HALOCLINE_INLINE void update_step(const Formula& formula, const Rows<Real, Formula>& rows,
                                           Index x, Norm& norm, Numbers<i...>) {
    // Prefetch the rows after the next step's; this step already reads the first of the next
    // step's.
    if constexpr (S::layers > 1)
      (__builtin_prefetch(rows.cell(0, x, S::row(i) + S::rows + 1, S::layer(i) + 1)), ...);
    // All loads before the first store, so that values that two rows need are loaded once.
    const Values<Wide> values[] = {evaluated<Wide, S, i>(formula, rows, x)...};
    (add<S, i>(CellsOf<Wide, S, i>{rows, x + S::vector(i) * width}, values[i].now, norm, all_count,
               Count<Formula::normed>()),
     ...);
    (put_away<Wide, streamed, S, i>(values[i].now, rows, x, Count<Formula::outputs>()), ...);
  }
  static HALOCLINE_INLINE Wide all_count(Wide change) { return change; }

  template <class S>
  static constexpr bool has_window =
      vector_bytes == 64 && Formula::axes == 2 && Formula::beside >= 0 && S::vectors == 1 &&
      S::layers == 1 && S::rows > 1;

  /// Updates all vectors from x on but the last, which has none behind it; returns where that is.
  template <bool streamed, class S, class Norm, int... i>
  static HALOCLINE_INLINE Index update_by_window(const Formula& formula,
                                                 const Rows<Real, Formula>& rows, Index x,
                                                 Norm& norm, Numbers<i...> all) {
    if (x + 3 * width > rows.cells) return x;
    update_step<streamed, S>(formula, rows, x, norm, all);
    const auto loaded = [&](Index from, int row) {
      return load<Wide>(rows.cell(Formula::beside, from, row, 0));
    };
    Window<Wide, S::rows> window{{loaded(x, i)...}, {loaded(x + width, i)...}, {}};
    for (x += width; x + 2 * width <= rows.cells; x += width) {
      ((window.behind[i] = loaded(x + width, i)), ...);
      const Values<Wide> values[] = {evaluated_in<S, i>(formula, rows, x, window)...};
      (add<S, i>(CellsInWindow<Wide, Formula, i, S::rows>{{rows, x}, window}, values[i].now, norm,
                 all_count, Count<Formula::normed>()),
       ...);
      (put_away<Wide, streamed, S, i>(values[i].now, rows, x, Count<Formula::outputs>()), ...);
      ((window.before[i] = window.here[i], window.here[i] = window.behind[i]), ...);
    }
    return x;
  }
  template <class S, int i>
  static HALOCLINE_INLINE Values<Wide> evaluated_in(const Formula& formula,
                                                    const Rows<Real, Formula>& rows, Index x,
                                                    const Window<Wide, S::rows>& window) {
    Values<Wide> values;
    formula(CellsInWindow<Wide, Formula, i, S::rows>{{rows, x}, window}, values.now);
    return values;
  }

  template <class V, class Norm, class Counted>
  static HALOCLINE_INLINE void update_cells(const Formula& formula, const Rows<Real, Formula>& rows,
                                            Index x, Norm& norm, const Counted& counted) {
    const Values<V> values = evaluated<V, OneVector, 0>(formula, rows, x);
    add<OneVector, 0>(CellsOf<V, OneVector, 0>{rows, x}, values.now, norm, counted,
                      Count<Formula::normed>());
    put_away<V, false, OneVector, 0>(values.now, rows, x, Count<Formula::outputs>());
  }

  template <class V, class S, int i>
  using CellsOf = Cells<V, Formula, S::row(i), S::layer(i)>;

  template <class V, class S, int i>
  static HALOCLINE_INLINE Values<V> evaluated(const Formula& formula,
                                              const Rows<Real, Formula>& rows, Index x) {
    Values<V> values;
    formula(CellsOf<V, S, i>{rows, x + S::vector(i) * width}, values.now);
    return values;
  }
  template <class S, int i, class V, class CellsAt, class Norm, class Counted, int... field>
  static HALOCLINE_INLINE void add(const CellsAt& cells, const V* values, Norm& norm,
                                   const Counted& counted, Numbers<field...>) {
    if constexpr (!is_same<Norm, NoNorm<Real, S::all_rows>>)
      (norm.add(counted(Formula::template now<field>(cells, values) -
                        Formula::template before<field>(cells)),
                i / S::vectors),
       ...);
  }
  template <class V, bool streamed, class S, int i, int... output>
  static HALOCLINE_INLINE void put_away(const V* values, const Rows<Real, Formula>& rows, Index x,
                                        Numbers<output...>) {
    const Index at = x + S::vector(i) * width;
    if constexpr (streamed)
      (stream<Real>(values[output], rows.target(output, at, S::row(i), S::layer(i))), ...);
    else
      (store<V>(values[output], rows.target(output, at, S::row(i), S::layer(i))), ...);
  }

  template <class S, class Norm, int... row>
  HALOCLINE_INLINE void end_rows(const Rows<Real, Formula>& rows, Norm& norm, Numbers<row...>) {
    (norm.end_row(row, rows.number + row % S::rows + row / S::rows * rows.plane, block_), ...);
    norm.end(block_);
  }

  static Index cells_to_alignment(const Real* out) {
    const Index beyond = as_bits<Index>(out) % vector_bytes;
    return beyond == 0 ? 0 : (vector_bytes - beyond) / static_cast<Index>(sizeof(Real));
  }

  UpdateArguments& block_;
  Formula formula_{};
};

}  // namespace halocline::stencil::cpu::HALOCLINE_VECTORS

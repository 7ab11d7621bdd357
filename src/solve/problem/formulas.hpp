// SPDX-License-Identifier: Apache-2.0
#pragma once
// The formulas that are compiled in for CPUs. A model whose update is one of them, with any
// constants, runs it: stencil/compiled.hpp.
//
// A formula is written once and compiled for plain loops and for vectors. It is a struct with plain
// numbers as constants and
//   template <class Cells> auto operator()(const Cells& u) const
// where u.c() is the cell, u.w() u.e() u.s() u.n() u.d() u.t() its lower and upper neighbours
// along x, y and z, and u.constant(v) a constant as a value. Values have the operators + - *,
// evaluated as written, without contraction, so that every backend computes the same bits. A value
// may also be a symbol (stencil/cpu/expression.hpp, stencil/compiled.hpp), and the sum of two
// symbols may have its own type: hence auto.

namespace halocline::problem {

/// The average of all neighbours: laplace, jacobi.
template <int Axes, class Real>
struct AverageFormula;

template <class Real>
struct AverageFormula<2, Real> {
  Real quarter;
  template <class Cells>
  auto operator()(const Cells& u) const {
    return u.constant(quarter) * ((u.w() + u.e()) + (u.s() + u.n()));
  }
};

template <class Real>
struct AverageFormula<3, Real> {
  Real sixth;
  template <class Cells>
  auto operator()(const Cells& u) const {
    return u.constant(sixth) * (((u.w() + u.e()) + (u.s() + u.n())) + (u.d() + u.t()));
  }
};

/// Explicit diffusion: heat.
template <int Axes, class Real>
struct HeatFormula;

template <class Real>
struct HeatFormula<1, Real> {
  Real r, two;
  template <class Cells>
  auto operator()(const Cells& u) const {
    const auto twice = u.constant(two) * u.c();
    return u.c() + u.constant(r) * ((u.w() - twice) + u.e());
  }
};

template <class Real>
struct HeatFormula<2, Real> {
  Real r, two;
  template <class Cells>
  auto operator()(const Cells& u) const {
    const auto twice = u.constant(two) * u.c();
    return u.c() + u.constant(r) * (((u.w() - twice) + u.e()) + ((u.s() - twice) + u.n()));
  }
};

template <class Real>
struct HeatFormula<3, Real> {
  Real r, two;
  template <class Cells>
  auto operator()(const Cells& u) const {
    const auto twice = u.constant(two) * u.c();
    return u.c() + u.constant(r) * ((((u.w() - twice) + u.e()) + ((u.s() - twice) + u.n())) +
                                    ((u.d() - twice) + u.t()));
  }
};

/// A weighted 7-point average: star7.
template <int Axes, class Real>
struct StarFormula;

template <class Real>
struct StarFormula<3, Real> {
  Real centre, side;
  template <class Cells>
  auto operator()(const Cells& u) const {
    return u.constant(centre) * u.c() +
           u.constant(side) * (((u.w() + u.e()) + (u.s() + u.n())) + (u.d() + u.t()));
  }
};

/// A formula for some numbers of axes. Has the number of its constants.
template <template <int, class> class Formula, int fewest, int most, int constants_>
struct Formulas {
  template <int Axes, class Real>
  using For = Formula<Axes, Real>;
  static constexpr int fewest_axes = fewest, most_axes = most, constants = constants_;
};

template <class... All>
struct List {};

/// To add one, add a row.
using CompiledFormulas = List<          //
    Formulas<AverageFormula, 2, 3, 1>,  //
    Formulas<HeatFormula, 1, 3, 2>,     //
    Formulas<StarFormula, 3, 3, 2>>;

}  // namespace halocline::problem

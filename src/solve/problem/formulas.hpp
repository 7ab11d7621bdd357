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
template <class Real>
struct Average2 {
  Real quarter;
  template <class Cells>
  auto operator()(const Cells& u) const {
    return u.constant(quarter) * ((u.w() + u.e()) + (u.s() + u.n()));
  }
};

template <class Real>
struct Average3 {
  Real sixth;
  template <class Cells>
  auto operator()(const Cells& u) const {
    return u.constant(sixth) * (((u.w() + u.e()) + (u.s() + u.n())) + (u.d() + u.t()));
  }
};

/// Explicit diffusion: heat.
template <class Real>
struct Heat1 {
  Real r, two;
  template <class Cells>
  auto operator()(const Cells& u) const {
    const auto twice = u.constant(two) * u.c();
    return u.c() + u.constant(r) * ((u.w() - twice) + u.e());
  }
};

template <class Real>
struct Heat2 {
  Real r, two;
  template <class Cells>
  auto operator()(const Cells& u) const {
    const auto twice = u.constant(two) * u.c();
    return u.c() + u.constant(r) * (((u.w() - twice) + u.e()) + ((u.s() - twice) + u.n()));
  }
};

template <class Real>
struct Heat3 {
  Real r, two;
  template <class Cells>
  auto operator()(const Cells& u) const {
    const auto twice = u.constant(two) * u.c();
    return u.c() + u.constant(r) * ((((u.w() - twice) + u.e()) + ((u.s() - twice) + u.n())) +
                                    ((u.d() - twice) + u.t()));
  }
};

/// A weighted 7-point average: star7.
template <class Real>
struct Star3 {
  Real centre, side;
  template <class Cells>
  auto operator()(const Cells& u) const {
    return u.constant(centre) * u.c() +
           u.constant(side) * (((u.w() + u.e()) + (u.s() + u.n())) + (u.d() + u.t()));
  }
};

/// A formula with the numbers of its axes and constants.
template <template <class> class Formula, int axes_, int constants_>
struct CompiledFormula {
  template <class Real>
  using For = Formula<Real>;
  static constexpr int axes = axes_, constants = constants_;
};

template <class... All>
struct List {};

/// To add one, add a row.
using CompiledFormulas = List<        //
    CompiledFormula<Average2, 2, 1>,  //
    CompiledFormula<Average3, 3, 1>,  //
    CompiledFormula<Heat1, 1, 2>,     //
    CompiledFormula<Heat2, 2, 2>,     //
    CompiledFormula<Heat3, 3, 2>,     //
    CompiledFormula<Star3, 3, 2>>;

}  // namespace halocline::problem

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The formula of a stencil as a type.
//
// The compiler compiles a function outside the code of a vector target, even a template, for the
// baseline processor, where it cannot use wider vectors. So the code never calls a formula with
// vectors. It calls the formula once with symbols and gets an expression, whose type spells out the
// formula and whose only members are the coefficients; the code of each target evaluates that.

#include <type_traits>

namespace halocline::stencil::cpu {

/// The value of the cell at that distance.
template <int X, int Y, int Z>
struct Cell {};

template <class Real>
struct Constant {
  Real value;
};

template <class Left, class Right>
struct Sum {
  Left left;
  Right right;
};

template <class Left, class Right>
struct Difference {
  Left left;
  Right right;
};

template <class Left, class Right>
struct Product {
  Left left;
  Right right;
};

template <class T>
inline constexpr bool is_expression = false;
template <int X, int Y, int Z>
inline constexpr bool is_expression<Cell<X, Y, Z>> = true;
template <class Real>
inline constexpr bool is_expression<Constant<Real>> = true;
template <class L, class R>
inline constexpr bool is_expression<Sum<L, R>> = true;
template <class L, class R>
inline constexpr bool is_expression<Difference<L, R>> = true;
template <class L, class R>
inline constexpr bool is_expression<Product<L, R>> = true;

template <class T>
concept Expression = is_expression<T>;

/// The number of axes of an expression: the last axis along which it has neighbours.
template <class T>
inline constexpr int axes_of = 1;
template <int X, int Y, int Z>
inline constexpr int axes_of<Cell<X, Y, Z>> = Z != 0   ? 3
                                              : Y != 0 ? 2
                                                       : 1;
template <template <class, class> class Operation, class L, class R>
inline constexpr int axes_of<Operation<L, R>> = axes_of<L> > axes_of<R> ? axes_of<L> : axes_of<R>;

template <Expression L, Expression R>
constexpr Sum<L, R> operator+(const L& left, const R& right) {
  return {left, right};
}
template <Expression L, Expression R>
constexpr Difference<L, R> operator-(const L& left, const R& right) {
  return {left, right};
}
template <Expression L, Expression R>
constexpr Product<L, R> operator*(const L& left, const R& right) {
  return {left, right};
}

/// The argument of a formula that returns its expression.
template <class Real>
struct Symbols {
  constexpr Cell<0, 0, 0> c() const { return {}; }
  constexpr Cell<-1, 0, 0> w() const { return {}; }
  constexpr Cell<1, 0, 0> e() const { return {}; }
  constexpr Cell<0, -1, 0> s() const { return {}; }
  constexpr Cell<0, 1, 0> n() const { return {}; }
  constexpr Cell<0, 0, -1> d() const { return {}; }
  constexpr Cell<0, 0, 1> t() const { return {}; }
  constexpr Constant<Real> constant(Real value) const { return {value}; }
};

}  // namespace halocline::stencil::cpu

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The operations of formulas on numbers, one IEEE operation each.

#include <cmath>
#include <limits>

#include "problem/functions.hpp"
#include "problem/tree.hpp"

namespace halocline::problem {

/// The source of exp, log, sin, cos, tanh and pow: the C library, for values that the host computes
/// once, or our own, which have the same bits wherever sweeps run.
enum class Functions { library, own };

/// Returns the value of one of those functions.
template <class Real>
Real own_function(Op op, Real a, Real b) {
  if (op == Op::exp) return functions::exp(a);
  if (op == Op::log) return functions::log(a);
  if (op == Op::sin) return functions::sin(a);
  if (op == Op::cos) return functions::cos(a);
  if (op == Op::tanh) return functions::tanh(a);
  return functions::pow(a, b);
}
constexpr bool is_function(Op op) {
  return op == Op::exp || op == Op::log || op == Op::sin || op == Op::cos || op == Op::tanh ||
         op == Op::pow;
}

/// Returns the value of an operation that has operands, with the functions of the C library. Truth
/// values are 0 and 1.
template <class Real>
Real evaluated(Op op, Real a, Real b, Real c) {
  const auto truth = [](bool value) { return value ? Real(1) : Real(0); };
  switch (op) {
    case Op::negate:
      return -a;
    case Op::abs:
      return std::fabs(a);
    case Op::sqrt:
      return std::sqrt(a);
    case Op::exp:
      return std::exp(a);
    case Op::log:
      return std::log(a);
    case Op::sin:
      return std::sin(a);
    case Op::cos:
      return std::cos(a);
    case Op::tanh:
      return std::tanh(a);
    case Op::logical_not:
      return truth(a == 0);
    case Op::add:
      return a + b;
    case Op::subtract:
      return a - b;
    case Op::multiply:
      return a * b;
    case Op::divide:
      return a / b;
    case Op::pow:
      return std::pow(a, b);
    case Op::less:
      return truth(a < b);
    case Op::less_equal:
      return truth(a <= b);
    case Op::greater:
      return truth(a > b);
    case Op::greater_equal:
      return truth(a >= b);
    case Op::equal:
      return truth(a == b);
    case Op::not_equal:
      return truth(a != b);
    case Op::logical_and:
      return truth(a != 0 && b != 0);
    case Op::logical_or:
      return truth(a != 0 || b != 0);
    case Op::fma:
      return std::fma(a, b, c);
    case Op::select:
      return a != 0 ? b : c;
    default:
      return std::numeric_limits<Real>::quiet_NaN();  // leaves
  }
}

}  // namespace halocline::problem

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arguments for the functions of formulas, and a sum over the bits of their results that does not
// depend on the order. For hosts and GPUs.

#include "problem/functions.hpp"

namespace halocline::test {

using problem::functions::Bits;

enum class Function { exp, log, sin, cos, tanh, pow };
inline constexpr Function all_functions[] = {Function::exp, Function::log,  Function::sin,
                                             Function::cos, Function::tanh, Function::pow};

template <Function function, class Real>
HALOCLINE_FUNCTION Real value_of(Real x, Real y) {
  namespace functions = problem::functions;
  if constexpr (function == Function::exp) return functions::exp(x);
  if constexpr (function == Function::log) return functions::log(x);
  if constexpr (function == Function::sin) return functions::sin(x);
  if constexpr (function == Function::cos) return functions::cos(x);
  if constexpr (function == Function::tanh) return functions::tanh(x);
  if constexpr (function == Function::pow) return functions::pow(x, y);
}

HALOCLINE_FUNCTION Bits mixed(Bits bits) {
  bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ bits >> 27) * 0x94d049bb133111eb;
  return bits ^ bits >> 31;
}

/// Argument `number` of two streams, 0 for x and 1 for y: in turn any number, one up to 1024, one
/// up to 4 and one close to 1.
template <class Real>
HALOCLINE_FUNCTION Real argument(int number, int stream) {
  const Bits bits = mixed(2 * static_cast<Bits>(number) + static_cast<Bits>(stream) + 1);
  const double unit = static_cast<double>(bits >> 11) * 0x1p-52 - 1;
  if (number % 4 == 1) return static_cast<Real>(unit * 1024);
  if (number % 4 == 2) return static_cast<Real>(unit * 4);
  if (number % 4 == 3) return static_cast<Real>(1 + unit * 0x1p-6);
  if constexpr (sizeof(Real) == sizeof(Bits)) {
    return problem::functions::of_bits(bits);
  } else {
    // A float of any exponent and sign, without a union or a library: its parts as a double.
    const double fraction = 1 + static_cast<double>(bits & 0x7fffff) * 0x1p-23;
    const int exponent = static_cast<int>(bits >> 32 & 0xff) - 149;
    const double scale = problem::functions::power_of_two(static_cast<Bits>(exponent));
    const double size = exponent > 127
                            ? problem::functions::of_bits(problem::functions::bits_of_infinity)
                            : fraction * scale;
    return static_cast<Real>((bits >> 63) != 0 ? -size : size);
  }
}

/// What a result adds to the sum; all NaNs are one. Floats are doubles too.
HALOCLINE_FUNCTION Bits term(int number, double value) {
  const Bits bits =
      value != value ? problem::functions::bits_of_nan : problem::functions::bits_of(value);
  return mixed(bits + static_cast<Bits>(number) * 0x9e3779b97f4a7c15);
}

inline constexpr int hashed_arguments = 1 << 15;

struct FunctionHash {
  Function function;
  Bits of_float, of_double;
};

/// The sums over all arguments, on every processor and at every level of optimisation.
inline constexpr FunctionHash expected_hashes[] = {
    {Function::exp, 0x3fd926078c735b58, 0xcc06ff9efb833c7a},
    {Function::log, 0x22bcb3d88d352c9c, 0x933480c0840edba5},
    {Function::sin, 0x28ae9e3eefd466df, 0x68e3bfe56b7e7536},
    {Function::cos, 0x79217e97e1ebbf24, 0x1c756186d5778e10},
    {Function::tanh, 0xedb558b44802a7ea, 0x3805f51fa71f1dd3},
    {Function::pow, 0xedc1f13b2b5a0c3e, 0x3cba232fd00c41bb}};

}  // namespace halocline::test

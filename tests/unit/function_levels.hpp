// SPDX-License-Identifier: Apache-2.0
#pragma once
// The functions of formulas as compilers make them for several processors.

#include <vector>

#include "support/function_bits.hpp"

namespace halocline::test {

/// Loops over all functions, compiled for one kind of processor.
struct FunctionLevel {
  const char* name;
  bool is_here;  ///< whether this processor has its instructions
  FunctionHash (*hash)(Function);
};

/// Returns the levels of this source, which is optimised as the libraries are: at least one.
std::vector<FunctionLevel> function_levels();

/// Hashes the results of loops that `compute` makes.
template <Function function, class Real, class Compute>
Bits hash_of(Compute compute) {
  std::vector<Real> x(hashed_arguments), y(hashed_arguments), values(hashed_arguments);
  for (int i = 0; i < hashed_arguments; ++i) {
    x[static_cast<std::size_t>(i)] = argument<Real>(i, 0);
    y[static_cast<std::size_t>(i)] = argument<Real>(i, 1);
  }
  compute(x.data(), y.data(), values.data());
  Bits sum = 0;
  for (int i = 0; i < hashed_arguments; ++i) sum += term(i, values[static_cast<std::size_t>(i)]);
  return sum;
}

template <template <Function, class> class Loop, Function function>
FunctionHash hash_with() {
  return {function, hash_of<function, float>(Loop<function, float>::run),
          hash_of<function, double>(Loop<function, double>::run)};
}

template <template <Function, class> class Loop>
FunctionHash hash_with(Function function) {
  switch (function) {
    case Function::exp:
      return hash_with<Loop, Function::exp>();
    case Function::log:
      return hash_with<Loop, Function::log>();
    case Function::sin:
      return hash_with<Loop, Function::sin>();
    case Function::cos:
      return hash_with<Loop, Function::cos>();
    case Function::tanh:
      return hash_with<Loop, Function::tanh>();
    case Function::pow:
      return hash_with<Loop, Function::pow>();
  }
  return {};
}

}  // namespace halocline::test

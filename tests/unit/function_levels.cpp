// SPDX-License-Identifier: Apache-2.0
// The functions of formulas in loops that become vector code: tests/CMakeLists.txt compiles this
// source with -O3.

#include "unit/function_levels.hpp"

namespace halocline::test {
namespace {

template <Function function, class Real>
__attribute__((always_inline)) inline void compute(const Real* x, const Real* y, Real* values) {
  if constexpr (function == Function::sin) {
    problem::functions::sines(x, values, hashed_arguments);
  } else if constexpr (function == Function::cos) {
    problem::functions::cosines(x, values, hashed_arguments);
  } else {
    for (int i = 0; i < hashed_arguments; ++i) values[i] = value_of<function>(x[i], y[i]);
  }
}

template <Function function, class Real>
struct Baseline {
  static void run(const Real* x, const Real* y, Real* values) { compute<function>(x, y, values); }
};

#if defined(__x86_64__)
template <Function function, class Real>
struct Sse4 {
  __attribute__((target("sse4.2"))) static void run(const Real* x, const Real* y, Real* values) {
    compute<function>(x, y, values);
  }
};

// With fma, which must not be used.
template <Function function, class Real>
struct Avx2 {
  __attribute__((target("avx2,fma"))) static void run(const Real* x, const Real* y, Real* values) {
    compute<function>(x, y, values);
  }
};

template <Function function, class Real>
struct Avx512 {
  __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,fma"))) static void run(const Real* x,
                                                                                    const Real* y,
                                                                                    Real* values) {
    compute<function>(x, y, values);
  }
};
#endif

}  // namespace

std::vector<FunctionLevel> function_levels() {
  std::vector<FunctionLevel> levels{{"baseline", true, hash_with<Baseline>}};
#if defined(__x86_64__)
  const auto has = [](int feature) { return feature != 0; };
  levels.push_back({"sse4", has(__builtin_cpu_supports("sse4.2")), hash_with<Sse4>});
  levels.push_back({"avx2",
                    has(__builtin_cpu_supports("avx2")) && has(__builtin_cpu_supports("fma")),
                    hash_with<Avx2>});
  levels.push_back({"avx512",
                    has(__builtin_cpu_supports("avx512vl")) &&
                        has(__builtin_cpu_supports("avx512dq")) &&
                        has(__builtin_cpu_supports("avx512bw")),
                    hash_with<Avx512>});
#endif
  return levels;
}

}  // namespace halocline::test

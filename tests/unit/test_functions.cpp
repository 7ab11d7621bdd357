// SPDX-License-Identifier: Apache-2.0
// The functions of formulas: special values, errors against wider arithmetic, and bits that depend
// on no compiler and no processor.

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "unit/function_levels.hpp"

namespace halocline::test {
namespace {

namespace functions = problem::functions;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Equal with the sign of zeros, or both NaN.
template <class Real>
bool is_same(Real a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == static_cast<Real>(b) && std::signbit(a) == std::signbit(b);
}

template <class Real>
class Functions : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(Functions, Reals);

TYPED_TEST(Functions, HaveSpecialValues) {
  using Real = TypeParam;
  const double least = std::numeric_limits<Real>::denorm_min();
  const double most = std::numeric_limits<Real>::max();
  struct Row {
    const char* name;
    Real (*function)(Real);
    std::vector<std::pair<double, double>> values;
  };
  const Row rows[] = {
      {"exp",
       [](Real x) { return functions::exp(x); },
       {{0, 1},
        {-0.0, 1},
        {infinity, infinity},
        {-infinity, 0},
        {most, infinity},
        {-most, 0},
        {least, 1},
        {-least, 1},
        {nan, nan}}},
      {"log",
       [](Real x) { return functions::log(x); },
       {{1, 0},
        {0, -infinity},
        {-0.0, -infinity},
        {-1, nan},
        {-least, nan},
        {-infinity, nan},
        {infinity, infinity},
        {nan, nan}}},
      {"sin",
       [](Real x) { return functions::sin(x); },
       {{0, 0},
        {-0.0, -0.0},
        {infinity, nan},
        {-infinity, nan},
        {least, least},
        {-least, -least},
        {nan, nan}}},
      {"cos",
       [](Real x) { return functions::cos(x); },
       {{0, 1}, {-0.0, 1}, {infinity, nan}, {-infinity, nan}, {least, 1}, {nan, nan}}},
      {"tanh",
       [](Real x) { return functions::tanh(x); },
       {{0, 0},
        {-0.0, -0.0},
        {infinity, 1},
        {-infinity, -1},
        {most, 1},
        {-most, -1},
        {19.5, 1},
        {least, least},
        {-least, -least},
        {nan, nan}}},
  };
  for (const Row& row : rows)
    for (const auto& [x, expected] : row.values) {
      const Real value = row.function(static_cast<Real>(x));
      EXPECT_TRUE(is_same(value, expected)) << row.name << "(" << x << ") is " << value;
    }
}

/// C's Annex F agrees with the C library, so every pair of special numbers is tried against it.
TYPED_TEST(Functions, PowHasSpecialValues) {
  using Real = TypeParam;
  using Limits = std::numeric_limits<Real>;
  std::vector<Real> numbers;
  const Real odd = std::ldexp(Real(1), Limits::digits) - 1;  // the largest
  for (const Real number :
       {Real(0), Limits::denorm_min(), Limits::min(), Real(0.25), Real(0.5), 1 - Limits::epsilon(),
        Real(1), 1 + Limits::epsilon(), Real(1.5), Real(2), Real(3), Real(4.5), Real(1001), odd,
        odd + 1, 2 * odd, Limits::max(), Limits::infinity(), Limits::quiet_NaN()})
    for (const Real sign : {Real(1), Real(-1)}) numbers.push_back(sign * number);
  for (const Real x : numbers)
    for (const Real y : numbers) {
      const Real value = functions::pow(x, y), expected = std::pow(x, y);
      if (std::isfinite(expected) && expected != 0)
        EXPECT_NEAR(value / expected, 1, 2 * Limits::epsilon()) << x << "^" << y;
      else
        EXPECT_TRUE(is_same(value, static_cast<double>(expected)))
            << x << "^" << y << " is " << value << ", not " << expected;
    }
}

/// |value - exact| in units in the last place of Real.
template <class Real>
double units_between(Real value, long double exact) {
  using Limits = std::numeric_limits<Real>;
  const auto nearest = static_cast<Real>(exact);
  if (std::isnan(exact) || std::isinf(nearest) || exact == 0)
    return is_same(value, static_cast<double>(nearest)) ? 0 : infinity;
  const int exponent = std::max(std::ilogb(exact), Limits::min_exponent - 1);
  return static_cast<double>(std::ldexp(std::abs(value - exact), Limits::digits - 1 - exponent));
}

/// Numbers, and their neighbours with both signs.
std::vector<double> around(const std::vector<double>& numbers) {
  std::vector<double> found;
  for (const double number : numbers)
    for (const double near :
         {number, std::nextafter(number, infinity), std::nextafter(number, -infinity)})
      for (const double sign : {1.0, -1.0}) found.push_back(sign * near);
  return found;
}

/// Arguments that are hard for one function or another, then random ones.
std::vector<double> arguments(double lower, double upper, int count) {
  std::vector<double> hard{0.5, 1, 2, DBL_MIN, 0x1p-27, 0x1p-28, 0x1p22, 19.0615, 22,
                           709.7827128933841, 708.3964185322641, 745.1332191019412, 746, 1000,
                           // Closest to a multiple of pi/2 of all doubles, and of large ones.
                           0x1.6ac5b262ca1ffp+849, 0x1.f7fc1f0c0a3c8p+1, 1e22, DBL_MAX};
  for (int n = 1; n < 400; ++n) hard.push_back(n * 1.5707963267948966);
  for (int n = 1; n < 1100; n += 3) hard.push_back(n * 0.34657359027997264);
  for (int n = -1074; n < 1024; n += 5) {
    hard.push_back(std::ldexp(1.0, n));
    hard.push_back(std::ldexp(1.4142135623730951, n));
  }
  std::vector<double> found = around(hard);
  std::mt19937_64 random(20);
  std::uniform_real_distribution<double> within(lower, upper), exponent(-40, 2);
  for (int i = 0; i < count; ++i) {
    found.push_back(within(random));
    found.push_back(std::exp2(exponent(random)) * (random() % 2 == 0 ? 1 : -1));
    found.push_back(std::bit_cast<double>(std::uint64_t{random()}));
  }
  return found;
}

struct Accuracy {
  const char* name;
  double (*ours)(double);
  long double (*exact)(long double);
  double lower, upper;  ///< of most random arguments
  double units;         ///< a little more than found in 3 million arguments against 113 bits
};

TEST(FunctionsOfDouble, AreWithinAUnitInTheLastPlace) {
  if (LDBL_MANT_DIG < 64) GTEST_SKIP() << "long double is no wider than double";
  const Accuracy rows[] = {
      {"exp", [](double x) { return functions::exp(x); }, std::exp, -746, 710, 0.77},
      {"log", [](double x) { return functions::log(x); }, std::log, 0, 2, 0.85},
      {"sin", [](double x) { return functions::sin(x); }, std::sin, -100, 100, 0.78},
      {"cos", [](double x) { return functions::cos(x); }, std::cos, -100, 100, 0.76},
      {"tanh", [](double x) { return functions::tanh(x); }, std::tanh, -1, 1, 0.76},
  };
  for (const Accuracy& row : rows) {
    double worst = 0, at = 0;
    for (const double x : arguments(row.lower, row.upper, 100'000)) {
      const double units = units_between(row.ours(x), row.exact(x));
      if (units > worst) {
        worst = units;
        at = x;
      }
    }
    EXPECT_LT(worst, row.units) << row.name << " at " << std::hexfloat << at;
    EXPECT_GT(worst, 0.5) << row.name << ": the wider arithmetic is no wider";
  }
}

TEST(FunctionsOfDouble, PowIsWithinAUnitInTheLastPlace) {
  if (LDBL_MANT_DIG < 64) GTEST_SKIP() << "long double is no wider than double";
  std::mt19937_64 random(21);
  std::uniform_real_distribution<double> logarithm(-745, 709.7), exponent(-1074, 1023),
      small(-5, 5);
  double worst = 0;
  for (int i = 0; i < 100'000; ++i) {
    // Any size, close to 1, and common numbers; the result of any size, or y small.
    const double x = i % 3 == 0   ? std::exp2(exponent(random))
                     : i % 3 == 1 ? 1 + small(random) * 0.05
                                  : std::abs(small(random));
    const double y = i % 4 == 0 ? small(random) : logarithm(random) / std::log(x);
    const double units =
        units_between(functions::pow(x, y), std::pow(static_cast<long double>(x), y));
    EXPECT_LT(units, 0.78) << std::hexfloat << x << "^" << y;
    worst = std::max(worst, units);
  }
  EXPECT_GT(worst, 0.5) << "the wider arithmetic is no wider";
}

/// bench_functions tries all floats.
TEST(FunctionsOfFloat, AreTheNearestFloats) {
  struct Row {
    const char* name;
    float (*ours)(float);
    double (*exact)(double);
  };
  const Row rows[] = {
      {"exp", [](float x) { return functions::exp(x); }, std::exp},
      {"log", [](float x) { return functions::log(x); }, std::log},
      {"sin", [](float x) { return functions::sin(x); }, std::sin},
      {"cos", [](float x) { return functions::cos(x); }, std::cos},
      {"tanh", [](float x) { return functions::tanh(x); }, std::tanh},
  };
  for (const Row& row : rows)
    for (std::uint64_t bits = 0; bits < 1ull << 32; bits += 65'521) {
      const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
      ASSERT_LT(units_between(row.ours(x), row.exact(x)), 0.501)
          << row.name << " at " << std::hexfloat << x;
    }
}

TEST(FunctionsOfFloat, PowIsTheNearestFloat) {
  std::mt19937_64 random(22);
  std::uniform_real_distribution<double> logarithm(-104, 89), exponent(-149, 127), small(-5, 5);
  for (int i = 0; i < 50'000; ++i) {
    const auto x = static_cast<float>(i % 3 == 0   ? std::exp2(exponent(random))
                                      : i % 3 == 1 ? 1 + small(random) * 0.05
                                                   : std::abs(small(random)));
    const auto y =
        static_cast<float>(i % 4 == 0 ? small(random) : logarithm(random) / std::log(double{x}));
    ASSERT_LT(units_between(functions::pow(x, y), std::pow(double{x}, double{y})), 0.501)
        << std::hexfloat << x << "^" << y;
  }
}

TYPED_TEST(Functions, LoopsOfSinAndCosGiveTheSame) {
  using Real = TypeParam;
  for (const int count : {0, 1, 255, 256, 257, 1000}) {
    std::vector<Real> x(static_cast<std::size_t>(count)), sines = x, cosines = x;
    for (int i = 0; i < count; ++i) x[static_cast<std::size_t>(i)] = argument<Real>(i, 0);
    functions::cosines(x.data(), cosines.data(), count);
    sines = x;
    functions::sines(sines.data(), sines.data(), count);  // in place
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_TRUE(is_same(sines[i], static_cast<double>(functions::sin(x[i])))) << x[i];
      EXPECT_TRUE(is_same(cosines[i], static_cast<double>(functions::cos(x[i])))) << x[i];
    }
  }
}

/// This source is compiled without optimisation.
template <Function function, class Real>
struct OneByOne {
  static void run(const Real* x, const Real* y, Real* values) {
    for (int i = 0; i < hashed_arguments; ++i) values[i] = value_of<function>(x[i], y[i]);
  }
};

TEST(FunctionBits, AreTheSameAtEveryLevel) {
  std::vector<FunctionLevel> levels = function_levels();
  levels.push_back({"not optimised", true, hash_with<OneByOne>});
  for (const FunctionLevel& level : levels) {
    if (!level.is_here) continue;
    for (const FunctionHash& expected : expected_hashes) {
      const FunctionHash found = level.hash(expected.function);
      const auto number = static_cast<int>(expected.function);
      EXPECT_EQ(found.of_float, expected.of_float) << level.name << ", function " << number;
      EXPECT_EQ(found.of_double, expected.of_double) << level.name << ", function " << number;
    }
  }
}

}  // namespace
}  // namespace halocline::test

// SPDX-License-Identifier: Apache-2.0
// The functions of formulas: their times in plain loops, and their largest errors for all floats.
//
//   bench_functions                        nanoseconds per value, beside the C library's
//   bench_functions floats [FUNCTION ...]  errors of all 2^32 floats, about a minute per function

#include "problem/functions.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

namespace {

namespace functions = halocline::problem::functions;
using Clock = std::chrono::steady_clock;

/// A function in loops of its own, and the C library's.
template <class Real>
struct Row {
  const char* name;
  double lower, upper;  ///< of the arguments that are timed
  void (*ours)(const Real* x, const Real* y, Real* values, int count);
  void (*theirs)(const Real* x, const Real* y, Real* values, int count);
};

#define LOOP(...)                                                              \
  [](const Real* x, [[maybe_unused]] const Real* y, Real* values, int count) { \
    for (int i = 0; i < count; ++i) values[i] = __VA_ARGS__;                   \
  }

template <class Real>
std::vector<Row<Real>> rows() {
  return {
      {"exp", -10, 10, LOOP(functions::exp(x[i])), LOOP(std::exp(x[i]))},
      {"log", 0.1, 10, LOOP(functions::log(x[i])), LOOP(std::log(x[i]))},
      {"sin", -10, 10,
       [](const Real* x, const Real*, Real* values, int count) {
         functions::sines(x, values, count);
       },
       LOOP(std::sin(x[i]))},
      {"cos", -10, 10,
       [](const Real* x, const Real*, Real* values, int count) {
         functions::cosines(x, values, count);
       },
       LOOP(std::cos(x[i]))},
      {"tanh", -5, 5, LOOP(functions::tanh(x[i])), LOOP(std::tanh(x[i]))},
      {"pow", 0.1, 10, LOOP(functions::pow(x[i], y[i])), LOOP(std::pow(x[i], y[i]))},
      {"sin, one by one", -10, 10, LOOP(functions::sin(x[i])), LOOP(std::sin(x[i]))},
      {"sin, large", 1e10, 1e11, LOOP(functions::sin(x[i])), LOOP(std::sin(x[i]))},
  };
}

template <class Real, class Loop>
double nanoseconds(const Row<Real>& row, Loop loop) {
  constexpr int count = 4096, runs = 5, repetitions = 30;
  std::vector<Real> x(count), y(count), values(count);
  for (int i = 0; i < count; ++i) {
    x[static_cast<std::size_t>(i)] =
        static_cast<Real>(row.lower + (row.upper - row.lower) * i / count);
    y[static_cast<std::size_t>(i)] = static_cast<Real>(3 * std::sin(i));
  }
  double best = std::numeric_limits<double>::infinity();
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    const auto start = Clock::now();
    for (int run = 0; run < runs; ++run) loop(x.data(), y.data(), values.data(), count);
    const std::chrono::duration<double, std::nano> time = Clock::now() - start;
    best = std::min(best, time.count() / runs / count);
  }
  return best;
}

template <class Real>
void print_times(const char* type) {
  for (const Row<Real>& row : rows<Real>())
    std::printf("%-7s %-16s %6.2f ns, C library %6.2f ns\n", type, row.name,
                nanoseconds(row, row.ours), nanoseconds(row, row.theirs));
}

/// |value - exact| in units in the last place of a float.
double units_between(float value, double exact) {
  if (std::isnan(exact) || std::isinf(static_cast<float>(exact)))
    return value == static_cast<float>(exact) || (std::isnan(value) && std::isnan(exact))
               ? 0
               : std::numeric_limits<double>::infinity();
  const int exponent = exact == 0 ? -126 : std::max(std::ilogb(exact), -126);
  return std::ldexp(std::abs(value - exact), 23 - exponent);
}

/// Compares all floats with the C library's doubles, whose errors are below 2^-29 of a float's
/// unit.
bool check_floats(const Row<float>& row, const Row<double>& exact) {
  constexpr int block = 1 << 14;
  std::vector<float> x(block), values(block);
  std::vector<double> wide(block), expected(block);
  double worst = 0;
  float at = 0;
  std::uint64_t misrounded = 0;
  for (std::uint64_t begin = 0; begin < 1ull << 32; begin += block) {
    for (std::size_t i = 0; i < block; ++i) {
      x[i] = std::bit_cast<float>(static_cast<std::uint32_t>(begin + i));
      wide[i] = x[i];
    }
    row.ours(x.data(), nullptr, values.data(), block);
    exact.theirs(wide.data(), nullptr, expected.data(), block);
    for (std::size_t i = 0; i < block; ++i) {
      const auto nearest = static_cast<float>(expected[i]);
      // Also for the sign of zeros.
      if (std::bit_cast<std::uint32_t>(values[i]) == std::bit_cast<std::uint32_t>(nearest))
        continue;
      if (std::isnan(values[i]) && std::isnan(nearest)) continue;
      ++misrounded;
      const double units = values[i] == 0 && nearest == 0 ? std::numeric_limits<double>::infinity()
                                                          : units_between(values[i], expected[i]);
      if (units > worst) {
        worst = units;
        at = x[i];
      }
    }
  }
  std::printf("%-4s of all floats: %llu not the nearest float, largest error %.5f units at %a\n",
              row.name, static_cast<unsigned long long>(misrounded), worst == 0 ? 0.5 : worst,
              static_cast<double>(at));
  std::fflush(stdout);
  return worst < 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    print_times<double>("double");
    print_times<float>("float");
    return 0;
  }
  const std::vector<Row<float>> floats = rows<float>();
  const std::vector<Row<double>> doubles = rows<double>();
  bool good = std::string(argv[1]) == "floats";
  for (std::size_t row = 0; row < 5 && good; ++row) {
    bool wanted = argc == 2;
    for (int i = 2; i < argc; ++i) wanted |= std::string(argv[i]) == floats[row].name;
    if (wanted) good &= check_floats(floats[row], doubles[row]);
  }
  return good ? 0 : 1;
}

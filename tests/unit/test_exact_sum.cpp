// SPDX-License-Identifier: Apache-2.0
// Sums without rounding: every order and every split gives the same bits.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "program/exact_sum.hpp"

namespace halocline::program {
namespace {

using Limits = std::numeric_limits<double>;

double sum_of(const std::vector<double>& values) {
  ExactSum sum;
  for (const double value : values) sum.add(value);
  return sum.total();
}

TEST(ExactSum, IsRoundedOnceAndToEven) {
  const double large = std::ldexp(1.0, 53);
  EXPECT_EQ(sum_of({}), 0);
  EXPECT_FALSE(std::signbit(sum_of({-0.0})));
  EXPECT_EQ(sum_of({1, 1e100, 1, -1e100}), 2);
  EXPECT_EQ(sum_of({large, 1}), large);
  EXPECT_EQ(sum_of({large, 1, Limits::denorm_min()}), large + 2);
  EXPECT_EQ(sum_of({-large, -1, -Limits::denorm_min()}), -large - 2);
  EXPECT_EQ(sum_of({large + 2, 1}), large + 4);
  EXPECT_EQ(sum_of({0.1, 0.2, -0.3}), 0x1p-55) << "as Python's math.fsum";
}

TEST(ExactSum, HasRoomForAllDoubles) {
  EXPECT_EQ(sum_of({Limits::max(), Limits::max(), -Limits::max()}), Limits::max());
  EXPECT_EQ(sum_of({Limits::max(), Limits::max()}), HUGE_VAL);
  EXPECT_EQ(sum_of({-Limits::max(), -Limits::max()}), -HUGE_VAL);
  EXPECT_EQ(sum_of({Limits::denorm_min(), Limits::denorm_min()}), 2 * Limits::denorm_min());
  EXPECT_EQ(sum_of({Limits::min(), -Limits::denorm_min()}), Limits::min() - Limits::denorm_min());
  EXPECT_EQ(sum_of({HUGE_VAL, 1}), HUGE_VAL);
  EXPECT_EQ(sum_of({-HUGE_VAL, 1}), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(sum_of({HUGE_VAL, -HUGE_VAL})));
  EXPECT_TRUE(std::isnan(sum_of({1, Limits::quiet_NaN()})));
}

TEST(ExactSum, IsTheSameForEveryOrderAndSplit) {
  std::mt19937_64 random(7);
  std::vector<double> values;
  for (int i = 0; i < 3000; ++i)
    values.push_back(std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())),
                                static_cast<int>(random() % 300) - 150));
  for (std::size_t i = 0; i < 3000; i += 3) values.push_back(-values[i]);
  const double expected = sum_of(values);
  for (int round = 0; round < 5; ++round) {
    std::shuffle(values.begin(), values.end(), random);
    std::array<ExactSum, 3> parts;
    for (std::size_t i = 0; i < values.size(); ++i) parts[i * i % 3].add(values[i]);
    EXPECT_EQ(sum_of(values), expected);
    // As over ranks: element by element, modulo 2^64.
    std::array<std::uint64_t, ExactSum::words> words{};
    ExactSum together;
    for (const ExactSum& part : parts) {
      const auto mine = part.in_words();
      for (std::size_t k = 0; k < words.size(); ++k) words[k] += mine[k];
      together.add(part);
    }
    EXPECT_EQ(ExactSum(std::span<const std::uint64_t, ExactSum::words>(words)).total(), expected);
    EXPECT_EQ(together.total(), expected);
  }
}

TEST(ExactSum, IsThatOfWholeNumbersOfAnySize) {
  ExactSum sum;
  std::int64_t expected = 0;
  for (std::int64_t i = -2000; i < 100'000; ++i) {
    sum.add(static_cast<double>(i * 1'000'003));
    expected += i * 1'000'003;
  }
  EXPECT_EQ(sum.total(), static_cast<double>(expected));
}

}  // namespace
}  // namespace halocline::program

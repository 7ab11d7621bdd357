// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sums of doubles without rounding: the same for every order and every split of the numbers.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace halocline::program {

/// A sum as one long whole number of units of 2^-1074, the smallest double, of which every double
/// is a multiple. Room for 2^62 numbers.
class ExactSum {
 public:
  /// In this form sums of several ranks are added element by element, modulo 2^64; no more than
  /// 2^31 of them.
  static constexpr std::size_t words = 71;

  ExactSum() = default;
  explicit ExactSum(std::span<const std::uint64_t, words> summed);

  void add(double value);
  void add(const ExactSum& other);
  /// Returns the sum, rounded once; -0.0 counts as +0.0. Infinite or NaN if one of those
  /// added is.
  double total() const;
  std::array<std::uint64_t, words> in_words() const;

 private:
  static constexpr std::size_t limbs = words - 3;
  /// Leaves limbs from 0 to 2^32 - 1, all but the last, which has the sign.
  void carry();

  // Limb k counts units of 2^(32 k - 1074). A number adds less than 2^32 to each.
  std::array<std::int64_t, limbs> limbs_{};
  std::uint32_t since_carry_ = 0;
  std::int64_t infinite_ = 0, negative_infinite_ = 0, no_numbers_ = 0;
};

}  // namespace halocline::program

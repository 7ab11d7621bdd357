// SPDX-License-Identifier: Apache-2.0
#include "program/exact_sum.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace halocline::program {
namespace {

constexpr int limb_bits = 32;
constexpr std::int64_t limb_mask = 0xffffffff;
constexpr int smallest_exponent = -1074;
// Limbs stay below 2^62.
constexpr std::uint32_t most_before_carry = 1u << 29;

}  // namespace

ExactSum::ExactSum(std::span<const std::uint64_t, words> summed) {
  for (std::size_t k = 0; k < limbs; ++k) limbs_[k] = static_cast<std::int64_t>(summed[k]);
  infinite_ = static_cast<std::int64_t>(summed[limbs]);
  negative_infinite_ = static_cast<std::int64_t>(summed[limbs + 1]);
  no_numbers_ = static_cast<std::int64_t>(summed[limbs + 2]);
  carry();
}

void ExactSum::add(double value) {
  constexpr std::uint64_t fraction = (std::uint64_t{1} << 52) - 1;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto exponent = static_cast<unsigned>(bits >> 52 & 0x7ff);
  if (exponent == 0x7ff) {
    ++(std::isnan(value) ? no_numbers_ : value > 0 ? infinite_ : negative_infinite_);
    return;
  }
  // Subnormal numbers have the unit of the smallest normal ones, without their leading bit.
  const std::uint64_t mantissa = (bits & fraction) | (exponent > 0 ? fraction + 1 : 0);
  const unsigned at = exponent > 0 ? exponent - 1 : 0;
  const unsigned shift = at % limb_bits;
  const std::uint64_t low = mantissa << shift;
  const std::uint64_t high = shift > 0 ? mantissa >> (64 - shift) : 0;
  const std::int64_t sign = bits >> 63 == 0 ? 1 : -1;
  std::int64_t* limb = &limbs_[at / limb_bits];
  limb[0] += sign * static_cast<std::int64_t>(low & limb_mask);
  limb[1] += sign * static_cast<std::int64_t>(low >> limb_bits);
  limb[2] += sign * static_cast<std::int64_t>(high);
  if (++since_carry_ == most_before_carry) carry();
}

void ExactSum::carry() {
  for (std::size_t k = 0; k + 1 < limbs; ++k) {
    limbs_[k + 1] += limbs_[k] >> limb_bits;  // rounds down, also negative numbers
    limbs_[k] &= limb_mask;
  }
  since_carry_ = 0;
}

void ExactSum::add(const ExactSum& other) {
  const ExactSum sum(std::span<const std::uint64_t, words>(other.in_words()));
  carry();
  for (std::size_t k = 0; k < limbs; ++k) limbs_[k] += sum.limbs_[k];
  carry();
  infinite_ += sum.infinite_;
  negative_infinite_ += sum.negative_infinite_;
  no_numbers_ += sum.no_numbers_;
}

std::array<std::uint64_t, ExactSum::words> ExactSum::in_words() const {
  ExactSum sum = *this;
  sum.carry();
  std::array<std::uint64_t, words> all{};
  for (std::size_t k = 0; k < limbs; ++k) all[k] = static_cast<std::uint64_t>(sum.limbs_[k]);
  all[limbs] = static_cast<std::uint64_t>(infinite_);
  all[limbs + 1] = static_cast<std::uint64_t>(negative_infinite_);
  all[limbs + 2] = static_cast<std::uint64_t>(no_numbers_);
  return all;
}

double ExactSum::total() const {
  if (no_numbers_ > 0 || (infinite_ > 0 && negative_infinite_ > 0))
    return std::numeric_limits<double>::quiet_NaN();
  if (infinite_ > 0) return HUGE_VAL;
  if (negative_infinite_ > 0) return -HUGE_VAL;
  ExactSum sum = *this;
  sum.carry();
  const bool is_negative = sum.limbs_.back() < 0;
  if (is_negative) {
    for (std::int64_t& limb : sum.limbs_) limb = -limb;
    sum.carry();
  }
  std::size_t top = limbs - 1;
  while (top > 0 && sum.limbs_[top] == 0) --top;
  const auto limb = [&](std::size_t below_top) {
    return below_top <= top ? static_cast<std::uint64_t>(sum.limbs_[top - below_top]) : 0;
  };
  if (limb(0) == 0) return 0;
  // The 64 leading bits; the last of them also represents all that follow, so that the conversion
  // rounds as the whole number would be rounded. Subnormal numbers have fewer bits, and are exact.
  const int lead = std::countl_zero(static_cast<std::uint32_t>(limb(0)));
  const std::uint64_t following = limb(2) << lead;
  std::uint64_t bits = (limb(0) << limb_bits | limb(1)) << lead | following >> limb_bits;
  bool has_more = (following & static_cast<std::uint64_t>(limb_mask)) != 0;
  for (std::size_t k = 3; k <= top && !has_more; ++k) has_more = limb(k) != 0;
  if (has_more) bits |= 1;
  const double magnitude =
      std::ldexp(static_cast<double>(bits),
                 limb_bits * (static_cast<int>(top) - 1) - lead + smallest_exponent);
  return is_negative ? -magnitude : magnitude;
}

}  // namespace halocline::program

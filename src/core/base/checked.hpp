// SPDX-License-Identifier: Apache-2.0
#pragma once
// Integer arithmetic that checks for overflow: sizes come from users, and 46341 squared exceeds
// int.

#include <cstdint>
#include <limits>
#include <type_traits>

#include <fmt/core.h>

#include <halocline/error.hpp>

namespace halocline {

/// Multiplies sizes; throws usage, with `what` in the text, if the product exceeds 63 bits.
inline std::int64_t checked_multiply(std::int64_t a, std::int64_t b, const char* what) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product))
    throw Error(ErrorKind::usage, fmt::format("{}: {} times {} is more than 2^63", what, a, b));
  return product;
}

/// Converts between integer types; throws internal if the target type cannot hold the value.
template <class To, class From>
To checked_cast(From value) {
  static_assert(std::is_integral_v<To> && std::is_integral_v<From>);
  const To result = static_cast<To>(value);
  if (static_cast<From>(result) != value || ((result < To{}) != (value < From{})))
    throw Error(ErrorKind::internal, fmt::format("{} is out of range for the target type", value));
  return result;
}

}  // namespace halocline

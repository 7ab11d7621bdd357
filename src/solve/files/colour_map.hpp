// SPDX-License-Identifier: Apache-2.0
#pragma once
// Maps numbers to colours.

#include <cstdint>
#include <span>

namespace halocline {

struct Colour {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;
  friend bool operator==(const Colour&, const Colour&) = default;
};

struct ValueRange {
  double min = 0;
  double max = 0;
};

/// Shows NaN and infinities; differs clearly from every colour of the map.
inline constexpr Colour not_finite_colour{230, 25, 75};

/// Finds the smallest and the largest finite value; {0, 0} if there is none.
ValueRange range_of(std::span<const double> values);

/// Maps `value` to the perceptually uniform map "viridis", dark for range.min and bright for
/// range.max. Values outside the range get the colour of its nearer end.
Colour colour_of(double value, const ValueRange& range);

}  // namespace halocline

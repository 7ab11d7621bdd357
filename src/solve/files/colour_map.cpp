// SPDX-License-Identifier: Apache-2.0
#include "files/colour_map.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace halocline {
namespace {

// Ten evenly spaced colours of "viridis", by S. van der Walt and N. Smith for matplotlib (CC0).
constexpr std::array<Colour, 10> anchors = {{{0x44, 0x01, 0x54},
                                             {0x48, 0x28, 0x78},
                                             {0x3e, 0x4a, 0x89},
                                             {0x31, 0x68, 0x8e},
                                             {0x26, 0x82, 0x8e},
                                             {0x1f, 0x9e, 0x89},
                                             {0x35, 0xb7, 0x79},
                                             {0x6e, 0xce, 0x58},
                                             {0xb5, 0xde, 0x2b},
                                             {0xfd, 0xe7, 0x25}}};

std::uint8_t mix(std::uint8_t from, std::uint8_t to, double share) {
  return static_cast<std::uint8_t>(std::lround(from + share * (to - from)));
}

/// Returns where `value` lies, from 0 at range.min to 1 at range.max.
double position_in(const ValueRange& range, double value) {
  // Halves keep the difference finite for ranges as wide as doubles go.
  const double width = range.max / 2 - range.min / 2;
  if (!(width > 0)) return 0.5;
  return std::clamp((value / 2 - range.min / 2) / width, 0.0, 1.0);
}

}  // namespace

ValueRange range_of(std::span<const double> values) {
  ValueRange range{INFINITY, -INFINITY};
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    range.min = std::min(range.min, value);
    range.max = std::max(range.max, value);
  }
  return range.min <= range.max ? range : ValueRange{};
}

Colour colour_of(double value, const ValueRange& range) {
  if (!std::isfinite(value)) return not_finite_colour;
  const double position = position_in(range, value) * (anchors.size() - 1);
  const std::size_t below = std::min(static_cast<std::size_t>(position), anchors.size() - 2);
  const double share = position - static_cast<double>(below);
  const Colour& a = anchors[below];
  const Colour& b = anchors[below + 1];
  return {mix(a.red, b.red, share), mix(a.green, b.green, share), mix(a.blue, b.blue, share)};
}

}  // namespace halocline

// SPDX-License-Identifier: Apache-2.0
#include "files/colour_map.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace halocline {
namespace {

// Of what is not finite: each far from all colours of the map.
constexpr Colour beside_viridis{230, 25, 75}, beside_coolwarm{0, 0, 0};

// Ten evenly spaced colours of "viridis", by S. van der Walt and N. Smith for matplotlib (CC0).
constexpr Colour viridis[] = {{0x44, 0x01, 0x54}, {0x48, 0x28, 0x78}, {0x3e, 0x4a, 0x89},
                              {0x31, 0x68, 0x8e}, {0x26, 0x82, 0x8e}, {0x1f, 0x9e, 0x89},
                              {0x35, 0xb7, 0x79}, {0x6e, 0xce, 0x58}, {0xb5, 0xde, 0x2b},
                              {0xfd, 0xe7, 0x25}};

// Seventeen evenly spaced colours of "coolwarm" as matplotlib 3.11 has it, by K. Moreland:
// Diverging Color Maps for Scientific Visualization (ISVC 2009).
constexpr Colour coolwarm[] = {{0x3b, 0x4c, 0xc0}, {0x4e, 0x68, 0xd8}, {0x62, 0x82, 0xea},
                               {0x77, 0x9a, 0xf7}, {0x8d, 0xb0, 0xfe}, {0xa3, 0xc2, 0xfe},
                               {0xb9, 0xd0, 0xf9}, {0xcc, 0xd9, 0xed}, {0xdd, 0xdc, 0xdc},
                               {0xec, 0xd3, 0xc5}, {0xf5, 0xc4, 0xac}, {0xf7, 0xb0, 0x93},
                               {0xf4, 0x98, 0x7a}, {0xeb, 0x7d, 0x62}, {0xdd, 0x5f, 0x4b},
                               {0xca, 0x3b, 0x37}, {0xb4, 0x04, 0x26}};

std::span<const Colour> anchors_of(ColourMap map) {
  if (map == ColourMap::coolwarm) return coolwarm;
  return viridis;
}

std::uint8_t mix(std::uint8_t from, std::uint8_t to, double share) {
  return static_cast<std::uint8_t>(std::lround(from + share * (to - from)));
}

/// Returns the colour at a place from 0 to 1.
Colour colour_at(std::span<const Colour> anchors, double place) {
  const double position = place * static_cast<double>(anchors.size() - 1);
  const std::size_t below = std::min(static_cast<std::size_t>(position), anchors.size() - 2);
  const double share = position - static_cast<double>(below);
  const Colour &a = anchors[below], &b = anchors[below + 1];
  return {mix(a.red, b.red, share), mix(a.green, b.green, share), mix(a.blue, b.blue, share)};
}

/// Returns where `value` lies, from 0 at range.min to 1 at range.max.
double position_in(const ValueRange& range, double value) {
  // Halves keep the difference finite for ranges as wide as doubles go.
  const double width = range.max / 2 - range.min / 2;
  if (!(width > 0)) return 0.5;
  return std::clamp((value / 2 - range.min / 2) / width, 0.0, 1.0);
}

}  // namespace

std::string name_of(ColourMap map) { return map == ColourMap::coolwarm ? "coolwarm" : "viridis"; }

std::string ColourScale::text() const {
  if (range.min == range.max) return fmt::format("{:g} everywhere", range.min);
  const bool diverges = map == ColourMap::coolwarm;
  // With enough digits to tell the ends apart.
  std::string least, largest;
  for (int digits = 6; digits <= 17 && least == largest; ++digits) {
    least = fmt::format("{:.{}g}", range.min, digits);
    largest = fmt::format("{:.{}g}", range.max, digits);
  }
  return fmt::format("{} ({}) to {} ({})", least, diverges ? "blue" : "dark", largest,
                     diverges ? "red" : "bright");
}

std::optional<ValueRange> range_of(std::span<const double> values) {
  ValueRange range{INFINITY, -INFINITY};
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    range.min = std::min(range.min, value);
    range.max = std::max(range.max, value);
  }
  if (range.min > range.max) return std::nullopt;
  return range;
}

ColourScale scale_of(const ValueRange& range, RangeIs is) {
  const double below = -range.min, above = range.max;
  if (is == RangeIs::fixed)
    return {below == above ? ColourMap::coolwarm : ColourMap::viridis, range};
  const double most = std::max(below, above), least = std::min(below, above);
  // Quarters do not overflow.
  if (!(least > 0 && most / diverging_ratio <= least)) return {ColourMap::viridis, range};
  return {ColourMap::coolwarm, {-most, most}};
}

Palette palette_of(ColourMap map) {
  Palette palette;
  for (std::size_t i = 0; i < map_colours; ++i)
    palette[i] =
        colour_at(anchors_of(map), static_cast<double>(i) / static_cast<double>(map_colours - 1));
  palette[map_colours] = map == ColourMap::coolwarm ? beside_coolwarm : beside_viridis;
  return palette;
}

std::uint8_t colour_number(double value, const ValueRange& range) {
  if (!std::isfinite(value)) return map_colours;
  return static_cast<std::uint8_t>(
      std::lround(position_in(range, value) * static_cast<double>(map_colours - 1)));
}

}  // namespace halocline

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Maps numbers to colours.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

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

/// viridis: from dark to bright. coolwarm: from blue over grey to red, for values of both signs.
enum class ColourMap { viridis, coolwarm };

std::string name_of(ColourMap map);

/// A map, and the values at its ends.
struct ColourScale {
  ColourMap map = ColourMap::viridis;
  ValueRange range = {};

  /// Writes the ends: "0 (dark) to 0.998 (bright)"; "5 everywhere" if they are one.
  std::string text() const;
};

/// Finds the smallest and the largest finite value; nothing if there is none.
std::optional<ValueRange> range_of(std::span<const double> values);

/// How many times the other end one end of a range of both signs may be for the diverging map.
inline constexpr double diverging_ratio = 4;

enum class RangeIs { found, fixed };

/// Chooses the map of a range. A range found in values, with ends of both signs of which neither is
/// more than diverging_ratio times the other, gets coolwarm and is made symmetric about 0, which is
/// grey then. A fixed range stays as it is, and gets coolwarm if it is symmetric. All others get
/// viridis.
ColourScale scale_of(const ValueRange& range, RangeIs is = RangeIs::found);

inline constexpr std::size_t map_colours = 255;  ///< odd, so that one of them is the middle

/// The colours of a map from its lower end, and then that of NaN and infinities, which no map has.
using Palette = std::array<Colour, map_colours + 1>;
Palette palette_of(ColourMap map);

/// Returns the number of a value's colour. Values outside the range have that of its nearer end.
std::uint8_t colour_number(double value, const ValueRange& range);

}  // namespace halocline

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Common parts of drawings of planes and of curves.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "files/canvas.hpp"
#include "files/colour_map.hpp"

namespace halocline::plot {

inline constexpr Colour paper{255, 255, 255};
inline constexpr Colour ink{34, 34, 34};
inline constexpr Colour faint_ink{110, 110, 110};

// All in pixels.
inline constexpr int margin = 16;
inline constexpr int gap = 8;
inline constexpr int line_height = 24;
inline constexpr int tick_length = 6;
inline constexpr std::size_t longest_title = 80;  // characters

/// Returns the middle of a range; 0 if it is only rounding noise compared with the ends.
double middle_of(const ValueRange& range);

/// Writes the ends and the middle of a range with enough digits to distinguish them.
std::array<std::string, 3> tick_labels(const ValueRange& range);

/// A line in faint ink, and behind it how many values are not finite, if any.
struct Subtitle {
  std::string text;
  std::int64_t not_finite = 0;

  int width() const;
  void write(Canvas& canvas, int left, int top) const;
};

/// Draws a line around a box.
void frame(Canvas& canvas, const Rectangle& box);

/// Writes "0", the name of the axis and the number of cells below a plot.
void label_x(Canvas& canvas, const Rectangle& plot, std::int64_t cells);

}  // namespace halocline::plot

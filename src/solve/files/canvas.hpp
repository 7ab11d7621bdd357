// SPDX-License-Identifier: Apache-2.0
#pragma once
// A canvas of pixels: filled boxes and short texts. (0, 0) is the upper left corner.

#include <cstddef>
#include <string_view>
#include <vector>

#include "files/colour_map.hpp"

namespace halocline {

/// A box of pixels.
struct Rectangle {
  int left = 0;
  int top = 0;
  int width = 0;
  int height = 0;

  int right() const { return left + width; }
  int bottom() const { return top + height; }
};

inline constexpr int text_height = 14;   ///< of a capital, in pixels
inline constexpr int text_descent = 4;   ///< of a g below the base line
inline constexpr int text_advance = 12;  ///< from one character to the next

inline int text_width(std::string_view text) {
  return static_cast<int>(text.size()) * text_advance - 2;
}

class Canvas {
 public:
  Canvas(int width, int height, Colour background);

  /// Fills a box, clipped to the canvas.
  void fill(const Rectangle& box, Colour colour);
  /// Writes one line of printable ASCII with its upper left corner at (left, top).
  void write(int left, int top, std::string_view text, Colour colour);

  int width() const { return width_; }
  int height() const { return height_; }
  /// Three bytes per pixel, rows from the top.
  const std::vector<Colour>& pixels() const { return pixels_; }

 private:
  int width_;
  int height_;
  std::vector<Colour> pixels_;
};

}  // namespace halocline

// SPDX-License-Identifier: Apache-2.0
#include "files/canvas.hpp"

#include <algorithm>

#include "files/font.hpp"

namespace halocline {
namespace {

constexpr int magnification = 2;  // screen pixels for each pixel of the font
static_assert(text_height == glyph_base_rows * magnification);
static_assert(text_descent == (glyph_rows - glyph_base_rows) * magnification);
static_assert(text_advance == (glyph_columns + 1) * magnification);
static_assert(sizeof(Colour) == 3, "pixels are handed over as bytes");

}  // namespace

Canvas::Canvas(int width, int height, Colour background)
    : width_(width),
      height_(height),
      pixels_(static_cast<std::size_t>(width) * static_cast<std::size_t>(height), background) {}

void Canvas::fill(const Rectangle& box, Colour colour) {
  const int left = std::clamp(box.left, 0, width_);
  const int right = std::clamp(box.right(), left, width_);
  for (int y = std::max(box.top, 0); y < std::min(box.bottom(), height_); ++y) {
    const auto row = pixels_.begin() + static_cast<std::ptrdiff_t>(y) * width_;
    std::fill(row + left, row + right, colour);
  }
}

void Canvas::write(int left, int top, std::string_view text, Colour colour) {
  for (const char character : text) {
    const Glyph& glyph = glyph_of(character);
    for (int row = 0; row < glyph_rows; ++row)
      for (int column = 0; column < glyph_columns; ++column)
        if (glyph[static_cast<std::size_t>(row)] >> (glyph_columns - 1 - column) & 1)
          fill({left + column * magnification, top + row * magnification, magnification,
                magnification},
               colour);
    left += text_advance;
  }
}

}  // namespace halocline

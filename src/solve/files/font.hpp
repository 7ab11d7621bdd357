// SPDX-License-Identifier: Apache-2.0
#pragma once
// A bitmap font for labels in pictures: printable ASCII, drawn for this project.

#include <array>
#include <cstdint>

namespace halocline {

inline constexpr int glyph_columns = 5;
inline constexpr int glyph_rows = 9;       ///< the last two are below the base line
inline constexpr int glyph_base_rows = 7;  ///< height of a capital

/// One row of pixels each, from the top; bit 4 is the leftmost pixel.
using Glyph = std::array<std::uint8_t, glyph_rows>;

/// Returns the glyph of a character; a question mark for characters that are not printable ASCII.
const Glyph& glyph_of(char character);

}  // namespace halocline

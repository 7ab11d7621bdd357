// SPDX-License-Identifier: Apache-2.0
#pragma once
// Draws a plane or a row of values as a PNG.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "files/colour_map.hpp"

namespace halocline {

struct Picture {
  std::int64_t width = 0;          ///< values along x
  std::int64_t height = 0;         ///< values along y
  std::span<const double> values;  ///< width * height of them, x running fastest; not owned
  /// The height of the domain over its width; nothing: values of one axis, drawn as a band.
  std::optional<double> aspect = 1.0;
  std::optional<ColourScale> scale = {};  ///< nothing: there is no finite value
  std::string title = {};                 ///< what is not ASCII becomes '?'
};

/// Draws nothing but the values, with y upwards (the first row is the lowest), and returns the
/// bytes of a PNG file: a palette of the map's 255 colours and one for what is not finite.
///
/// The picture has the domain's aspect, within 1 %, and about 512 to 1024 pixels along the longer
/// side. Values are rectangles of a whole number of pixels where there are some of that aspect;
/// where not, each pixel has the colour of its nearest value. Of a very thin domain the shorter
/// side has 32 pixels, a band 64. The size depends on the numbers of values and the aspect alone.
///
/// The chunk "Title" has the title, "Description" the map, the values at its ends and how many are
/// not finite. Throws usage if the sizes do not match the number of values.
std::vector<std::byte> encode_png(const Picture& picture);

}  // namespace halocline

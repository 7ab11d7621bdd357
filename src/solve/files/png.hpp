// SPDX-License-Identifier: Apache-2.0
#pragma once
// A plane of values as a picture for people.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "files/colour_map.hpp"

namespace halocline {

struct Picture {
  std::int64_t width = 0;                ///< values along x
  std::int64_t height = 0;               ///< values along y
  std::span<const double> values;        ///< width * height of them, x running fastest; not owned
  std::string title;                     ///< ASCII; cut if very long
  std::optional<ValueRange> range = {};  ///< of the colours; by default that of the finite values
  std::int64_t cells_x = 0;              ///< that the values stand for; 0: one each
  std::int64_t cells_y = 0;
};

/// Draws the values with y upwards (the first row is the lowest), extents along both axes and a
/// colour bar. Few cells become crisp squares; more than about a thousand along an axis are
/// averaged; one value that is not finite shows as its whole pixel, and they are counted. A plane
/// that would be thinner than a finger is stretched, and its subtitle says so. Returns the bytes of
/// a PNG file. Time: one pass over the values. Throws usage if the sizes do not fit the values.
std::vector<std::byte> encode_png(const Picture& picture);

/// Writes encode_png's bytes through a TemporaryFile.
void write_png(const std::string& path, const Picture& picture);

}  // namespace halocline

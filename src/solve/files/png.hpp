// SPDX-License-Identifier: Apache-2.0
#pragma once
// Draws a plane or a row of values as a PNG.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/files/temporary_file.hpp"
#include "files/colour_map.hpp"

namespace halocline {

/// Room to keep at least, in characters, so that pictures with other labels and titles have the
/// same size.
struct PictureRoom {
  int labels = 0;
  int title = 0;
};

struct Picture {
  std::int64_t width = 0;                ///< values along x
  std::int64_t height = 0;               ///< values along y
  std::span<const double> values;        ///< width * height of them, x running fastest; not owned
  std::string title;                     ///< ASCII; cut if very long
  std::optional<ValueRange> range = {};  ///< of the colours; by default that of the finite values
  std::int64_t cells_x = 0;              ///< that the values represent; 0: one cell per value
  std::int64_t cells_y = 0;
  PictureRoom room = {};
};

/// Draws the values with y upwards (the first row is the lowest), extents along both axes and a
/// colour bar, and returns the bytes of a PNG file. Draws a few cells as squares, and averages more
/// than about a thousand along an axis. A value that is not finite colours its whole pixel; the
/// subtitle counts them. Stretches a thin plane and states that in the subtitle. Takes one pass
/// over the values. Throws usage if the sizes do not match the number of values.
std::vector<std::byte> encode_png(const Picture& picture);

struct Curve {
  std::span<const double> values;        ///< along x; not owned
  std::string title;                     ///< ASCII; cut if very long
  std::optional<ValueRange> range = {};  ///< of the heights; by default that of the finite values
  std::int64_t cells = 0;                ///< that the values represent; 0: one cell per value
  PictureRoom room = {};
};

/// Draws the values over x as a curve, each in the middle of its share of the axis, and returns the
/// bytes of a PNG file. A value that is not finite leaves a gap and colours its share; the subtitle
/// counts them. Throws usage without values.
std::vector<std::byte> encode_png(const Curve& curve);

/// Writes encode_png's bytes through a TemporaryFile.
void write_png(const std::string& path, const Picture& picture,
               Otherwise otherwise = Otherwise::fail);
void write_png(const std::string& path, const Curve& curve, Otherwise otherwise = Otherwise::fail);

}  // namespace halocline

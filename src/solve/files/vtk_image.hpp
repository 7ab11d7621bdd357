// SPDX-License-Identifier: Apache-2.0
#pragma once
// Layouts of files that ParaView and VTK open as images: fields as values of cells. A layout has
// the bytes that one rank writes, and the places where all ranks write the arrays.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <halocline/grid.hpp>

#include "files/parallel/collective_file.hpp"

namespace halocline::files {

/// Fields on the cells of a box.
struct Image {
  Extents cells;
  std::array<double, 3> lower{}, spacing{1, 1, 1};  ///< of the domain and between cells
  std::int64_t element_bytes = 8;
  std::vector<std::string> fields;
};

/// A dataset in addition to the image: `count` numbers of 8 bytes, or bytes.
struct ExtraData {
  std::string name;
  std::int64_t count;
  enum class Kind { doubles, integers, bytes } kind;
};

/// Places are offsets in the file, in bytes.
struct ImageLayout {
  /// All that is no array. Written first: places of arrays may be in it.
  std::vector<FilePiece> frame;
  std::vector<std::int64_t> fields;  ///< of the first cell of each
  std::vector<std::int64_t> extra;   ///< of the data besides
};

/// Lays out a .vti file.
ImageLayout vti_layout(const Image& image);

/// Lays out a VTKHDF file (ImageData) with one time, after `user_bytes` (hdf5::Structure), with
/// data besides in a group "halocline". Throws unavailable without HDF5, resource.
ImageLayout vtkhdf_layout(const Image& image, std::int64_t user_bytes = 0,
                          const std::vector<ExtraData>& extra = {});

/// The same with up to `most` times, of which the file has none yet, and nothing besides.
struct LayoutWithTimes {
  ImageLayout first;        ///< the first time's; `most` follow each other in each field
  std::int64_t values = 0;  ///< place of the times, one after the other
  std::int64_t count = 0;   ///< place of their number
  std::array<std::int64_t, 2> lengths{};  ///< places of the length of the array of times, twice
};
LayoutWithTimes vtkhdf_layout_with_times(const Image& image, std::int64_t most,
                                         std::int64_t user_bytes);

/// Returns the text of a .pvd file: names of files, relative to its folder, and their times.
std::string pvd_text(const std::vector<std::pair<std::string, double>>& files);

}  // namespace halocline::files

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Layouts of files that ParaView and VTK open as images: fields as values of cells. A file's
// structure is written by one rank; it says where all ranks write the arrays.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <halocline/grid.hpp>

namespace halocline::files {

/// Fields on the cells of a box.
struct Image {
  Extents cells;
  std::array<double, 3> lower{}, spacing{1, 1, 1};  ///< of the domain and between cells
  std::int64_t element_bytes = 8;
  std::vector<std::string> fields;
};

/// A dataset beside the image: `count` numbers of 8 bytes, or bytes.
struct ExtraData {
  std::string name;
  std::int64_t count;
  enum class Kind { doubles, integers, bytes } kind;
};

/// Offsets in a file, in bytes.
struct ImagePlaces {
  std::vector<std::int64_t> fields;  ///< of the first cell of each
  std::vector<std::int64_t> extra;   ///< of the data besides
  std::int64_t end = 0;              ///< of what must be there when the file is complete
};

/// Writes the structure of a VTKHDF file (ImageData) with one time into the file `path`, after
/// `user_bytes` (hdf5::File), with data besides in a group "halocline". Not collective. Throws
/// unavailable without HDF5, resource.
ImagePlaces make_vtkhdf(const std::string& path, const Image& image, std::int64_t user_bytes = 0,
                        const std::vector<ExtraData>& extra = {});

/// The same with up to `most` times, of which the file has none yet.
struct TimesInFile {
  ImagePlaces first;  ///< those of the first time; `most` follow each other in each field
  std::int64_t most = 0;
  std::int64_t values = 0;              ///< offset of the times, one after the other
  std::int64_t count = 0;               ///< offset of their number
  std::array<std::int64_t, 2> lengths;  ///< offsets of the length of the array of times, twice
};
TimesInFile make_vtkhdf_with_times(const std::string& path, const Image& image, std::int64_t most);

/// Returns the head of a .vti file and where its arrays lie after it, each after 8 bytes with its
/// length; after the last come vti_tail bytes.
struct VtiLayout {
  std::string head;
  ImagePlaces places;
};
VtiLayout vti_layout(const Image& image);
extern const std::string vti_tail;

/// Returns the text of a .pvd file: names of files, relative to its folder, and their times.
std::string pvd_text(const std::vector<std::pair<std::string, double>>& files);

}  // namespace halocline::files

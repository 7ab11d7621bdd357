// SPDX-License-Identifier: Apache-2.0
#include "files/vtk_image.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <optional>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>

#include "base/descriptor.hpp"
#include "files/hdf5.hpp"

namespace halocline::files {
namespace {

using hdf5::Type;

Type type_of(const Image& image) { return image.element_bytes == 4 ? Type::f32 : Type::f64; }

std::array<std::int64_t, 6> extent_of(const Image& image) {
  std::array<std::int64_t, 6> extent{};
  for (int axis = 0; axis < image.cells.axes(); ++axis)
    extent[static_cast<std::size_t>(2 * axis + 1)] = image.cells[axis];
  return extent;
}

/// The axes that the grid has, x last: VTK leaves those out along which an image is flat.
std::vector<std::int64_t> shape_of(const Image& image) {
  std::vector<std::int64_t> shape;
  for (int axis = image.cells.axes() - 1; axis >= 0; --axis) shape.push_back(image.cells[axis]);
  return shape;
}

std::int64_t bytes_of(const Image& image) {
  const Int3 cells = image.cells.values();
  return cells.x * cells.y * cells.z * image.element_bytes;
}

// As VTK numbers the format: https://docs.vtk.org/en/latest/vtk_file_formats/vtkhdf_file_format.
hdf5::Group make_image_group(const hdf5::File& file, const Image& image) {
  constexpr std::array<std::int64_t, 2> version{2, 2};
  constexpr std::array<double, 9> along_axes{1, 0, 0, 0, 1, 0, 0, 0, 1};
  const hdf5::Group group = file.root().make_group("VTKHDF");
  group.add_numbers("Version", version);
  group.add_text("Type", "ImageData");
  group.add_numbers("WholeExtent", extent_of(image));
  group.add_numbers("Origin", image.lower);
  group.add_numbers("Spacing", image.spacing);
  group.add_numbers("Direction", along_axes);
  return group;
}

std::int64_t add(const hdf5::Group& group, const ExtraData& data) {
  const std::array shape{data.count};
  const Type type = data.kind == ExtraData::Kind::doubles    ? Type::f64
                    : data.kind == ExtraData::Kind::integers ? Type::i64
                                                             : Type::bytes;
  return group.add_dataset(data.name, type, shape);
}

std::int64_t length_of_file(const Descriptor& file, const std::string& path) {
  const off_t length = ::lseek(file.get(), 0, SEEK_END);
  if (length < 0)
    throw Error(ErrorKind::resource,
                fmt::format("cannot read '{}': {}", path, std::generic_category().message(errno)));
  return length;
}

/// The structure of a file, as HDF5 has written it.
class Structure {
 public:
  Structure(const std::string& path, std::int64_t bytes) : path_(path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    bytes_.resize(static_cast<std::size_t>(std::min(bytes, length_of_file(file, path))));
    if (::pread(file.get(), bytes_.data(), bytes_.size(), 0) != static_cast<ssize_t>(bytes_.size()))
      throw Error(ErrorKind::resource, fmt::format("cannot read '{}'", path));
  }
  /// Returns where this number stands, of which there must be so many.
  std::vector<std::int64_t> places_of(std::int64_t number, std::size_t count) const {
    std::array<char, sizeof number> pattern{};
    std::memcpy(pattern.data(), &number, sizeof number);
    std::vector<std::int64_t> found;
    for (auto at = bytes_.begin();; ++at) {
      at = std::search(at, bytes_.end(), pattern.begin(), pattern.end());
      if (at == bytes_.end()) break;
      found.push_back(at - bytes_.begin());
    }
    if (found.size() != count)
      throw Error(ErrorKind::internal, fmt::format("'{}' has the number {} in {} places, not {}",
                                                   path_, number, found.size(), count));
    return found;
  }

 private:
  const std::string& path_;
  std::vector<char> bytes_;
};

template <class Numbers>
std::string words(const Numbers& numbers) {
  return fmt::format("{}", fmt::join(numbers, " "));
}

}  // namespace

static_assert(std::endian::native == std::endian::little, "the files' numbers are little-endian");

ImagePlaces make_vtkhdf(const std::string& path, const Image& image, std::int64_t user_bytes,
                        const std::vector<ExtraData>& extra) {
  hdf5::File file(path, user_bytes);
  ImagePlaces places;
  {
    const hdf5::Group group = make_image_group(file, image);
    const hdf5::Group fields = group.make_group("CellData");
    if (!extra.empty()) {
      const hdf5::Group beside = file.root().make_group("halocline");
      for (const ExtraData& data : extra) places.extra.push_back(add(beside, data));
    }
    for (const std::string& name : image.fields) {
      places.fields.push_back(fields.add_dataset(name, type_of(image), shape_of(image)));
      places.end = places.fields.back() + bytes_of(image);
    }
  }
  file.close();
  return places;
}

// Readers take the array of times whole, and VTK 9.7 writes past its own if there are more than it
// counts: so its length grows with their number. HDF5 would write the structure anew for each time,
// and an end in between would take the file with it. The numbers are found by values that occur
// nowhere else.
TimesInFile make_vtkhdf_with_times(const std::string& path, const Image& image, std::int64_t most) {
  constexpr std::int64_t mark = 0x4c4f434f4c41485f;
  const std::int64_t room = most + 12347;
  hdf5::File file(path, 0);
  TimesInFile times{.first = {}, .most = most, .lengths = {}};
  {
    const hdf5::Group group = make_image_group(file, image);
    const hdf5::Group steps = group.make_group("Steps");
    steps.add_number("NSteps", mark);
    times.values = steps.add_dataset("Values", Type::f64, std::array{room});
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(most));
    std::iota(numbers.begin(), numbers.end(), 0);
    const hdf5::Group offsets = steps.make_group("CellDataOffsets");
    for (const std::string& name : image.fields) offsets.add_dataset(name, numbers);
    const hdf5::Group fields = group.make_group("CellData");
    std::vector<std::int64_t> shape = shape_of(image);
    shape.insert(shape.begin(), most);
    for (const std::string& name : image.fields) {
      times.first.fields.push_back(fields.add_dataset(name, type_of(image), shape));
      times.first.end = times.first.fields.back() + most * bytes_of(image);
    }
  }
  file.close();
  const Structure structure(path, times.first.fields.front());
  times.count = structure.places_of(mark, 1)[0];
  const std::vector<std::int64_t> lengths = structure.places_of(room, 2);
  times.lengths = {lengths[0], lengths[1]};
  return times;
}

VtiLayout vti_layout(const Image& image) {
  const char* const type = image.element_bytes == 4 ? "Float32" : "Float64";
  const std::string extent = words(extent_of(image));
  std::string arrays;
  std::int64_t offset = 0;
  for (const std::string& name : image.fields) {
    arrays +=
        fmt::format(R"(        <DataArray type="{}" Name="{}" format="appended" offset="{}"/>)"
                    "\n",
                    type, name, offset);
    offset += static_cast<std::int64_t>(sizeof(std::uint64_t)) + bytes_of(image);
  }
  VtiLayout layout;
  layout.head = fmt::format(
      R"(<?xml version="1.0"?>
<VTKFile type="ImageData" version="1.0" byte_order="LittleEndian" header_type="UInt64">
  <ImageData WholeExtent="{0}" Origin="{1}" Spacing="{2}">
    <Piece Extent="{0}">
      <CellData Scalars="{3}">
{4}      </CellData>
    </Piece>
  </ImageData>
  <AppendedData encoding="raw">
_)",
      extent, words(image.lower), words(image.spacing), image.fields.front(), arrays);
  auto at = static_cast<std::int64_t>(layout.head.size());
  for (std::size_t f = 0; f < image.fields.size(); ++f) {
    layout.places.fields.push_back(at + static_cast<std::int64_t>(sizeof(std::uint64_t)));
    at = layout.places.fields.back() + bytes_of(image);
  }
  layout.places.end = at;
  return layout;
}

const std::string vti_tail = "\n  </AppendedData>\n</VTKFile>\n";

std::string pvd_text(const std::vector<std::pair<std::string, double>>& files) {
  std::string text =
      "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"1.0\">\n  <Collection>\n";
  for (const auto& [name, time] : files)
    text += fmt::format("    <DataSet timestep=\"{}\" file=\"{}\"/>\n", time, name);
  return text + "  </Collection>\n</VTKFile>\n";
}

}  // namespace halocline::files

// SPDX-License-Identifier: Apache-2.0
#include "files/vtk_image.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>

#include "files/bytes_of.hpp"
#include "files/hdf5.hpp"

namespace halocline::files {
namespace {

using hdf5::Type;

Type type_of(const Image& image) { return image.element_bytes == 4 ? Type::f32 : Type::f64; }

std::array<std::int64_t, 6> extent_of(const Image& image) {
  std::array<std::int64_t, 6> extent{};
  for (int axis = 0; axis < image.cells.axes(); ++axis)
    extent[2 * static_cast<std::size_t>(axis) + 1] = image.cells[axis];
  return extent;
}

/// The axes that the grid has, x last: VTK leaves those out along which an image is flat.
std::vector<std::int64_t> shape_of(const Image& image) {
  std::vector<std::int64_t> shape;
  for (int axis = image.cells.axes() - 1; axis >= 0; --axis) shape.push_back(image.cells[axis]);
  return shape;
}

std::int64_t bytes_of_field(const Image& image) {
  const Int3 cells = image.cells.values();
  return cells.x * cells.y * cells.z * image.element_bytes;
}

// As VTK numbers the format: https://docs.vtk.org/en/latest/vtk_file_formats/vtkhdf_file_format.
hdf5::Group make_image_group(const hdf5::Structure& file, const Image& image) {
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

/// Returns the places of a number in a file; `count` of them must exist.
std::vector<std::int64_t> places_of(std::int64_t number, const std::vector<FilePiece>& file,
                                    std::size_t count) {
  const std::string pattern = bytes_of(number);
  std::vector<std::int64_t> found;
  for (const auto& [begin, bytes] : file)
    for (auto at = bytes.find(pattern); at != bytes.npos; at = bytes.find(pattern, at + 1))
      found.push_back(begin + static_cast<std::int64_t>(at));
  if (found.size() != count)
    throw Error(ErrorKind::internal,
                fmt::format("HDF5's structure has the number {} in {} places, not {}", number,
                            found.size(), count));
  return found;
}

template <class Numbers>
std::string words(const Numbers& numbers) {
  return fmt::format("{}", fmt::join(numbers, " "));
}

/// Escapes a text for an attribute of XML.
std::string in_attribute(std::string_view text) {
  std::string escaped;
  for (const char c : text)
    if (static_cast<unsigned char>(c) < 0x20 ||
        std::string_view("<>&\"").find(c) != std::string_view::npos)
      escaped += fmt::format("&#{};", static_cast<int>(c));
    else
      escaped += c;
  return escaped;
}

}  // namespace

static_assert(std::endian::native == std::endian::little, "the files' numbers are little-endian");

ImageLayout vtkhdf_layout(const Image& image, std::int64_t user_bytes,
                          const std::vector<ExtraData>& extra) {
  hdf5::Structure file(user_bytes);
  ImageLayout layout;
  {
    const hdf5::Group group = make_image_group(file, image);
    const hdf5::Group fields = group.make_group("CellData");
    if (!extra.empty()) {
      const hdf5::Group beside = file.root().make_group("halocline");
      for (const ExtraData& data : extra) layout.extra.push_back(add(beside, data));
    }
    for (const std::string& name : image.fields)
      layout.fields.push_back(fields.add_dataset(name, type_of(image), shape_of(image)));
  }
  layout.frame = file.pieces();
  return layout;
}

// Readers take the array of times whole, and VTK 9.7 writes past its own if there are more than it
// counts: so its length grows with their number. HDF5 would write the structure anew for each time,
// and an end in between would take the file with it. The numbers are found by values that occur
// nowhere else.
LayoutWithTimes vtkhdf_layout_with_times(const Image& image, std::int64_t most,
                                         std::int64_t user_bytes) {
  constexpr std::int64_t mark = 0x4c4f434f4c41485f;
  const std::int64_t room = most + 12347;
  hdf5::Structure file(user_bytes);
  LayoutWithTimes layout;
  {
    const hdf5::Group group = make_image_group(file, image);
    const hdf5::Group steps = group.make_group("Steps");
    steps.add_number("NSteps", mark);
    layout.values = steps.add_dataset("Values", Type::f64, std::array{room});
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(most));
    std::iota(numbers.begin(), numbers.end(), 0);
    const hdf5::Group offsets = steps.make_group("CellDataOffsets");
    for (const std::string& name : image.fields) offsets.add_dataset(name, numbers);
    const hdf5::Group fields = group.make_group("CellData");
    std::vector<std::int64_t> shape = shape_of(image);
    shape.insert(shape.begin(), most);
    for (const std::string& name : image.fields)
      layout.first.fields.push_back(fields.add_dataset(name, type_of(image), shape));
  }
  layout.first.frame = file.pieces();
  layout.count = places_of(mark, layout.first.frame, 1)[0];
  const std::vector<std::int64_t> lengths = places_of(room, layout.first.frame, 2);
  layout.lengths = {lengths[0], lengths[1]};
  return layout;
}

ImageLayout vti_layout(const Image& image) {
  // The length of an array, in bytes, precedes it.
  constexpr std::int64_t before = sizeof(std::uint64_t);
  const char* const type = image.element_bytes == 4 ? "Float32" : "Float64";
  const std::string extent = words(extent_of(image));
  const std::int64_t bytes = bytes_of_field(image);
  std::string arrays;
  std::int64_t offset = 0;
  for (const std::string& name : image.fields) {
    arrays +=
        fmt::format(R"(        <DataArray type="{}" Name="{}" format="appended" offset="{}"/>)"
                    "\n",
                    type, name, offset);
    offset += before + bytes;
  }
  std::string head = fmt::format(
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
  std::int64_t at = std::ssize(head);
  ImageLayout layout{.frame = {{0, std::move(head)}}, .fields = {}, .extra = {}};
  for (std::size_t f = 0; f < image.fields.size(); ++f) {
    layout.frame.push_back({at, bytes_of(bytes)});
    layout.fields.push_back(at + before);
    at += before + bytes;
  }
  layout.frame.push_back({at, "\n  </AppendedData>\n</VTKFile>\n"});
  return layout;
}

std::string pvd_text(const std::vector<std::pair<std::string, double>>& files) {
  std::string text =
      "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"1.0\">\n  <Collection>\n";
  for (const auto& [name, time] : files)
    text += fmt::format("    <DataSet timestep=\"{}\" file=\"{}\"/>\n", time, in_attribute(name));
  return text + "  </Collection>\n</VTKFile>\n";
}

}  // namespace halocline::files

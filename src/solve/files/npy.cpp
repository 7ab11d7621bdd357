// SPDX-License-Identifier: Apache-2.0
#include "files/npy.hpp"

#include <fstream>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/temporary_file.hpp"
#include "base/words.hpp"
#include "comm/collective_file.hpp"
#include "comm/collectives.hpp"
#include "files/npy_header.hpp"
#include "files/scalar_field.hpp"
#include "grid/text.hpp"

namespace halocline::files {
namespace {

std::vector<std::int64_t> shape_of(const Grid& grid) {
  std::vector<std::int64_t> shape;
  for (int axis = grid.axes() - 1; axis >= 0; --axis) shape.push_back(grid.cells()[axis]);
  return shape;
}

std::string descr_of(const FieldStorage& field) {
  return fmt::format("<f{}", field.shape().element_bytes);
}

/// Returns what requires the shape, for an error: "the grid of 128x32 cells".
std::string asked_by(const Grid& grid) {
  return fmt::format("the grid of {} cells", grid::text_of(grid.cells()));
}

comm::ArrayInFile array_of(const Grid& grid, const FieldStorage& field, std::size_t offset) {
  return {.offset_bytes = static_cast<std::int64_t>(offset),
          .cells = grid.cells().values(),
          .element_bytes = field.shape().element_bytes};
}

comm::PartInMemory part_of(const FieldStorage& field) {
  const Strides& strides = field.strides();
  const std::int64_t element = field.shape().element_bytes;
  return {.box = field.shape().owned,
          .first = field.first_owned(),
          .stride_bytes = {strides.x * element, strides.y * element, strides.z * element}};
}

}  // namespace

void write_npy(const Communicator& communicator, const Grid& grid, const FieldStorage& field,
               const std::string& path) {
  comm::together(communicator, [&] { require_scalar(grid, field); });
  std::optional<TemporaryFile> temporary;  // on rank 0
  comm::on_first_rank(communicator, [&] { temporary.emplace(path); });

  comm::CollectiveFile file(communicator, {.path = temporary ? temporary->path() : "",
                                           .access = comm::FileToOpen::Access::write,
                                           .name_in_errors = path});
  const std::string header = format_npy_header({.shape = shape_of(grid), .descr = descr_of(field)});
  file.write_start(header);
  file.write(array_of(grid, field, header.size()), part_of(field));
  file.close();
  comm::on_first_rank(communicator, [&] { temporary->commit(); });
}

void read_npy(const Communicator& communicator, const Grid& grid, const FieldStorage& field,
              const std::string& path) {
  comm::together(communicator, [&] { require_scalar(grid, field); });
  comm::CollectiveFile file(communicator, {.path = path, .name_in_errors = path});
  // Every rank reads the same bytes and finds the same error.
  const std::string start = file.read_start(npy_start_bytes);
  const NpyHeader header = parse_npy_header(std::as_bytes(std::span(start)), path);
  require(header, {.shape = shape_of(grid), .descr = descr_of(field), .asked_by = asked_by(grid)},
          file.bytes(), path);
  file.read(array_of(grid, field, header.data_offset), part_of(field));
  file.close();
}

Extents cells_in_npy(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string start(npy_start_bytes, '\0');
  if (!file.read(start.data(), static_cast<std::streamsize>(start.size())) && file.gcount() == 0)
    throw Error(ErrorKind::usage, fmt::format("cannot read '{}': no such file, or it is "
                                              "empty",
                                              path));
  start.resize(static_cast<std::size_t>(file.gcount()));
  const NpyHeader header = parse_npy_header(std::as_bytes(std::span(start)), path);
  const std::size_t axes = header.shape.size();
  if (axes < 1 || axes > 3)
    throw Error(ErrorKind::usage,
                fmt::format("'{}' has {}; a grid has 1, 2 or 3", path, counted(axes, "axis")));
  Int3 cells{1, 1, 1};
  for (std::size_t axis = 0; axis < axes; ++axis)
    cells[static_cast<int>(axis)] = header.shape[axes - 1 - axis];
  return Extents(cells, static_cast<int>(axes));
}

}  // namespace halocline::files

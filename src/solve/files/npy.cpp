// SPDX-License-Identifier: Apache-2.0
#include "files/npy.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <span>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/files/descriptor.hpp"
#include "base/text/words.hpp"
#include "comm/collectives.hpp"
#include "files/field_array.hpp"
#include "files/npy_header.hpp"
#include "files/parallel/collective_file.hpp"
#include "grid/text.hpp"
#include "text/refuse.hpp"

namespace halocline::files {
namespace {

std::vector<std::int64_t> shape_of(const Extents& cells) {
  std::vector<std::int64_t> shape;
  for (int axis = cells.axes() - 1; axis >= 0; --axis) shape.push_back(cells[axis]);
  return shape;
}

std::string descr_of(std::int64_t element_bytes) { return fmt::format("<f{}", element_bytes); }

NpyNeeds needs_of(const Extents& cells, std::int64_t element_bytes) {
  return {.shape = shape_of(cells),
          .descr = descr_of(element_bytes),
          .asked_by = fmt::format("the grid of {}", grid::cells_text(cells))};
}

[[noreturn]] void cannot_read(const std::string& path, const std::string& reason) {
  refuse("cannot read '{}': {}", path, reason);
}

struct HeaderInFile {
  NpyHeader header;
  std::int64_t file_bytes;
};

/// Throws usage unless it is a .npy file.
HeaderInFile read_header(const std::string& path) {
  // Without O_NONBLOCK, opening a pipe would block until another process writes to it.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const int error = errno;
  if (!file.is_open())
    cannot_read(path, error == ENOENT  ? "there is no such file"
                      : error == ENXIO ? "it is a socket; give the name of a file"
                                       : std::generic_category().message(error));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) cannot_read(path, std::generic_category().message(errno));
  if (S_ISDIR(status.st_mode)) cannot_read(path, "it is a folder; give the name of a file");
  if (!S_ISREG(status.st_mode))
    cannot_read(path, "it is a pipe or a device; give the name of a file");
  if (status.st_size == 0) cannot_read(path, "it is empty, and so not a .npy file");
  std::array<std::byte, npy_start_bytes> start;
  std::size_t bytes = 0;
  while (bytes < start.size()) {
    const ssize_t got = ::read(file.get(), start.data() + bytes, start.size() - bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) cannot_read(path, std::generic_category().message(errno));
    if (got == 0) break;
    bytes += static_cast<std::size_t>(got);
  }
  return {parse_npy_header(std::span(start).first(bytes), path), status.st_size};
}

}  // namespace

void write_npy(const Communicator& communicator, const Grid& grid, const FieldStorage& field,
               const std::string& path, Otherwise otherwise) {
  const FieldArray array(communicator, grid, field);
  std::optional<TemporaryFile> temporary;  // on rank 0
  comm::on_first_rank(communicator, [&] { temporary.emplace(path, otherwise); });

  CollectiveFile file(communicator, {.path = temporary ? temporary->path() : "",
                                     .access = FileToOpen::Access::write,
                                     .name_in_errors = path});
  const std::string header = format_npy_header(
      {.shape = shape_of(grid.cells()), .descr = descr_of(field.shape().element_bytes)});
  file.write_on_first({{0, header}});
  array.write(file, static_cast<std::int64_t>(header.size()));
  file.close();
  comm::on_first_rank(communicator, [&] { temporary->commit(); });
}

void read_npy(const Communicator& communicator, const Grid& grid, const FieldStorage& field,
              const std::string& path) {
  const FieldArray array(communicator, grid, field);
  CollectiveFile file(communicator, {.path = path, .name_in_errors = path});
  // Every rank reads the same bytes and finds the same error.
  const std::string start = file.read_start(npy_start_bytes);
  const NpyHeader header = parse_npy_header(std::as_bytes(std::span(start)), path);
  require(header, needs_of(grid.cells(), field.shape().element_bytes), file.bytes(), path);
  array.read(file, static_cast<std::int64_t>(header.data_offset));
  file.close();
}

Extents cells_in_npy(const std::string& path) {
  const auto [header, file_bytes] = read_header(path);
  require_complete(header, file_bytes, path);
  const std::size_t axes = header.shape.size();
  if (axes < 1 || axes > 3)
    refuse("'{}' has {}; a grid has 1, 2 or 3", path, counted(axes, "axis"));
  Int3 cells{1, 1, 1};
  for (std::size_t axis = 0; axis < axes; ++axis)
    cells[static_cast<int>(axis)] = header.shape[axes - 1 - axis];
  return Extents(cells, static_cast<int>(axes));
}

void check_npy(const std::string& path, const Extents& cells, std::int64_t element_bytes) {
  const HeaderInFile found = read_header(path);
  require(found.header, needs_of(cells, element_bytes), found.file_bytes, path);
}

void require_seekable(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode))
    refuse(
        "cannot write '{}': it is a pipe, and an array is not written from its "
        "start to its end; give the name of a file",
        path);
}

}  // namespace halocline::files

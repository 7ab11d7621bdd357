// SPDX-License-Identifier: Apache-2.0
#include "files/field_array.hpp"

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "comm/collectives.hpp"
#include "device/queue.hpp"
#include "program/copy_cells.hpp"

namespace halocline::files {
namespace {

void copy_rows(const RowsToCopy& rows) {
  const bool are_together = rows.to_stride == rows.bytes && rows.from_stride == rows.bytes;
  if (rows.count == 1 || are_together)
    return device::copy(rows.to, rows.from, rows.count * rows.bytes, Stream::host());
  device::copy_rows(rows.to, rows.from,
                    {.bytes = rows.bytes,
                     .count = rows.count,
                     .to_stride = rows.to_stride,
                     .from_stride = rows.from_stride},
                    Stream::host());
}

}  // namespace

void require_scalar(const Grid& grid, const FieldStorage& field) {
  const FieldShape& shape = field.shape();
  const auto refuse = [&](const std::string& reason) {
    throw Error(ErrorKind::usage, fmt::format("field '{}' {}", field.name(), reason));
  };
  if (shape.owned != grid.owned()) refuse("was made for another grid: it owns other cells");
  if (shape.components != 1)
    refuse(fmt::format("has {} components; files need one", shape.components));
  if (shape.element_bytes != 4 && shape.element_bytes != 8)
    refuse(
        fmt::format("has elements of {} bytes; files need float or double", shape.element_bytes));
}

FieldArray::FieldArray(const Communicator& communicator, const Grid& grid,
                       const FieldStorage& field)
    : communicator_(communicator), grid_(grid), field_(field), rows_(field) {
  comm::together(communicator, [&] {
    require_scalar(grid, field);
    // Managed memory is packed by the GPU, so that its pages stay there.
    const bool is_on_gpu = field.shape().memory == Memory::device;
    if (field.as_strided() && (is_on_gpu ? field.strides().x == 1 : !program::is_for_gpu(field)))
      return;
    rows_ = FieldStorage(grid, field.shape().element_bytes, {.name = field.name(), .halo = 0});
    is_copied_ = true;
    if (program::is_for_gpu(field) && field.layout().order() != rows_.layout().order())
      throw Error(
          ErrorKind::usage,
          fmt::format("field '{}' is in GPU memory in the order '{}'; files need '{}' there, "
                      "x first",
                      field.name(), field.layout().order(), rows_.layout().order()));
  });
}

ArrayInFile FieldArray::in_file(std::int64_t offset_bytes) const {
  return {.offset_bytes = offset_bytes,
          .cells = grid_.cells().values(),
          .element_bytes = field_.shape().element_bytes};
}

PartInMemory FieldArray::in_memory() const {
  const Strides& strides = rows_.strides();
  const std::int64_t element = field_.shape().element_bytes;
  return {.box = rows_.shape().owned,
          .first = rows_.first_owned(),
          .stride_bytes = {strides.x * element, strides.y * element, strides.z * element},
          .copy_rows = rows_.shape().memory == Memory::device ? copy_rows : nullptr};
}

std::uint64_t FieldArray::write(CollectiveFile& file, std::int64_t offset_bytes) const {
  if (is_copied_) comm::together(communicator_, [this] { program::copy_owned(field_, rows_); });
  return file.write(in_file(offset_bytes), in_memory());
}

std::uint64_t FieldArray::read(CollectiveFile& file, std::int64_t offset_bytes) const {
  const std::uint64_t hash = file.read(in_file(offset_bytes), in_memory());
  if (is_copied_) comm::together(communicator_, [this] { program::copy_owned(rows_, field_); });
  return hash;
}

}  // namespace halocline::files

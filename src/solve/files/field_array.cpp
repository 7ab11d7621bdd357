// SPDX-License-Identifier: Apache-2.0
#include "files/field_array.hpp"

#include "comm/collectives.hpp"
#include "field/copy.hpp"
#include "files/scalar_field.hpp"

namespace halocline::files {

FieldArray::FieldArray(const Communicator& communicator, const Grid& grid,
                       const FieldStorage& field)
    : grid_(grid), field_(field), rows_(field) {
  comm::together(communicator, [&] {
    require_scalar(grid, field);
    if (!field.as_strided())
      rows_ = FieldStorage(grid, field.shape().element_bytes, {.name = field.name(), .halo = 0});
  });
}

comm::ArrayInFile FieldArray::in_file(std::int64_t offset_bytes) const {
  return {.offset_bytes = offset_bytes,
          .cells = grid_.cells().values(),
          .element_bytes = field_.shape().element_bytes};
}

comm::PartInMemory FieldArray::in_memory() const {
  const Strides& strides = rows_.strides();
  const std::int64_t element = field_.shape().element_bytes;
  return {.box = rows_.shape().owned,
          .first = rows_.first_owned(),
          .stride_bytes = {strides.x * element, strides.y * element, strides.z * element}};
}

std::uint64_t FieldArray::write(comm::CollectiveFile& file, std::int64_t offset_bytes) const {
  if (!field_.as_strided()) field::copy_on_host(field_, rows_, grid_.owned());
  return file.write(in_file(offset_bytes), in_memory());
}

std::uint64_t FieldArray::read(comm::CollectiveFile& file, std::int64_t offset_bytes) const {
  const std::uint64_t hash = file.read(in_file(offset_bytes), in_memory());
  if (!field_.as_strided()) field::copy_on_host(rows_, field_, grid_.owned());
  return hash;
}

}  // namespace halocline::files

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <halocline/field.hpp>

#include "base/checked.hpp"
#include "device/buffer.hpp"
#include "device/sharing.hpp"
#include "field/brick_layout.hpp"
#include "field/checks.hpp"
#include "field/poison.hpp"
#include "field/strided_layout.hpp"

namespace halocline {
namespace {

constexpr std::int64_t line_bytes = 64;

FieldShape shape_of(const Grid& grid, const FieldOptions& options, std::int64_t element_bytes) {
  FieldShape shape{.owned = grid.owned(),
                   .halo = options.halo.value_or(grid.expected_halo()),
                   .components = options.components,
                   .element_bytes = element_bytes,
                   .memory = options.memory};
  field::check_options(options, grid.axes());
  if (element_bytes < 1)
    throw Error(ErrorKind::usage,
                fmt::format("field '{}' has elements of {} bytes; at least 1 is needed",
                            options.name, element_bytes));
  field::check_brick(options, grid.axes());
  for (int axis = grid.axes(); axis < 3; ++axis)
    shape.halo.lower[axis] = shape.halo.upper[axis] = 0;
  return shape;
}

std::shared_ptr<const Layout> layout_of(const FieldShape& shape, int axes, const Strides& strides,
                                        std::int64_t first_owned_offset) {
  const std::int64_t element = shape.element_bytes;
  return std::make_shared<field::StridedLayout>(
      shape, axes,
      std::array{strides.x * element, strides.y * element, strides.z * element,
                 strides.component * element},
      first_owned_offset);
}

/// Elements from the first cell, halo included, to the first owned one.
std::int64_t lead_in(const FieldShape& shape, const Strides& strides) {
  const Int3& halo = shape.halo.lower;
  return halo.x * strides.x + halo.y * strides.y + halo.z * strides.z;
}

void refuse_null(const std::string& name, const void* memory) {
  if (memory == nullptr)
    throw Error(ErrorKind::usage, fmt::format("field '{}' was given a null pointer", name));
}

}  // namespace

FieldStorage::FieldStorage(const Grid& grid, std::int64_t element_bytes,
                           const FieldOptions& options)
    : name_(options.name), shape_(shape_of(grid, options, element_bytes)) {
  if (options.brick.axes() > 0) {
    const auto layout = std::make_shared<field::BrickLayout>(shape_, options.brick);
    allocated_bytes_ = layout->bytes();
    memory_ = device::allocate_to_share(shape_.memory, allocated_bytes_);
    bytes_ = static_cast<std::byte*>(memory_.get());
    first_owned_ = bytes_ + layout->first_owned();
    layout_ = layout;
    bricks_ = layout_->as_bricks();
    if (field::checks_halos())
      field::poison_field(grid, shape_, *layout_, bytes_, allocated_bytes_);
    return;
  }
  const Strides strides = field::padded_strides(shape_, grid.axes());
  const Int3 held = shape_.held().extent();
  const std::int64_t lead = lead_in(shape_, strides) * element_bytes;
  // Padding before the first cell, so that the first owned one starts a cache line.
  const std::int64_t front = (line_bytes - lead % line_bytes) % line_bytes;
  const std::int64_t outer = grid.axes() > 2 ? held.z : grid.axes() > 1 ? held.y : held.x;
  const std::int64_t outer_stride = grid.axes() > 2   ? strides.z
                                    : grid.axes() > 1 ? strides.y
                                                      : strides.x;
  const std::int64_t cells_bytes = checked_multiply(
      checked_multiply(outer, outer_stride, "bytes of a field"), element_bytes, "bytes of a field");
  // Vector loads may read the rest of the last line.
  allocated_bytes_ = front + cells_bytes + line_bytes;
  memory_ = device::allocate_to_share(shape_.memory, allocated_bytes_);
  bytes_ = static_cast<std::byte*>(memory_.get());
  first_owned_ = bytes_ + front + lead;
  layout_ = layout_of(shape_, grid.axes(), strides, front + lead);
  strides_ = layout_->as_strided();
  if (field::checks_halos()) field::poison_field(grid, shape_, *layout_, bytes_, allocated_bytes_);
}

FieldStorage::FieldStorage(const Grid& grid, const RawCells& cells, const FieldOptions& options)
    : name_(options.name), shape_(shape_of(grid, options, cells.element_bytes)) {
  const Strides& strides = cells.strides;
  refuse_null(name_, cells.first_owned);
  if (options.brick.axes() > 0)
    throw Error(
        ErrorKind::usage,
        fmt::format("field '{}' is in the caller's rows, so it cannot be in bricks", name_));
  field::check_strides(name_, shape_.held().extent(), grid.axes(), shape_.components, strides);
  first_owned_ = static_cast<std::byte*>(cells.first_owned);
  const std::int64_t lead = lead_in(shape_, strides) * cells.element_bytes;
  bytes_ = first_owned_ - lead;
  layout_ = layout_of(shape_, grid.axes(), strides, lead);
  strides_ = layout_->as_strided();
}

FieldStorage::FieldStorage(const Grid& grid, const LaidOut& cells, const FieldOptions& options)
    : name_(options.name),
      shape_(shape_of(grid, options, cells.element_bytes)),
      layout_(cells.layout),
      bytes_(cells.bytes) {
  refuse_null(name_, bytes_);
  const Int3& first = shape_.owned.lower;
  first_owned_ = bytes_ + layout_->runs({first, first + Int3{1, 1, 1}}).front().offset;
  strides_ = layout_->as_strided();
  bricks_ = layout_->as_bricks();
}

void FieldStorage::refuse_strides() const {
  if (bricks_) {
    const Int3 cells = bricks_->cells();
    throw Error(ErrorKind::usage,
                fmt::format("field '{}' has no strides: its cells lie in bricks of {}x{}x{}; use "
                            "FieldStorage::bricks(), or make the field without bricks",
                            name_, cells.x, cells.y, cells.z));
  }
  throw Error(ErrorKind::usage,
              fmt::format("field '{}' has no strides: its cells are in the order '{}'; check "
                          "as_strided() first, or use the runs of its layout",
                          name_, layout_->order()));
}

void FieldStorage::check_bricks(std::int64_t bytes_of_type) const {
  if (!bricks_)
    throw Error(ErrorKind::usage,
                fmt::format("the cells of field '{}' do not lie in bricks; set FieldOptions::brick",
                            name_));
  if (bytes_of_type != shape_.element_bytes)
    throw Error(
        ErrorKind::usage,
        fmt::format("the elements of field '{}' have {} bytes, but a view of elements of {} "
                    "was asked for",
                    name_, shape_.element_bytes, bytes_of_type));
}

}  // namespace halocline

// SPDX-License-Identifier: Apache-2.0
#include "stencil/cpu/gathered.hpp"

#include <algorithm>

#include "base/copy_pieces.hpp"

namespace halocline::stencil::cpu {
namespace {

constexpr std::int64_t line_bytes = 64;

/// Rows of cells in a layer of a brick.
struct BrickRows {
  std::int64_t place;  ///< of the first cell: its distance from the first owned one
  Int3 at;             ///< number of the first cell in the box, by axis
  std::int64_t cells;  ///< of a row
  std::int64_t count;
};

/// Calls `copy` with the part that each layer of each brick has in the box, brick by brick: a
/// processor looks ahead in a brick's memory, not along a row of the box, which is in another page
/// in each.
template <class Copy>
void for_each_layer(const FieldStorage& field, const Box& box, const Copy& copy) {
  const Bricks& bricks = *field.as_bricks();
  const Int3 from = box.lower - field.shape().owned.lower, cells = box.extent();
  const auto in_brick = [&](int axis, std::int64_t at) {
    const std::int64_t length = bricks.cells()[axis];
    return std::min(cells[axis] - at, length - ((from[axis] + at) & (length - 1)));
  };
  Int3 at, part;
  for (at.z = 0; at.z < cells.z; at.z += part.z) {
    part.z = in_brick(2, at.z);
    for (at.y = 0; at.y < cells.y; at.y += part.y) {
      part.y = in_brick(1, at.y);
      for (at.x = 0; at.x < cells.x; at.x += part.x) {
        part.x = in_brick(0, at.x);
        const std::int64_t place = bricks.place(from + at);
        for (std::int64_t layer = 0; layer < part.z; ++layer)
          copy(BrickRows{place + layer * bricks.cell_step.z, at + Int3{0, 0, layer}, part.x,
                         part.y});
      }
    }
  }
}

}  // namespace

Box widened_to_bricks(const FieldStorage& field, Box box) {
  const FieldShape& shape = field.shape();
  const std::int64_t length = field.as_bricks()->cells().x, origin = shape.owned.lower.x;
  if (length * shape.element_bytes > line_bytes) return box;
  box.lower.x = origin + ((box.lower.x - origin) & -length);
  box.upper.x = origin + ((box.upper.x - origin + length - 1) & -length);
  return box;
}

void GatheredCells::hold(const FieldStorage& field, const Box& box) {
  const Int3 cells = box.extent();
  box_ = box;
  element_bytes_ = field.shape().element_bytes;
  step_ = {1, cells.x, cells.x * cells.y};
  // Vector loads may read the rest of the last line.
  const auto bytes = static_cast<std::size_t>(box.cells() * element_bytes_ + line_bytes);
  if (bytes_.size() < bytes) bytes_.resize(bytes);
}

void GatheredCells::gather(const FieldStorage& field) {
  const std::int64_t of_row = field.as_bricks()->cell_step.y * element_bytes_;
  for_each_layer(field, box_, [&](const BrickRows& rows) {
    copy_pieces(bytes_.data() + offset_of(rows.at), step_.y * element_bytes_,
                field.first_owned() + rows.place * element_bytes_, of_row,
                rows.cells * element_bytes_, rows.count);
  });
}

void GatheredCells::scatter(const FieldStorage& field) const {
  const std::int64_t of_row = field.as_bricks()->cell_step.y * element_bytes_;
  for_each_layer(field, box_, [&](const BrickRows& rows) {
    copy_pieces(field.first_owned() + rows.place * element_bytes_, of_row,
                bytes_.data() + offset_of(rows.at), step_.y * element_bytes_,
                rows.cells * element_bytes_, rows.count);
  });
}

/// Of a cell, by its number in the box.
std::int64_t GatheredCells::offset_of(Int3 at) const {
  return (at.x + at.y * step_.y + at.z * step_.z) * element_bytes_;
}

Corner GatheredCells::corner(Int3 cell) {
  return {bytes_.data() + offset_of(cell - box_.lower), step_};
}

}  // namespace halocline::stencil::cpu

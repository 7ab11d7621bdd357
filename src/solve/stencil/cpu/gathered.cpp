// SPDX-License-Identifier: Apache-2.0
#include "stencil/cpu/gathered.hpp"

#include <algorithm>

#include "base/files/copy_pieces.hpp"

namespace halocline::stencil::cpu {
namespace {

constexpr std::int64_t line_bytes = 64;

/// Pieces of a row of a box, each of them in the next brick.
struct RowPieces {
  std::int64_t place;  ///< of the first cell: its distance from the first owned one
  Int3 at;             ///< number of the first cell in the box, by axis
  std::int64_t cells;  ///< of a piece
  std::int64_t count;
};

/// Calls `copy` with the parts of each row of the box in its first brick, in all whole bricks, and
/// in its last.
template <class Copy>
void for_each_piece(const FieldStorage& field, const Box& box, const Copy& copy) {
  const Bricks& bricks = *field.as_bricks();
  const Int3 from = box.lower - field.shape().owned.lower, cells = box.extent();
  const std::int64_t length = bricks.cells().x;
  const std::int64_t before = std::min(cells.x, -from.x & (length - 1));
  const std::int64_t whole = (cells.x - before) / length, after = cells.x - before - whole * length;
  for (std::int64_t z = 0; z < cells.z; ++z)
    for (std::int64_t y = 0; y < cells.y; ++y) {
      const std::int64_t row = bricks.place(1, from.y + y) + bricks.place(2, from.z + z);
      const auto pieces = [&](std::int64_t x, std::int64_t of_piece, std::int64_t count) {
        if (of_piece > 0 && count > 0)
          copy(RowPieces{row + bricks.place(0, from.x + x), {x, y, z}, of_piece, count});
      };
      pieces(0, before, 1);
      pieces(before, length, whole);
      pieces(before + whole * length, after, 1);
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
  const std::int64_t of_brick = field.as_bricks()->brick_step.x * element_bytes_;
  for_each_piece(field, box_, [&](const RowPieces& pieces) {
    const std::int64_t bytes = pieces.cells * element_bytes_;
    copy_pieces(bytes_.data() + offset_of(pieces.at), bytes,
                field.first_owned() + pieces.place * element_bytes_, of_brick, bytes, pieces.count);
  });
}

void GatheredCells::scatter(const FieldStorage& field) const {
  const std::int64_t of_brick = field.as_bricks()->brick_step.x * element_bytes_;
  for_each_piece(field, box_, [&](const RowPieces& pieces) {
    const std::int64_t bytes = pieces.cells * element_bytes_;
    copy_pieces(field.first_owned() + pieces.place * element_bytes_, of_brick,
                bytes_.data() + offset_of(pieces.at), bytes, bytes, pieces.count);
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

// SPDX-License-Identifier: Apache-2.0
#include "stencil/cpu/gathered.hpp"

#include <algorithm>
#include <cstring>

namespace halocline::stencil::cpu {
namespace {

/// Calls `copy` with the place of each piece of rows of the box: its distance from the first owned
/// cell, the number of its first cell in the box by axis, and its cells.
template <class Copy>
void for_each_piece(const FieldStorage& field, const Box& box, const Copy& copy) {
  const Bricks& bricks = *field.as_bricks();
  const Int3 from = box.lower - field.shape().owned.lower, cells = box.extent();
  const std::int64_t length = bricks.cells().x;
  for (std::int64_t z = 0; z < cells.z; ++z)
    for (std::int64_t y = 0; y < cells.y; ++y) {
      const std::int64_t row = bricks.place(1, from.y + y) + bricks.place(2, from.z + z);
      for (std::int64_t x = 0; x < cells.x;) {
        const std::int64_t at = from.x + x;
        const std::int64_t count = std::min(cells.x - x, length - (at & (length - 1)));
        copy(row + bricks.place(0, at), Int3{x, y, z}, count);
        x += count;
      }
    }
}

}  // namespace

void GatheredCells::hold(const FieldStorage& field, const Box& box) {
  constexpr std::int64_t line_bytes = 64;
  const Int3 cells = box.extent();
  box_ = box;
  element_bytes_ = field.shape().element_bytes;
  step_ = {1, cells.x, cells.x * cells.y};
  // Vector loads may read the rest of the last line.
  const auto bytes = static_cast<std::size_t>(box.cells() * element_bytes_ + line_bytes);
  if (bytes_.size() < bytes) bytes_.resize(bytes);
}

void GatheredCells::gather(const FieldStorage& field) {
  for_each_piece(field, box_, [&](std::int64_t place, Int3 at, std::int64_t count) {
    std::memcpy(corner(box_.lower + at).cell, field.first_owned() + place * element_bytes_,
                static_cast<std::size_t>(count * element_bytes_));
  });
}

void GatheredCells::scatter(const FieldStorage& field) const {
  for_each_piece(field, box_, [&](std::int64_t place, Int3 at, std::int64_t count) {
    const std::int64_t from = at.x + at.y * step_.y + at.z * step_.z;
    std::memcpy(field.first_owned() + place * element_bytes_, bytes_.data() + from * element_bytes_,
                static_cast<std::size_t>(count * element_bytes_));
  });
}

Corner GatheredCells::corner(Int3 cell) {
  const Int3 at = cell - box_.lower;
  return {bytes_.data() + (at.x + at.y * step_.y + at.z * step_.z) * element_bytes_, step_};
}

}  // namespace halocline::stencil::cpu

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values of place and time in expressions: coordinates, indices, noise, time.

#include <array>
#include <cstdint>

#include "problem/model.hpp"
#include "program/noise.hpp"

namespace halocline::problem {

/// A cell of the domain or beyond one of its sides. Along periodic axes, the cell that it images.
struct CellPosition {
  const Model& model;
  Int3 at;
  double now = 0;      ///< t
  int face_axis = -1;  ///< whose coordinate is that of a side, `face`, exactly
  double face = 0;
  double face_index = 0;  ///< half a cell before the first cell, or behind the last

  std::int64_t folded(int axis, int offset) const {
    const std::int64_t i = at[axis] + offset, n = model.cells[axis];
    return model.periodic[static_cast<std::size_t>(axis)] ? (i % n + n) % n : i;
  }
  double index(int axis, int offset) const {
    return axis == face_axis ? face_index + offset : static_cast<double>(folded(axis, offset));
  }
  double coordinate(int axis, int offset) const {
    const auto a = static_cast<std::size_t>(axis);
    if (axis == face_axis) return face + offset * model.spacing[a];
    return model.lower[a] + (index(axis, offset) + 0.5) * model.spacing[a];
  }
  /// Goes to the side of the domain at that end of an axis.
  void move_to_face(int axis, int end) {
    const auto a = static_cast<std::size_t>(axis);
    face_axis = axis;
    face = end == 0 ? model.lower[a] : model.upper[a];
    face_index = end == 0 ? -0.5 : static_cast<double>(model.cells[axis]) - 0.5;
  }
  double time() const { return now; }
  double noise(double number) const {
    const Int3 n = model.cells;
    const std::int64_t i = folded(0, 0) + n.x * (folded(1, 0) + n.y * folded(2, 0));
    return program::noise(model.seed + static_cast<std::uint64_t>(number),
                          static_cast<std::uint64_t>(i));
  }
  /// Expressions of start values and boundaries read no fields.
  double access(int, const std::array<std::int8_t, 3>&) const { return 0; }
};

}  // namespace halocline::problem

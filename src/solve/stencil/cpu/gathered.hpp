// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cells of a field in bricks, copied to rows and back: kernels of the cpu backend go along rows.

#include <cstddef>
#include <vector>

#include <halocline/field.hpp>

#include "stencil/cpu/kernel.hpp"

namespace halocline::stencil::cpu {

/// Returns the box with all of each brick along x that it has a part of: rows of whole bricks take
/// one call to copy, and a brick's row, mostly a line of the cache, as long as a cell of it.
Box widened_to_bricks(const FieldStorage& field, Box box);

/// The cells of a box in rows. Its memory stays for the next box.
class GatheredCells {
 public:
  /// Makes room for the cells of a box of that field; their values are those of before.
  void hold(const FieldStorage& field, const Box& box);
  /// Copies the cells of the box from the field, or to it.
  void gather(const FieldStorage& field);
  void scatter(const FieldStorage& field) const;
  /// Returns the place of a cell of the box.
  Corner corner(Int3 cell);

 private:
  std::int64_t offset_of(Int3 at) const;

  std::vector<std::byte> bytes_;
  Box box_;
  Int3 step_;  // in elements
  std::int64_t element_bytes_ = 0;
};

}  // namespace halocline::stencil::cpu

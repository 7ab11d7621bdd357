// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fields in a program's own arrays.

#include <cstdint>

#include <halocline/field.hpp>
#include <halocline/grid.hpp>

namespace halocline {

/// The shape of an array that holds the owned cells of a rank and their halo; it begins with the
/// first halo cell. The default, 0 everywhere, is a contiguous array.
struct ArrayShape {
  Int3 extents{};  ///< cells along each axis; 0: owned cells plus halo
  Int3 strides{};  ///< in elements; 0: x is fastest, then y, then z, without gaps
  std::int64_t component_stride = 0;  ///< in elements; 0: the components of a cell are adjacent
};

/// The position of a field in such an array.
struct ArrayPlace {
  Strides strides;
  std::int64_t first_owned;  ///< elements from the array's first one to the first owned cell
};

/// Returns the strides and the offset that Field needs to wrap the array. Not collective; touches
/// no memory. Throws usage, with both sizes, if the array is too small for the owned cells and the
/// halo, or larger and `options` give no halo; and with strides that fit, if two values of the
/// array would share an element.
ArrayPlace place_in_array(const Grid& grid, const FieldOptions& options, const ArrayShape& array);

}  // namespace halocline

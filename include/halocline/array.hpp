// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a program's own array holds a field.

#include <cstdint>

#include <halocline/field.hpp>
#include <halocline/grid.hpp>

namespace halocline {

/// An array whose first cell is the first cell of the halo. 0: as in an array without gaps.
struct ArrayShape {
  Int3 extents;  ///< cells along each axis; 0: owned cells and halo
  Int3 strides;  ///< in elements; 0: x is fastest, then y, then z, without gaps
  std::int64_t component_stride = 0;  ///< in elements; 0: the components of a cell are neighbours
};

/// Where a field lies in it.
struct ArrayPlace {
  Strides strides;
  std::int64_t first_owned;  ///< elements from the array's first one to the first owned cell
};

/// Finds what Field needs to wrap an array. Throws usage, with sizes, if the array is too small for
/// the owned cells and the halo of `options`.
ArrayPlace place_in_array(const Grid& grid, const FieldOptions& options, const ArrayShape& array);

}  // namespace halocline

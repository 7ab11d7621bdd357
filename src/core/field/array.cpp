// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <halocline/array.hpp>
#include <halocline/error.hpp>

#include "base/checked.hpp"
#include "field/checks.hpp"

namespace halocline {

ArrayPlace place_in_array(const Grid& grid, const FieldOptions& options, const ArrayShape& array) {
  field::check_options(options, grid.axes());
  const Int3 owned = grid.owned().extent();
  const HaloWidths halo = options.halo.value_or(grid.expected_halo());
  std::int64_t dense = array.component_stride == 0 ? options.components : 1;
  Int3 extents{1, 1, 1}, strides;
  std::int64_t first_owned = 0;
  for (int axis = 0; axis < grid.axes(); ++axis) {
    const std::int64_t lower = halo.lower[axis], upper = halo.upper[axis];
    const std::int64_t needed = owned[axis] + lower + upper;
    const std::int64_t extent = array.extents[axis] != 0 ? array.extents[axis] : needed;
    if (extent < needed)
      throw Error(ErrorKind::usage, fmt::format("the array of field '{}' has {} cells along {}, "
                                                "but {} owned cells and halos of {} and {} need {}",
                                                options.name, extent, "xyz"[axis], owned[axis],
                                                lower, upper, needed));
    // Longer rows than such a halo needs may be padded, or have a wider halo: only the program
    // knows.
    if (extent > needed && !options.halo)
      throw Error(
          ErrorKind::usage,
          fmt::format("the array of field '{}' has {} cells along {}, but {} owned cells and "
                      "the grid's expected halo of {} and {} fill {}; give the grid as "
                      "expected_halo, or the field as its halo, the width that the array "
                      "has; where the rest is padding, give the field its halo",
                      options.name, extent, "xyz"[axis], owned[axis], lower, upper, needed));
    extents[axis] = extent;
    strides[axis] = array.strides[axis] != 0 ? array.strides[axis] : dense;
    first_owned += lower * strides[axis];
    dense = checked_multiply(dense, extent, "elements of an array");
  }
  const ArrayPlace place{
      {strides.x, strides.y, strides.z, array.component_stride != 0 ? array.component_stride : 1},
      first_owned};
  field::check_strides(options.name, extents, grid.axes(), options.components, place.strides);
  return place;
}

}  // namespace halocline

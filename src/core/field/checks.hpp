// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks the descriptions that programs give of their fields and arrays.

#include <cstdint>
#include <span>
#include <string>

#include <halocline/field.hpp>

namespace halocline::field {

/// Throws usage for less than one component and for negative halo widths along the first `axes`
/// axes.
void check_options(const FieldOptions& options, int axes);

/// Throws usage unless the options' brick has as many axes as the grid and powers of 2 as lengths,
/// or is empty.
void check_brick(const FieldOptions& options, int axes);

/// An axis of an array, or its components: `count` values, each `stride` elements after the one
/// before.
struct ArrayAxis {
  std::int64_t count, stride;
};

/// Returns whether two different values share an element. Exact, for positive strides in any order:
/// axes may interleave. Takes a few steps where the axes nest, more where they interleave. Throws
/// usage for more than 2^62 elements.
bool values_overlap(std::span<const ArrayAxis> axes);

/// Throws usage for strides that are not positive and, with strides that fit, if two values of an
/// array of `cells` share an element; `name` is the field's. Counts only the first `axes` axes, and
/// no stride of a single component.
void check_strides(const std::string& name, const Int3& cells, int axes, std::int64_t components,
                   const Strides& strides);

}  // namespace halocline::field

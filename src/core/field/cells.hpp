// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the cells of a field with strides are.

#include <halocline/field.hpp>

namespace halocline::field {

/// Strides in elements.
inline Int3 steps_of(const FieldStorage& field) {
  return {field.strides().x, field.strides().y, field.strides().z};
}

/// The address of a held cell, in global coordinates.
inline std::byte* address_of(const FieldStorage& field, Int3 cell) {
  const Int3 from = cell - field.shape().owned.lower;
  const Int3 step = steps_of(field);
  return field.first_owned() +
         (from.x * step.x + from.y * step.y + from.z * step.z) * field.shape().element_bytes;
}

}  // namespace halocline::field

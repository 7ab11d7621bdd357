// SPDX-License-Identifier: Apache-2.0
#pragma once
// Addresses of the cells of a field with strides.

#include <halocline/field.hpp>
#include <halocline/field_view.hpp>

namespace halocline::field {

/// Strides in elements.
inline Int3 steps_of(const FieldStorage& field) {
  return {field.strides().x, field.strides().y, field.strides().z};
}

/// A view of a field of `Real` elements, for loops. Strides are those of the field.
template <class Real>
FieldView<Real> view_of(const FieldStorage& field) {
  return {reinterpret_cast<Real*>(field.first_owned()), field.shape().owned.lower, field.strides()};
}

/// Returns the address of an owned or halo cell, in global coordinates, for elements of any type.
inline std::byte* address_of(const FieldStorage& field, Int3 cell) {
  const Int3 from = cell - field.shape().owned.lower;
  const Strides& step = field.strides();
  return field.first_owned() +
         (from.x * step.x + from.y * step.y + from.z * step.z) * field.shape().element_bytes;
}

}  // namespace halocline::field

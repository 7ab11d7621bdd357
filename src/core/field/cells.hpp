// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the cells of a field with strides are.

#include <halocline/field.hpp>
#include <halocline/field_view.hpp>

namespace halocline::field {

/// Strides in elements.
inline Int3 steps_of(const FieldStorage& field) {
  return {field.strides().x, field.strides().y, field.strides().z};
}

/// A field of `Real` elements as loops see it. Its strides are those of the field.
template <class Real>
FieldView<Real> view_of(const FieldStorage& field) {
  return {reinterpret_cast<Real*>(field.first_owned()), field.shape().owned.lower, field.strides()};
}

/// The address of a held cell, in global coordinates, whatever the elements are.
inline std::byte* address_of(const FieldStorage& field, Int3 cell) {
  const Int3 from = cell - field.shape().owned.lower;
  const Strides& step = field.strides();
  return field.first_owned() +
         (from.x * step.x + from.y * step.y + from.z * step.z) * field.shape().element_bytes;
}

}  // namespace halocline::field

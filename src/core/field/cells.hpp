// SPDX-License-Identifier: Apache-2.0
#pragma once
// Addresses of the cells of a field.

#include <halocline/brick_view.hpp>
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

/// Returns the addressing of a field in rows or in bricks: rows are bricks of one cell. Throws
/// usage for other layouts.
inline Bricks places_of(const FieldStorage& field) {
  if (field.as_bricks()) return *field.as_bricks();
  return {.shift = {}, .brick_step = steps_of(field), .cell_step = {}};
}

/// A view of a field of `Real` elements in rows or in bricks, for loops that may take their time.
template <class Real>
BrickView<Real> cells_of(const FieldStorage& field) {
  return {reinterpret_cast<Real*>(field.first_owned()), field.shape().owned.lower,
          places_of(field)};
}

/// Returns the address of an owned or halo cell, in global coordinates, for elements of any type.
inline std::byte* address_of(const FieldStorage& field, Int3 cell) {
  return field.first_owned() +
         places_of(field).place(cell - field.shape().owned.lower) * field.shape().element_bytes;
}

}  // namespace halocline::field

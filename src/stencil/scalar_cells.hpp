#pragma once
// What a formula sees when it is evaluated one cell at a time.

#include <halocline/field.hpp>

namespace halocline::stencil {

/// A cell and its neighbours, `step` elements away along each axis.
template <class Real>
struct ScalarCells {
  const Real* cell;
  Int3 step;

  Real c() const { return *cell; }
  Real w() const { return cell[-step.x]; }
  Real e() const { return cell[step.x]; }
  Real s() const { return cell[-step.y]; }
  Real n() const { return cell[step.y]; }
  Real d() const { return cell[-step.z]; }
  Real t() const { return cell[step.z]; }
  static Real constant(Real value) { return value; }
};

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

}  // namespace halocline::stencil

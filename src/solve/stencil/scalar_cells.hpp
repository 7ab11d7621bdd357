// SPDX-License-Identifier: Apache-2.0
#pragma once
// The argument of a formula that is evaluated one cell at a time.

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

}  // namespace halocline::stencil

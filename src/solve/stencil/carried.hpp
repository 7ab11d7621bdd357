// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values that a walk along an axis need not compute again: a part of a formula that is also read at
// the layers behind is computed where it is first needed, at its leading layer, and kept for some
// steps. A box of 27 cells adds up the ring around each cell once instead of three times.

#include <map>
#include <span>
#include <vector>

#include "problem/tree.hpp"

namespace halocline::stencil {

/// A value that is computed at each step and kept for later ones.
struct CarriedValue {
  problem::Ref leading;  ///< as it is computed
  int first_slot;        ///< that of the step before; the steps before that follow
  int steps;             ///< that it is kept for
};

struct Carried {
  /// The operations of a step, operands first.
  std::vector<problem::Ref> computed;
  /// The values of earlier steps that it reads instead, and the slot of each.
  std::map<problem::Ref, int> kept;
  std::vector<CarriedValue> values;
  int slots = 0;
  /// Steps before the first result, so that all that it needs is kept.
  int steps_before = 0;
};

/// Finds the values to carry along an axis: parts that read two cells or more, or have a
/// division or a function. Their bits are those of the formulas: each is the same operations on the
/// same values.
Carried carried_along(const problem::Tree& tree, std::span<const problem::Ref> formulas, int axis);

}  // namespace halocline::stencil

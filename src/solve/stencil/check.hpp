// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks of the arguments of a sweep, for every backend.

#include "stencil/sweep.hpp"

namespace halocline::stencil {

struct SweepNeeds {
  int axes;
  problem::Precision precision;
  bool on_gpu = false;
};

/// Throws internal if a field does not hold the region or its neighbours, an element has another
/// size, the norm has no destination, or the backend cannot use the stream or the memory. Cheap
/// enough for every sweep.
void check_arguments(const SweepArguments& arguments, const SweepNeeds& needs, Stream stream);

}  // namespace halocline::stencil

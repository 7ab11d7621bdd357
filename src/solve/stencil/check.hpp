// SPDX-License-Identifier: Apache-2.0
#pragma once
// What every backend asks of the arguments of a sweep.

#include "stencil/sweep.hpp"

namespace halocline::stencil {

struct SweepNeeds {
  int axes;
  problem::Precision precision;
  bool on_gpu = false;
};

/// Throws internal if the region or its neighbours are not held, an element has another size,
/// the norm has no place to go, or the stream or the memory is not the backend's. Cheap enough for
/// every sweep.
void check_arguments(const SweepArguments& arguments, const SweepNeeds& needs, Stream stream);

}  // namespace halocline::stencil

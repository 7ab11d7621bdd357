#pragma once
// What every backend on the host asks of the arguments of a sweep.

#include "stencil/sweep.hpp"

namespace halocline::stencil {

struct SweepNeeds {
  int axes;
  problem::Precision precision;
};

/// Throws internal if the region or its neighbours are not held, an element has another size, or
/// the norm has no place to go. Cheap enough for every sweep.
void check_arguments(const SweepArguments& arguments, const SweepNeeds& needs, Stream stream);

}  // namespace halocline::stencil

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The schedules of this build, for their table in solver/schedule.cpp.

#include "solver/schedule.hpp"

namespace halocline::solver {

/// First the exchange, then the sweep.
const Schedule& sequential_schedule();
/// Sweeps the cells that need no halo while the halo is on its way.
const Schedule& overlap_schedule();
/// Leaves halos to the sweep itself: one launch does all.
const Schedule& fused_schedule();
/// Many sweeps in one launch, whose cells stay in the GPU's registers: stencil/persistent.hpp.
const Schedule& persistent_schedule();

}  // namespace halocline::solver

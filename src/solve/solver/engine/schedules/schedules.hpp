// SPDX-License-Identifier: Apache-2.0
#pragma once
// The schedules of this build, for the table in solver/engine/schedule.cpp.

#include "solver/engine/schedule.hpp"

namespace halocline::solver {

/// Exchanges, then sweeps.
const Schedule& sequential_schedule();
/// Sweeps the cells that need no halo during the exchange.
const Schedule& overlap_schedule();
/// Sweeps exchange their own halos: one launch per sweep does both.
const Schedule& fused_schedule();
/// Runs many sweeps in one launch, with cells in the GPU's registers: stencil/persistent.hpp.
const Schedule& persistent_schedule();

}  // namespace halocline::solver

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parts of the backend.

#include <memory>

#include "stencil/ghosts.hpp"
#include "stencil/persistent.hpp"
#include "stencil/sweep.hpp"

namespace halocline::stencil::cuda {

struct ReduceWork;

/// Makes a sweep of printed updates. Throws unavailable where kernels have to be compiled and there
/// is no compiler. Collective if the options name a communicator.
std::unique_ptr<stencil::Sweep> make_sweep(const problem::Model& model,
                                           const SweepOptions& options);

/// Likewise for ghosts that change; only those that depend on time have to be compiled.
std::unique_ptr<ChangingGhosts> make_gpu_ghosts(const Ghosts& ghosts, const SweepOptions& options);

/// Makes a persistent sweep of a model that cannot_persist_because() allows. Throws unavailable,
/// with the reason, if the fields do not allow one, and as make_sweep(). Collective if the parts
/// name a communicator.
std::unique_ptr<PersistentSweep> make_persistent_sweep(const PersistentParts& parts);

/// Reduces a norm, in a launch of its own.
void launch_reduction(const ReduceWork& work, Stream stream);
/// Loads that kernel now: see device::cuda::load().
void load_reduction();

}  // namespace halocline::stencil::cuda

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions in .cu files, which nvcc compiles, for backend.cpp, which the C++ compiler compiles.

#include <memory>

#include "stencil/ghosts.hpp"
#include "stencil/persistent.hpp"

namespace halocline::stencil::cuda {

/// Returns nothing if the model's formula is not compiled in.
std::unique_ptr<stencil::Sweep> make_compiled_sweep(const problem::Model& model,
                                                    const SweepOptions& options);

/// Compiles the model's updates. Throws unavailable where there is no compiler. Collective if the
/// options name a communicator.
std::unique_ptr<stencil::Sweep> make_generated_sweep(const problem::Model& model,
                                                     const SweepOptions& options);

/// Likewise for ghosts that change; only those that depend on time have to be compiled.
std::unique_ptr<ChangingGhosts> make_gpu_ghosts(const Ghosts& ghosts, const SweepOptions& options);

/// Returns nothing if the model's formula is not compiled in. Throws unavailable, with the reason,
/// if the fields or the model do not allow a persistent sweep.
std::unique_ptr<PersistentSweep> make_compiled_persistent_sweep(const PersistentParts& parts);

/// Likewise, for a model that cannot_persist_because() allows; compiles its update. Collective if
/// the parts name a communicator.
std::unique_ptr<PersistentSweep> make_generated_persistent_sweep(const PersistentParts& parts);

}  // namespace halocline::stencil::cuda

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions in .cu files, which nvcc compiles, for backend.cpp, which the C++ compiler compiles.

#include <memory>

#include "stencil/persistent.hpp"

namespace halocline::stencil::cuda {

std::unique_ptr<stencil::Sweep> make_sweep(const problem::Problem& problem,
                                           const problem::Setting& setting,
                                           problem::Precision precision);

/// Throws unavailable, with the reason, if the fields or the problem do not allow a persistent
/// sweep.
std::unique_ptr<PersistentSweep> make_persistent_sweep(const PersistentParts& parts);

}  // namespace halocline::stencil::cuda

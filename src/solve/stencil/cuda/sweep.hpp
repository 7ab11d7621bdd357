// SPDX-License-Identifier: Apache-2.0
#pragma once
// From backend.cpp, which the C++ compiler reads, to sweep.cu, which nvcc reads.

#include <memory>

#include "stencil/persistent.hpp"

namespace halocline::stencil::cuda {

std::unique_ptr<stencil::Sweep> make_sweep(const problem::Problem& problem,
                                           const problem::Setting& setting,
                                           problem::Precision precision);

/// Throws unavailable.
std::unique_ptr<PersistentSweep> make_persistent_sweep(const PersistentParts& parts);

}  // namespace halocline::stencil::cuda

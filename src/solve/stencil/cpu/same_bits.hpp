// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "stencil/cpu/kernel.hpp"

namespace halocline::stencil::cpu {

/// Returns whether two kernels of a model compute the same bits, and max norms, of some samples of
/// cells, and store nothing else. Takes about a millisecond.
bool same_bits(const Kernel& one, const Kernel& other, const problem::Model& model);

}  // namespace halocline::stencil::cpu

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "compiler/cuda/compiler.hpp"

namespace halocline::stencil::cuda {

/// The texts of generated.cuh, of the kernels of passes/ and of what they include.
std::span<const compiler::Header> kernel_headers();

}  // namespace halocline::stencil::cuda

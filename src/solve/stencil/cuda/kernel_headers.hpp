// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "device/cuda/compiler.hpp"

namespace halocline::stencil::cuda {

/// The texts of generated.cuh and of what it includes.
std::span<const device::cuda::Header> kernel_headers();

}  // namespace halocline::stencil::cuda

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sizes that kernels of sweeps are made for. For the host and for kernels: with NVRTC, too.

namespace halocline::stencil::cuda {

inline constexpr int warp_lanes = 32;
inline constexpr int block_threads = 256;
inline constexpr int block_warps = block_threads / warp_lanes;
/// Rows are read and written in vectors of this size.
inline constexpr int vector_bytes = 16;

}  // namespace halocline::stencil::cuda

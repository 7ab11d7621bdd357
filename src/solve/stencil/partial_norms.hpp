// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parts of a norm that the blocks of sweeps leave in a GPU's memory.
//
// Compiles with NVRTC, so nothing of the standard library is included.

namespace halocline::stencil {

/// One value per block, of all regions of a sweep: maxima of |new - old|, or sums of squares.
struct NormParts {
  long long count;
  double values[1];  ///< `count` of them
};

/// Blocks of a sweep at most, and room for those of an interior and the six sides of its rim.
inline constexpr long long most_blocks_of_sweep = 65536;
inline constexpr long long bytes_of_norm_parts = 8 * (1 + 7 * most_blocks_of_sweep);

}  // namespace halocline::stencil

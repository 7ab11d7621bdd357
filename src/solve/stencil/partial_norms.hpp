// SPDX-License-Identifier: Apache-2.0
#pragma once
// Partial norms, which the blocks of a sweep store in GPU memory.
//
// Compiles with NVRTC, so it includes nothing of the standard library.

namespace halocline::stencil {

/// One value per block, for all regions of a sweep: maxima of |new - old|, or sums of squares.
struct PartialNorms {
  long long count;
  double values[1];  ///< `count` of them
};

/// The most blocks of a region, and memory for those of an interior and the six boxes of its rim.
inline constexpr long long most_blocks_of_sweep = 65536;
inline constexpr long long bytes_of_partial_norms = 8 * (1 + 7 * most_blocks_of_sweep);

/// The most sweeps of a pass over memory and blocks of a region of one, and the bytes from the
/// partial norms of a sweep of it to those of the next.
inline constexpr int most_sweeps_of_pass = 16;
inline constexpr long long most_blocks_of_pass = 8192;
inline constexpr long long bytes_of_pass_norms = 8 * (1 + 7 * most_blocks_of_pass);

}  // namespace halocline::stencil

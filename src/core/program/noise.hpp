// SPDX-License-Identifier: Apache-2.0
#pragma once
// Noise that is the same for every split of a grid.

#include <cstdint>

#include <halocline/box.hpp>

#include "base/hash.hpp"

namespace halocline::program {

/// Returns the value in [0, 1) of the cell with global linear index `i`: the same for every split.
constexpr double noise(std::uint64_t seed, std::uint64_t i) {
  return static_cast<double>(mix(seed + (i + 1) * 0x9E3779B97F4A7C15u) >> 11) * 0x1p-53;
}

/// Writes the noise of `count` cells from `first` on along x, in a grid of `cells`.
inline void noise_row(Int3 cells, std::uint64_t seed, Int3 first, std::int64_t count,
                      double* values) {
  const auto index = static_cast<std::uint64_t>(first.x + cells.x * (first.y + cells.y * first.z));
  for (std::int64_t i = 0; i < count; ++i)
    values[i] = noise(seed, index + static_cast<std::uint64_t>(i));
}

}  // namespace halocline::program

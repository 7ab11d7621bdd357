// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the walks of a pass divide a region.

#include <cstdint>

#include "stencil/cuda/passes/pass_work.cuh"
#include "stencil/cuda/passes/shapes.hpp"

namespace halocline::stencil::cuda {

/// What walks divide.
struct RegionOfPass {
  std::int64_t columns;  ///< from a 16-byte boundary at or before the first
  std::int64_t rows;     ///< in 2-D one
  std::int64_t layers;
  /// Whether passes compute rows beyond the first and the last one: neighbours have some.
  bool has_below = false, has_above = false;
};

struct Division {
  WalksOfPass walks;
  std::int64_t blocks;
  double cost;  ///< layers that a multiprocessor computes one after the other, in those of a walk
};

/// Returns the walks of a form's block. In 2-D a walk is a warp's.
inline int walks_of_block(const PassForm& form, int axes) { return axes == 3 ? 1 : form.warps; }

/// Returns the walks beside each other, none behind another.
std::int64_t fewest_walks(const LayersOfPass& layers, const PassForm& form,
                          const RegionOfPass& region);

/// Returns the division that should be the fastest where so many walks run at the same time.
Division division_of(const LayersOfPass& layers, const SideWalks& sides, const PassForm& form,
                     const RegionOfPass& region, std::int64_t at_once);

}  // namespace halocline::stencil::cuda

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <halocline/grid.hpp>

namespace halocline::test {

/// A grid of one rank.
inline Grid grid_of(const Extents& cells) {
  GridOptions options;
  options.cells = cells;
  return Grid(0, 1, options);
}

}  // namespace halocline::test

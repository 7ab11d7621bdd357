// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sizes as text.

#include <string>

#include <halocline/grid.hpp>

namespace halocline::grid {

/// Writes "256x128".
std::string text_of(const Extents& extents);

/// Writes "256x128 cells", "1 cell".
std::string cells_text(const Extents& extents);

}  // namespace halocline::grid

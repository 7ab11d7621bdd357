// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks that a field has one number per cell, as files need.

#include <halocline/field.hpp>
#include <halocline/grid.hpp>

namespace halocline::files {

/// Throws usage unless `field` has one component of 4 or 8 bytes on the cells that this rank owns
/// in `grid`.
void require_scalar(const Grid& grid, const FieldStorage& field);

}  // namespace halocline::files

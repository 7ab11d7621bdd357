// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fills fields with the start and boundary values of a problem.

#include <halocline/field.hpp>

#include "problem/problem.hpp"

namespace halocline::stencil {

/// Writes the start values of all owned cells, in the precision of the field's elements (for 4
/// bytes, the fp64 value rounded to nearest). Each thread writes the cells that it will sweep, so
/// that their pages lie near it. Leaves halo cells unchanged.
void fill_start(const FieldStorage& field, const problem::Problem& problem,
                const problem::Setting& setting, int threads);

/// Writes the boundary values of all held cells that lie outside the domain along an axis that is
/// not periodic. Leaves all other cells unchanged.
void fill_boundary(const FieldStorage& field, const Grid& grid, const problem::Problem& problem,
                   const problem::Setting& setting);

}  // namespace halocline::stencil

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fills fields with the start values of a model, and coefficients with theirs.

#include <halocline/field.hpp>

#include "problem/model.hpp"

namespace halocline::stencil {

/// Writes the start values of all owned cells, in the precision of the field's elements (for 4
/// bytes, the fp64 value rounded to nearest). Each thread writes the cells that it will sweep, so
/// that their pages lie near it. Leaves halo cells unchanged.
void fill_start(const FieldStorage& field, const problem::Model& model, problem::Ref expression,
                int threads);

/// Writes the values of a coefficient to all held cells.
void fill_coefficient(const FieldStorage& field, const problem::Model& model,
                      problem::Ref expression, int threads);

}  // namespace halocline::stencil

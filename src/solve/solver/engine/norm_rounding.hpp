// SPDX-License-Identifier: Apache-2.0
#pragma once
// How far apart two norms of the same changes may be.

#include "solver/case.hpp"

namespace halocline::solver {

/// The most by which the L2 norms of two runs of equal cells differ, as a share of the norm: they
/// add up the same squares in other orders. 0 for the maximum norm.
double rounding_of_norm(const Case& the_case);

/// Whether two norms are those of equal changes: equal up to rounding, both infinite, or both NaN.
bool is_same_norm(const Case& the_case, double a, double b);

}  // namespace halocline::solver

#pragma once
// The state before the first sweep.

#include <array>

#include <halocline/field.hpp>

#include "solver/case.hpp"

namespace halocline::solver {

/// Writes start values (or the user's file) into level 0 and boundary values into both.
/// Collective over `communicator` if the case starts from a file.
void fill_levels(const Case& the_case, const Grid& grid, std::array<FieldStorage, 2>& levels,
                 const Communicator& communicator, int threads);

}  // namespace halocline::solver

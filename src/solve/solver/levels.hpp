// SPDX-License-Identifier: Apache-2.0
#pragma once
// The time levels of a solve, in whatever memory, and the host's view of them.

#include <array>
#include <optional>

#include <halocline/communicator.hpp>
#include <halocline/field.hpp>

#include "solver/case.hpp"

namespace halocline::solver {

using Levels = std::array<FieldStorage, 2>;

/// Bytes of a level, without what its rows are padded by; more than any memory has do not overflow.
double bytes_of_level(const Case& the_case, const Grid& grid);

/// A field "u" of the case's precision on this rank's cells.
FieldStorage make_level(const Case& the_case, const Grid& grid, std::int64_t halo_width,
                        Memory memory);
Levels make_levels(const Case& the_case, const Grid& grid, std::int64_t halo_width, Memory memory);

/// Fills both levels: start and boundary in the first, the boundary in the second. Both by the
/// threads that will sweep them, so that their pages lie near. Collective if there is a file to
/// start from.
void fill_levels(const Case& the_case, const Grid& grid, Levels& levels,
                 const Communicator& communicator, int threads);

/// Fills all bytes of a field in a GPU's memory with numbers from 0 to 1, halos and padding too:
/// without the host's copy of it that a start needs.
void fill_with_noise(const FieldStorage& field, Stream stream);

/// A field as the host reads it: itself, or a copy of one that lies in device or managed memory
/// (whose pages would move to the host). No work on the field may be in a stream.
FieldStorage seen_by_host(const FieldStorage& field, const Case& the_case, const Grid& grid);

}  // namespace halocline::solver

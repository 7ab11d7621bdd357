// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers that tell fields apart.

#include <halocline/field.hpp>
#include <halocline/grid.hpp>

namespace halocline::program {

/// This rank's share of the checksum of a field, over its owned cells: shares add up modulo 2^64
/// to the checksum of the whole. Equal fields have equal checksums; -0.0 counts as +0.0, every
/// NaN as one.
std::uint64_t checksum(const FieldStorage& field, const Grid& grid, int threads);

/// The sum of this rank's owned cells, compensated row by row: the same for every number of
/// threads, and to the last digit or two for every split.
double sum(const FieldStorage& field, int threads);

}  // namespace halocline::program

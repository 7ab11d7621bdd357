// SPDX-License-Identifier: Apache-2.0
#pragma once
// Each rank's share of a field's checksum and sum, of fields in rows and in bricks.

#include <cstdint>
#include <optional>

#include <halocline/field.hpp>
#include <halocline/grid.hpp>

#include "program/exact_sum.hpp"

namespace halocline::program {

/// Returns this rank's share of a field's checksum, over its owned cells: the sum of all shares
/// modulo 2^64 is the checksum of the whole field. Equal fields have equal checksums; -0.0 counts
/// as +0.0, and all NaNs count as the same.
std::uint64_t checksum(const FieldStorage& field, const Grid& grid, int threads);

/// Returns the sum of this rank's owned cells, compensated row by row: the same for every number of
/// threads, and equal up to the last digit or two for every split.
double sum(const FieldStorage& field, int threads);

/// Returns the sum of this rank's owned cells without rounding: those of all ranks add up to the
/// same for every split.
ExactSum exact_sum(const FieldStorage& field, int threads);

/// Whether all of this rank's owned cells are finite. Takes about as long as reading them; in
/// bricks longer.
bool is_finite(const FieldStorage& field, int threads);

/// Returns the lowest global linear index of this rank's owned cells that are infinite or
/// NaN; nothing if there are none.
std::optional<std::int64_t> first_not_finite(const FieldStorage& field, const Grid& grid);

}  // namespace halocline::program

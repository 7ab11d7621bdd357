// SPDX-License-Identifier: Apache-2.0
#pragma once
// The time levels of a solve, in any kind of memory, and copies for the host.

#include <array>
#include <optional>

#include <halocline/communicator.hpp>
#include <halocline/field.hpp>

#include "solver/case.hpp"

namespace halocline::solver {

using Levels = std::array<FieldStorage, 2>;

/// Returns the bytes of a time level on this rank, without the padding of its rows. A double, so
/// that no size overflows.
double bytes_of_level(const Case& the_case, const Grid& grid);

/// Allocates a time level: a field "u" of the case's precision on this rank's cells.
FieldStorage make_level(const Case& the_case, const Grid& grid, std::int64_t halo_width,
                        Memory memory);
Levels make_levels(const Case& the_case, const Grid& grid, std::int64_t halo_width, Memory memory);

/// Fills both levels: start and boundary values in the first, boundary values in the second. The
/// threads that will sweep them write them first, so that pages lie near those threads. Collective
/// if the case starts from a file.
void fill_levels(const Case& the_case, const Grid& grid, Levels& levels,
                 const Communicator& communicator, int threads);

/// Fills a field in GPU memory, halo and padding included, with numbers from 0 to 1. Unlike start
/// values, this needs no copy on the host. Ordered by `stream`.
void fill_with_noise(const FieldStorage& field, Stream stream);

/// Returns a field that the host can read: `field` itself, or a copy if it is in device memory or
/// in managed memory (whose pages would migrate to the host). All work on the field must be done.
FieldStorage seen_by_host(const FieldStorage& field, const Case& the_case, const Grid& grid);

}  // namespace halocline::solver

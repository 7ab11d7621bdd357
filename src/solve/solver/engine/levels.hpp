// SPDX-License-Identifier: Apache-2.0
#pragma once
// The time levels and coefficients of a solve, in any kind of memory, and copies for the host.

#include <cstddef>
#include <string>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/field.hpp>

#include "solver/case.hpp"

namespace halocline::solver {

/// The fields of a case at one time, in the model's order.
using Level = std::vector<FieldStorage>;
/// As many as Case::levels(); a run writes them in turn. A field that follows another shares its
/// memory with it, one level later.
using Levels = std::vector<Level>;

/// Returns the bytes of a time level of one field on this rank, without the padding of its rows. A
/// double, so that no size overflows.
double bytes_of_field(const Case& the_case, const Grid& grid);
/// Returns the bytes of all levels and coefficients.
double bytes_of_all(const Case& the_case, const Grid& grid);
/// Counts the arrays of this many bytes_of_field(): those of all levels, and the coefficients.
std::size_t arrays_of(const Case& the_case);

/// Allocates a field of the case's precision on this rank's cells, with the halo of `depth` sweeps.
FieldStorage make_field(const Case& the_case, const Grid& grid, std::int64_t depth, Memory memory,
                        const std::string& name);
Levels make_levels(const Case& the_case, const Grid& grid, std::int64_t depth, Memory memory);
/// Allocates the coefficients of a case.
Level make_coefficients(const Case& the_case, const Grid& grid, std::int64_t depth, Memory memory);

/// Fills levels and coefficients: start values in the first level, and in all the ghost cells that
/// never change. The threads that will sweep them write them first, so that pages lie near those
/// threads. Collective if the case starts from files or arrays of the program.
void fill_levels(const Case& the_case, const Grid& grid, Levels& levels, const Level& coefficients,
                 const Communicator& communicator, int threads);

/// Fills a field in GPU memory, halo and padding included, with numbers from 0 to 1. Unlike start
/// values, this needs no copy on the host. Ordered by `stream`.
void fill_with_noise(const FieldStorage& field, Stream stream);

/// Returns fields that the host can read: these themselves, or copies if they are in device memory
/// or in managed memory (whose pages would migrate to the host). All work on them must be done.
Level seen_by_host(const Level& level, const Grid& grid);
FieldStorage seen_by_host(const FieldStorage& field, const Grid& grid);
/// Returns the value of an owned cell, wherever the field is.
double value_of(const FieldStorage& field, const Int3& cell);

}  // namespace halocline::solver

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checksum, sum and norm of fields, and the noise that `halocline solve` starts from: for programs
// with their own sweeps. All functions are collective. Those that take a field accept one component
// of float or double, in any memory, and throw usage, on every rank, for others or for a field of
// another grid. All work on the field must be done before the call. Each makes one pass over the
// owned cells, with threads; device memory is copied through the host first.

#include <cstdint>

#include <halocline/communicator.hpp>
#include <halocline/field.hpp>
#include <halocline/grid.hpp>
#include <halocline/norm.hpp>

namespace halocline {

/// Fills the owned cells with values in [0, 1), the same for every split: the start of `halocline
/// solve laplace` with that seed. Leaves halo cells unchanged. Collective.
void fill_noise(const Communicator& communicator, const Grid& grid, const FieldStorage& field,
                std::uint64_t seed = 12345);

/// Returns the checksum of all owned cells of all ranks, as `halocline solve` prints it: equal for
/// equal values, whatever the split. The same on every rank. Collective.
std::uint64_t checksum(const Communicator& communicator, const Grid& grid,
                       const FieldStorage& field);

/// Returns the sum of all owned cells of all ranks. The same on every rank and in every run; with
/// another split, the last digit or two may differ. Collective.
double sum(const Communicator& communicator, const Grid& grid, const FieldStorage& field);

/// All-reduces the ranks' partial norms `share` and returns the norm: for `max` the largest; for
/// `l2` the root of their sum, where each is a sum of squares. The same on every rank and in every
/// run. Collective. Throws usage for `none`.
double norm(const Communicator& communicator, Norm kind, double share);

}  // namespace halocline

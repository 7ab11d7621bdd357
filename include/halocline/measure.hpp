// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checksum, sum and norm of fields, and the noise that `halocline solve` starts from: for programs
// with sweeps of their own. All take fields of one component of float or double, in any memory,
// and throw usage for others; work on the field must be done.

#include <cstdint>

#include <halocline/communicator.hpp>
#include <halocline/field.hpp>
#include <halocline/grid.hpp>
#include <halocline/norm.hpp>

namespace halocline {

/// Fills the owned cells with values in [0, 1), the same for every split: what `solve laplace`
/// starts from with that seed. Halo cells are left alone. Collective.
void fill_noise(const Communicator& communicator, const Grid& grid, const FieldStorage& field,
                std::uint64_t seed = 12345);

/// The checksum of all owned cells of all ranks, as `solve` prints it: equal for equal values,
/// whatever the split. Collective.
std::uint64_t checksum(const Communicator& communicator, const Grid& grid,
                       const FieldStorage& field);

/// The sum of all owned cells of all ranks. The same in every run; between splits equal to the
/// last digits. Collective.
double sum(const Communicator& communicator, const Grid& grid, const FieldStorage& field);

/// The norm of all ranks from this rank's share: of `max` the largest share; of `l2` the root of
/// the sum of shares, which are sums of squares. The same on every rank and in every run.
/// Collective. Throws usage for `none`.
double norm(const Communicator& communicator, Norm kind, double share);

}  // namespace halocline

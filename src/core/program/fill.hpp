// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values for a field whose memory the host reads.

#include <cstdint>
#include <functional>

#include <halocline/field.hpp>

namespace halocline::program {

/// Writes the values of the `count` cells from `first` on along x, in global coordinates. Called by
/// several threads at a time.
using RowValues = std::function<void(Int3 first, std::int64_t count, double* values)>;

/// Fills the owned cells, of which there is one float or double each; every thread those that it
/// sweeps, which are so in the memory next to it.
void fill_owned(const FieldStorage& field, const RowValues& row, int threads);

}  // namespace halocline::program

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fills a field whose memory the host can access.

#include <cstdint>
#include <functional>

#include <halocline/field.hpp>

namespace halocline::program {

/// Writes the values of `count` cells from `first` on along x, in global coordinates. Called by
/// several threads at the same time.
using RowValues = std::function<void(Int3 first, std::int64_t count, double* values)>;

/// Fills the owned cells of one float or double each. Every thread fills the cells that it will
/// sweep, so these are in its own NUMA node's memory.
void fill_owned(const FieldStorage& field, const RowValues& row, int threads);

}  // namespace halocline::program

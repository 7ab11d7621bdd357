// SPDX-License-Identifier: Apache-2.0
#pragma once
// How many sweeps are given to a GPU at once, and so how many a CUDA graph holds.

#include <cstdint>

#include "solver/case.hpp"

namespace halocline::solver {

/// The host reads norms, and waits for the GPU, once in a batch of about this many sweeps; it is
/// at most two batches ahead, so a run that has stopped queues some hundred sweeps that do nothing
/// (2 us each).
inline constexpr std::int64_t fewest_batch_sweeps = 64;
/// A batch is a multiple of the sweeps after which levels, deep halos and norms recur, unless these
/// exceed this limit.
inline constexpr std::int64_t longest_period = 256;
inline constexpr std::int64_t most_batch_sweeps = longest_period + fewest_batch_sweeps;

/// Returns after how many sweeps the levels and deep halos are as before.
std::int64_t period_of(const Case& the_case, std::int64_t sweeps_per_pass);

/// Returns the sweeps of a batch of this case: a number after which levels, deep halos and, if it
/// can be, norms are at its end as at its beginning. Then one graph serves all batches.
std::int64_t batch_sweeps_of(const Case& the_case, std::int64_t sweeps_per_pass);

}  // namespace halocline::solver

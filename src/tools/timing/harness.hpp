// SPDX-License-Identifier: Apache-2.0
#pragma once
// Timing of repeated work of all ranks.

#include <cstdint>
#include <functional>
#include <vector>

#include <halocline/communicator.hpp>

#include "base/text/notes.hpp"

namespace halocline::timing {

/// Numbers of repetitions. All but the warm-up are timed.
struct LoopOptions {
  std::int64_t repetitions = 0;  ///< 0: as many as fit into `seconds`
  double seconds = 0.2;
  std::int64_t fewest = 20;  ///< repetitions at least, for a median
  std::int64_t warm_up = 4;  ///< repetitions at least
  /// The rank whose time of a repetition counts.
  enum class Whose { slowest, first } whose = Whose::slowest;
};

/// Throws usage for values out of range.
void check(const LoopOptions& options);

/// Times of one repetition, by LoopOptions::whose.
struct TimeSummary {
  std::int64_t repetitions = 0;
  double min_seconds = 0, median_seconds = 0, p99_seconds = 0;
};

/// Returns a percentile of `sorted`, which is ascending and not empty: the smallest value that at
/// least `percent` % of the values do not exceed.
double percentile(const std::vector<double>& sorted, double percent);

/// Summarizes at least one time.
TimeSummary summarize(std::vector<double> seconds);

/// Returns the repetitions for work that takes `seconds_each`; at most 100 000.
std::int64_t repetitions_for(double seconds_each, const LoopOptions& options);

/// Warms up for a tenth of the time, calls `begin`, and times each repetition of `work`.
/// Repetitions follow without a barrier, so that only the work itself synchronizes ranks. Returns
/// the same on every rank. Collective; throws what `work` throws.
TimeSummary time_together(
    const Communicator& communicator, const LoopOptions& options, const std::function<void()>& work,
    const std::function<void()>& begin = [] {});

/// Adds a note if ranks share cores; returns whether they do. Collective.
bool note_crowding(const Communicator& communicator, Notes& notes);

/// Returns the slowest rank's median seconds for a copy of `bytes` within host memory, on all ranks
/// at once. Small copies come from the cache, as halos do. Collective.
double seconds_of_memcpy(const Communicator& communicator, std::int64_t bytes);

}  // namespace halocline::timing

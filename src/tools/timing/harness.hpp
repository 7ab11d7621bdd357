// SPDX-License-Identifier: Apache-2.0
#pragma once
// Timing something that all ranks do together, again and again.

#include <cstdint>
#include <functional>
#include <vector>

#include <halocline/communicator.hpp>

#include "base/text/notes.hpp"

namespace halocline::timing {

/// How often to do it. The times of everything done count, but for the warm-up.
struct LoopOptions {
  std::int64_t repetitions = 0;  ///< 0: as many as fit into `seconds`
  double seconds = 0.2;
  std::int64_t fewest = 20;  ///< repetitions, however long they take: a median needs some
  std::int64_t warm_up = 4;  ///< repetitions before, at least
  /// Whose time of a repetition counts.
  enum class Whose { slowest, first } whose = Whose::slowest;
};

/// Throws usage for what cannot be.
void check(const LoopOptions& options);

/// Times of one repetition, each the slowest rank's unless LoopOptions wants it otherwise.
struct TimeSummary {
  std::int64_t repetitions = 0;
  double min_seconds = 0, median_seconds = 0, p99_seconds = 0;
};

/// The smallest of `sorted`, ascending and not empty, that at least `percent` of a hundred of them
/// do not exceed.
double percentile(const std::vector<double>& sorted, double percent);

/// Sorts and sums up; at least one time.
TimeSummary summarize(std::vector<double> seconds);

/// Repetitions for work that takes `seconds_each`: at most 100 000.
std::int64_t repetitions_for(double seconds_each, const LoopOptions& options);

/// Warms up for a tenth of the time, calls `begin`, and times each
/// repetition of `work`; nothing stands between one and the next, so that what meets the neighbours
/// is all that keeps ranks together. The same on every rank. Collective; throws what `work` throws.
TimeSummary time_together(
    const Communicator& communicator, const LoopOptions& options, const std::function<void()>& work,
    const std::function<void()>& begin = [] {});

/// Notes that ranks share cores, if they do; returns whether they do. Collective.
bool note_crowding(const Communicator& communicator, Notes& notes);

/// Seconds that a copy of `bytes` within a rank's host memory takes, on all ranks at once: the
/// median, the slowest rank's. Such small copies come from the cache, as halos do. Collective.
double seconds_of_memcpy(const Communicator& communicator, std::int64_t bytes);

}  // namespace halocline::timing

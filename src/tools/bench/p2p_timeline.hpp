// SPDX-License-Identifier: Apache-2.0
#pragma once
// Timelines of p2p measurements for trace viewers.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <halocline/communicator.hpp>

#include "base/recorder.hpp"

namespace halocline::bench {

struct P2pBenchResult;

/// Kinds of measurements between two ranks.
enum class P2pWork { round_trips, one_way, both_ways };
std::string_view name_of(P2pWork work);

/// One repetition on one of the two ranks.
struct P2pSpan {
  int rank = 0;
  std::size_t timing = 0;  ///< in P2pBenchResult::timings
  P2pWork work = P2pWork::round_trips;
  std::int64_t messages = 0;  ///< consecutive messages, in both directions together
  double start_seconds = 0, seconds = 0;

  friend bool operator==(const P2pSpan&, const P2pSpan&) = default;
};

/// Records the first repetitions of each measurement on this rank, including warm-up.
class P2pSpans {
 public:
  /// Recorded repetitions per measurement.
  static constexpr int most = 100;

  /// Starts the clock on all ranks together. Collective.
  explicit P2pSpans(const Communicator& communicator);

  /// Wraps `work` so that its first `most` calls are recorded. `span` has the known members.
  std::function<void()> keep(const P2pSpan& span, std::function<void()> work);
  /// Removes the spans of a failed measurement.
  void forget(std::size_t timing);

  /// Returns the spans of all ranks on rank 0, and none on other ranks. Collective.
  std::vector<P2pSpan> gather() const;

 private:
  const Communicator& communicator_;
  Clock::time_point begin_;
  std::vector<P2pSpan> spans_;
};

/// Returns the trace of a result, with a process for each rank.
std::string trace_of(const P2pBenchResult& result);

}  // namespace halocline::bench

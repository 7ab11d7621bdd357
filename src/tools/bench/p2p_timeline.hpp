// SPDX-License-Identifier: Apache-2.0
#pragma once
// What ranks sent when they were measured, for trace viewers.

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

/// What a pair of ranks repeats to measure.
enum class P2pWork { round_trips, one_way, both_ways };
std::string_view name_of(P2pWork work);

/// One repetition, as one of the two ranks saw it.
struct P2pSpan {
  int rank = 0;
  std::size_t timing = 0;  ///< in P2pBenchResult::timings
  P2pWork work = P2pWork::round_trips;
  std::int64_t messages = 0;  ///< one after the other, both ways counted
  double start_seconds = 0, seconds = 0;

  friend bool operator==(const P2pSpan&, const P2pSpan&) = default;
};

/// Keeps the first repetitions of each measurement of this rank, those to warm up among them.
class P2pSpans {
 public:
  /// Of each measurement.
  static constexpr int most = 100;

  /// Begins the time, together with the other ranks. Collective.
  explicit P2pSpans(const Communicator& communicator);

  /// Returns `work`, which is kept as often as it is to be. `span` has what is known beforehand.
  std::function<void()> keep(const P2pSpan& span, std::function<void()> work);
  /// Forgets what was kept of a measurement that came to nothing.
  void forget(std::size_t timing);

  /// Returns the spans of all ranks on rank 0, nothing elsewhere. Collective.
  std::vector<P2pSpan> gather() const;

 private:
  const Communicator& communicator_;
  Clock::time_point begin_;
  std::vector<P2pSpan> spans_;
};

/// Writes the spans of a result, a process for each rank.
std::string trace_of(const P2pBenchResult& result);

}  // namespace halocline::bench

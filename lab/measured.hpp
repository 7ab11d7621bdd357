// SPDX-License-Identifier: Apache-2.0
#pragma once
// What several benchmarks do with what ranks have measured.

#include <optional>
#include <string>

#include "comm/collectives.hpp"
#include "timing/harness.hpp"

namespace halocline::bench {

/// Returns, on every rank, what the lowest one says that says anything. Collective.
inline std::optional<std::string> first_said(const Communicator& communicator,
                                             const std::optional<std::string>& mine) {
  const std::string first = comm::first_text(communicator, mine.value_or(""));
  return first.empty() ? std::nullopt : std::optional(first);
}

/// Returns the times of one piece of work, of `count` that were timed together.
inline timing::TimeSummary each_of(timing::TimeSummary together, std::int64_t count) {
  for (double* seconds : {&together.min_seconds, &together.median_seconds, &together.p99_seconds})
    *seconds /= static_cast<double>(count);
  return together;
}

}  // namespace halocline::bench

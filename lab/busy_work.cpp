// SPDX-License-Identifier: Apache-2.0
#include "lab/busy_work.hpp"

#include <algorithm>

#include "timing/harness.hpp"

namespace halocline::bench {
namespace {

constexpr std::int64_t rounds_to_time = 200'000;  // about 0.3 ms

}  // namespace

BusyWork::BusyWork(const Communicator& communicator) {
  const timing::TimeSummary time =
      timing::time_together(communicator, {.seconds = 0.02}, [&] { run(rounds_to_time); });
  seconds_per_round_ = time.median_seconds / static_cast<double>(rounds_to_time);
}

std::int64_t BusyWork::rounds_for(double seconds) const {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(seconds / seconds_per_round_));
}

void BusyWork::run(std::int64_t rounds) {
  std::uint64_t value = value_;
  for (std::int64_t i = 0; i < rounds; ++i) {
    value = value * 0x5851f42d4c957f2d + 1;
    asm volatile("" : "+r"(value));  // or several rounds would become one
  }
  value_ = value;
}

}  // namespace halocline::bench

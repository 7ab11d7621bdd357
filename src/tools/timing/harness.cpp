// SPDX-License-Identifier: Apache-2.0
#include "timing/harness.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <span>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/text/words.hpp"
#include "comm/collectives.hpp"
#include "machine/cores.hpp"

namespace halocline::timing {
namespace {

constexpr std::int64_t most_repetitions = 100'000;
constexpr std::int64_t most_asked_for = 10'000'000;  // one is a double on every rank

/// Repeats `work` until it is warm; returns the seconds of one repetition, the same on every rank.
double warm_up(const Communicator& communicator, const LoopOptions& options,
               const std::function<void()>& work) {
  const double enough = std::min(0.1 * options.seconds, 0.1);
  for (std::int64_t count = options.warm_up;; count *= 2) {
    comm::barrier(communicator);
    const auto start = Clock::now();
    for (std::int64_t i = 0; i < count; ++i) work();
    const double seconds = comm::max_over_ranks(communicator, seconds_since(start));
    if (seconds >= enough || count >= most_repetitions) return seconds / static_cast<double>(count);
  }
}

/// Sets the slowest rank's time of each repetition on rank 0; other ranks keep their own.
void take_slowest(const Communicator& communicator, std::vector<double>& seconds) {
  if (communicator.rank() != 0) {
    comm::send(communicator, 0, std::as_bytes(std::span(seconds)));
    return;
  }
  std::vector<double> theirs(seconds.size());
  for (int rank = 1; rank < communicator.size(); ++rank) {
    comm::receive(communicator, rank, std::as_writable_bytes(std::span(theirs)));
    for (std::size_t i = 0; i < seconds.size(); ++i) seconds[i] = std::max(seconds[i], theirs[i]);
  }
}

/// Returns the value of rank 0 on every rank.
double from_first(const Communicator& communicator, double value) {
  return comm::max_over_ranks(communicator, communicator.rank() == 0 ? value : 0.0);
}

}  // namespace

void check(const LoopOptions& options) {
  if (options.repetitions < 0 || options.repetitions > most_asked_for)
    throw Error(ErrorKind::usage,
                fmt::format("{} cannot be timed; use 1 to {}",
                            counted(options.repetitions, "repetition"), most_asked_for));
  if (!(options.seconds > 0) || options.seconds > 3600)
    throw Error(
        ErrorKind::usage,
        fmt::format("{} seconds per case are out of range; use --seconds above 0, at most 3600",
                    options.seconds));
}

double percentile(const std::vector<double>& sorted, double percent) {
  const auto count = static_cast<double>(sorted.size());
  // Slightly less, or rounding would make 99 % of 100 the hundredth.
  const double place = std::ceil(percent / 100 * count - 1e-9);
  const double index = std::clamp(place - 1, 0.0, count - 1);
  return sorted[static_cast<std::size_t>(index)];
}

TimeSummary summarize(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return {static_cast<std::int64_t>(seconds.size()), seconds.front(), percentile(seconds, 50),
          percentile(seconds, 99)};
}

std::int64_t repetitions_for(double seconds_each, const LoopOptions& options) {
  if (options.repetitions > 0) return options.repetitions;
  const double fit = options.seconds / std::max(seconds_each, options.seconds / most_repetitions);
  return std::clamp(static_cast<std::int64_t>(fit), options.fewest, most_repetitions);
}

TimeSummary time_together(const Communicator& communicator, const LoopOptions& options,
                          const std::function<void()>& work, const std::function<void()>& begin) {
  const double each = warm_up(communicator, options, work);
  std::vector<double> seconds(static_cast<std::size_t>(repetitions_for(each, options)));
  begin();
  comm::barrier(communicator);
  auto before = Clock::now();
  for (double& one : seconds) {
    work();
    const auto after = Clock::now();
    one = std::chrono::duration<double>(after - before).count();
    before = after;
  }
  if (options.whose == LoopOptions::Whose::slowest) take_slowest(communicator, seconds);
  TimeSummary summary = summarize(std::move(seconds));
  for (double* value : {&summary.min_seconds, &summary.median_seconds, &summary.p99_seconds})
    *value = from_first(communicator, *value);
  return summary;
}

bool note_crowding(const Communicator& communicator, Notes& notes) {
  const int cores = machine::node_cores(communicator), ranks = communicator.node_size();
  if (ranks <= cores) return false;
  notes.add(fmt::format("{} share {} of a node: the times are not reliable", counted(ranks, "rank"),
                        counted(cores, "core")));
  return true;
}

double seconds_of_memcpy(const Communicator& communicator, std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  const std::vector<std::byte> from(size, std::byte{1});
  std::vector<std::byte> to(size);
  // Several copies at once, as reading the clock takes as long as a copy of a KiB.
  const std::int64_t at_once = std::clamp<std::int64_t>((1 << 20) / bytes, 1, 1000);
  const TimeSummary summary = time_together(communicator, {.seconds = 0.02}, [&] {
    for (std::int64_t i = 0; i < at_once; ++i) {
      std::memcpy(to.data(), from.data(), size);
      asm volatile("" : : "r"(to.data()) : "memory");  // keeps every copy
    }
  });
  return summary.median_seconds / static_cast<double>(at_once);
}

}  // namespace halocline::timing

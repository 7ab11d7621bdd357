#include "base/recorder.hpp"

#include <algorithm>

namespace halocline {
namespace {

// 40 bytes each: 40 MB per rank, some minutes of a busy run; viewers choke on more.
constexpr std::size_t most_events = 1'000'000;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

std::string_view name_of(Phase phase) {
  constexpr std::array<std::string_view, phase_count> names = {
      "compute", "pack", "move", "call", "wait", "unpack", "reduce", "other"};
  return names[static_cast<std::size_t>(phase)];
}

void Recorder::reset_totals() {
  totals_ = {};
  sites_.clear();
}

void Recorder::add(Phase phase, const char* site, Clock::time_point start, Clock::time_point end,
                   std::int64_t bytes) {
  const double seconds = seconds_between(start, end);
  totals_[static_cast<std::size_t>(phase)] += seconds;

  // A dozen sites at most, compared by address: a search beats a map here.
  auto at = std::find_if(sites_.begin(), sites_.end(),
                         [&](const SiteTotals& s) { return s.site == site; });
  if (at == sites_.end()) at = sites_.insert(at, SiteTotals{.site = site, .phase = phase});
  at->calls += 1;
  at->bytes += bytes;
  at->seconds += seconds;
  at->longest_seconds = std::max(at->longest_seconds, seconds);

  if (detail_ != Detail::trace) return;
  if (events_.size() < most_events)
    events_.push_back({site, phase, seconds_between(origin_, start), seconds, bytes});
  else
    ++events_dropped_;
}

}  // namespace halocline

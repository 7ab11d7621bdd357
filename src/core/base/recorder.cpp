// SPDX-License-Identifier: Apache-2.0
#include "base/recorder.hpp"

#include <algorithm>
#include <vector>

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

LateTimes::LateTimes(Recorder& recorder) : recorder_(recorder) { recorder.late_.push_back(this); }

LateTimes::~LateTimes() { std::erase(recorder_.late_, this); }

void Recorder::reset_totals() {
  for (LateTimes* source : late_) source->forget();
  totals_ = {};
  sites_.clear();
}

void Recorder::collect() {
  for (LateTimes* source : late_) source->collect();
}

void Recorder::add_totals(const SiteTotals& totals) {
  totals_[static_cast<std::size_t>(totals.phase)] += totals.seconds;
  // A dozen sites at most, compared by address: a search beats a map here.
  auto at = std::find_if(sites_.begin(), sites_.end(),
                         [&](const SiteTotals& s) { return s.site == totals.site; });
  if (at == sites_.end())
    at = sites_.insert(at, SiteTotals{.site = totals.site, .phase = totals.phase});
  at->calls += totals.calls;
  at->bytes += totals.bytes;
  at->seconds += totals.seconds;
  at->longest_seconds = std::max(at->longest_seconds, totals.longest_seconds);
}

void Recorder::add(Phase phase, const char* site, Clock::time_point start, Clock::time_point end,
                   std::int64_t bytes) {
  const double seconds = seconds_between(start, end);
  add_totals({.site = site,
              .phase = phase,
              .calls = 1,
              .bytes = bytes,
              .seconds = seconds,
              .longest_seconds = seconds});
  if (detail_ != Detail::trace) return;
  if (events_.size() < most_events)
    events_.push_back({site, phase, seconds_between(origin_, start), seconds, bytes});
  else
    ++events_dropped_;
}

}  // namespace halocline

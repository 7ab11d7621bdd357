// SPDX-License-Identifier: Apache-2.0
#include "device/stream_clock.hpp"

#include <algorithm>

#include "device/cuda/runtime.hpp"
#include "device/graph.hpp"

namespace halocline::device {

namespace {
constexpr std::int64_t all_timed = 32, one_in = 8;
}

StreamClock::StreamClock(Recorder& recorder, Phase phase, const char* site)
    : LateTimes(recorder), phase_(phase), site_(site) {}

bool StreamClock::begin(Stream stream, std::int64_t bytes) {
  // The launcher of the graph times it, with all its work.
  if (is_recording(stream)) return false;
  bytes_ += bytes;
  if (spans_++ >= all_timed && spans_ % one_in != 0) return false;
  Pair& pair = pairs_[next_];
  if (pair.begun == nullptr) pair = {cuda::make_timed_event(), cuda::make_timed_event()};
  if (pending_ == pairs_.size()) {
    // Reuses the oldest one: its work was queued many spans ago. If that work is not done, this
    // span is not timed, since this code must not wait.
    if (!cuda::reached(pair.ended.get())) return false;
    read(pair);
    --pending_;
  }
  cuda::record(pair.begun.get(), stream);
  return true;
}

void StreamClock::end(Stream stream) {
  cuda::record(pairs_[next_].ended.get(), stream);
  next_ = (next_ + 1) % pairs_.size();
  ++pending_;
}

void StreamClock::read(const Pair& pair) {
  const double seconds = cuda::seconds_between(pair.begun.get(), pair.ended.get());
  seconds_ += seconds;
  longest_ = std::max(longest_, seconds);
  ++timed_;
}

void StreamClock::collect() {
  for (; pending_ > 0; --pending_) {
    const Pair& pair = pairs_[(next_ + pairs_.size() - pending_) % pairs_.size()];
    cuda::wait(pair.ended.get());
    read(pair);
  }
  if (timed_ > 0)
    recorder().add_totals(
        {.site = site_,
         .phase = phase_,
         .calls = spans_,
         .bytes = bytes_,
         .seconds = seconds_ / static_cast<double>(timed_) * static_cast<double>(spans_),
         .longest_seconds = longest_});
  forget();
}

void StreamClock::forget() {
  pending_ = 0;
  spans_ = timed_ = bytes_ = 0;
  seconds_ = longest_ = 0;
}

}  // namespace halocline::device

// SPDX-License-Identifier: Apache-2.0
#include "lab/mesh_timeline.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "bench/trace_text.hpp"

namespace halocline::bench {
namespace {

using Way = MeshMessage::Way;

double length_of(const MeshTimeline& timeline) {
  return *std::max_element(timeline.end_seconds.begin(), timeline.end_seconds.end());
}

/// The same message as its other rank sees it; nothing if that rank has not come to it.
const MeshMessage* other_side(const MeshTimeline& timeline, const MeshMessage& message) {
  const auto found = std::find_if(timeline.messages.begin(), timeline.messages.end(),
                                  [&](const MeshMessage& other) {
                                    return other.way != message.way && other.rank == message.peer &&
                                           other.peer == message.rank && other.lane == message.lane;
                                  });
  return found == timeline.messages.end() ? nullptr : &*found;
}

/// Since when bytes can move, if they do.
std::optional<double> moving_since(const MeshTimeline& timeline, const MeshMessage& message) {
  const MeshMessage* other = other_side(timeline, message);
  if (other == nullptr) return std::nullopt;
  // Sent before anybody wanted it: MPI has kept a copy.
  if (message.way == Way::sent && other->start_seconds >= message.end_seconds)
    return message.start_seconds;
  return std::max(message.start_seconds, other->start_seconds);
}

class Bar {
 public:
  Bar(double seconds, int columns)
      : seconds_(seconds), columns_(columns), line_(static_cast<std::size_t>(columns), ' ') {}

  void wait_until(double end) {
    for (int column = 0; column <= column_of(end); ++column) at(column) = '.';
  }
  void move(double start, double end, char letter) {
    for (int column = column_of(start); column <= column_of(end); ++column) {
      char& seen = at(column);
      seen = seen == '.' || seen == letter ? letter : 'x';
    }
  }
  const std::string& line() const { return line_; }

 private:
  int column_of(double seconds) const {
    const double share = seconds_ > 0 ? seconds / seconds_ : 0;
    return std::clamp(static_cast<int>(std::floor(share * columns_)), 0, columns_ - 1);
  }
  char& at(int column) { return line_[static_cast<std::size_t>(column)]; }

  double seconds_;
  int columns_;
  std::string line_;
};

}  // namespace

std::vector<std::string> bars_of(const MeshTimeline& timeline, int columns) {
  std::vector<Bar> bars(timeline.end_seconds.size(), Bar(length_of(timeline), columns));
  for (std::size_t rank = 0; rank < bars.size(); ++rank)
    bars[rank].wait_until(timeline.end_seconds[rank]);
  for (const MeshMessage& message : timeline.messages)
    if (const auto since = moving_since(timeline, message))
      bars[static_cast<std::size_t>(message.rank)].move(*since, message.end_seconds,
                                                        message.way == Way::sent ? 's' : 'r');
  std::vector<std::string> lines;
  for (const Bar& bar : bars) lines.push_back(bar.line());
  return lines;
}

std::string trace_of(const MeshBenchResult& result) {
  TraceText trace(result.ranks);
  double at = 0;  // us
  for (const MeshTiming& timing : result.timings) {
    if (timing.timeline.end_seconds.empty()) continue;
    for (const MeshMessage& message : timing.timeline.messages) {
      const bool sent = message.way == Way::sent;
      trace.add({.name = fmt::format("{} rank {}", sent ? "send to" : "receive from", message.peer),
                 .category = std::string(name_of(timing.order)),
                 .rank = message.rank,
                 .row = message.lane + (sent ? 0 : mesh_lanes),
                 .start_us = at + message.start_seconds * 1e6,
                 .us = (message.end_seconds - message.start_seconds) * 1e6,
                 .arguments = fmt::format(R"("bytes":{},"direction":"{}")", timing.bytes,
                                          name_of_lane(message.lane))});
    }
    const double length = length_of(timing.timeline) * 1e6;
    for (int rank = 0; rank < result.ranks; ++rank)
      trace.add({.name = fmt::format("{}, {} bytes{}", name_of(timing.order), timing.bytes,
                                     timing.deadlock ? ": deadlock" : ""),
                 .category = "exchange",
                 .rank = rank,
                 .row = 2 * mesh_lanes,
                 .start_us = at,
                 .us = timing.timeline.end_seconds[static_cast<std::size_t>(rank)] * 1e6});
    at += 1.1 * length;
  }
  return trace.text();
}

}  // namespace halocline::bench

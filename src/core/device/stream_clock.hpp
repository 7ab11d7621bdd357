// SPDX-License-Identifier: Apache-2.0
#pragma once
// Times work that a call only queues.

#include <array>
#include <memory>
#include <vector>

#include <halocline/stream.hpp>

#include "base/recorder.hpp"

namespace halocline::device {

/// Times work of one site on a GPU's stream with events around it. Every event costs the GPU about
/// a microsecond, so after the first 32 spans only one in eight is timed; the others count with the
/// average time.
class StreamClock final : public LateTimes {
 public:
  /// `site` is a string literal.
  StreamClock(Recorder& recorder, Phase phase, const char* site);

  /// Queues `work`, or does it on the host's stream, and records its time.
  template <class Work>
  void time(Stream stream, std::int64_t bytes, const Work& work) {
    if (stream.is_host()) {
      const Span span(recorder(), phase_, site_, bytes);
      work();
      return;
    }
    // The host's part: a launch.
    const Span span(recorder(), Phase::call, "launch");
    const bool timed = begin(stream, bytes);
    work();
    if (timed) end(stream);
  }

  void collect() override;
  void forget() override;

 private:
  struct Pair {
    std::shared_ptr<void> begun, ended;
  };
  bool begin(Stream stream, std::int64_t bytes);
  void end(Stream stream);
  void read(const Pair& pair);

  Phase phase_;
  const char* site_;
  std::array<Pair, 32> pairs_;
  std::size_t next_ = 0, pending_ = 0;
  std::int64_t spans_ = 0, timed_ = 0, bytes_ = 0;
  double seconds_ = 0, longest_ = 0;
};

}  // namespace halocline::device

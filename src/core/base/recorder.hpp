// SPDX-License-Identifier: Apache-2.0
#pragma once
// Times of a rank's work: one recorder behind the phase timers, --profile and --trace.

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace halocline {

/// The kind of work. `move` is staging between memories, `call` the posting of messages.
enum class Phase { compute, pack, move, call, wait, unpack, reduce, other };
inline constexpr std::size_t phase_count = 8;
std::string_view name_of(Phase phase);

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Time and bytes of one call site.
struct SiteTotals {
  const char* site;
  Phase phase;
  std::int64_t calls = 0;
  std::int64_t bytes = 0;
  double seconds = 0;
  double longest_seconds = 0;
};

/// One bar of a time line, in seconds since the recorder was created.
struct TraceEvent {
  const char* site;
  Phase phase;
  double start_seconds;
  double seconds;
  std::int64_t bytes;
};

class Recorder;

/// A source of times that become known later: those of a GPU. Belongs to one recorder.
class LateTimes {
 public:
  explicit LateTimes(Recorder& recorder);
  virtual ~LateTimes();
  LateTimes(const LateTimes&) = delete;
  LateTimes& operator=(const LateTimes&) = delete;
  /// Passes the times measured so far to the recorder.
  virtual void collect() = 0;
  /// Discards them.
  virtual void forget() = 0;

 protected:
  Recorder& recorder() const { return recorder_; }

 private:
  Recorder& recorder_;
};

/// Marks every span for a profiler; does nothing unless a GPU is in use.
struct SpanMarks {
  void (*begin)(const char* site) = nullptr;
  void (*end)() = nullptr;
};
inline SpanMarks span_marks;

/// Adds up spans per phase and per call site, and keeps each span when tracing. One thread.
class Recorder {
 public:
  enum class Detail { phases, trace };

  void set_detail(Detail detail) { detail_ = detail; }
  /// Resets the sums per phase and site; the trace continues.
  void reset_totals();
  void add(Phase phase, const char* site, Clock::time_point start, Clock::time_point end,
           std::int64_t bytes);
  /// Adds calls that are not on the host's time line.
  void add_totals(const SiteTotals& totals);
  /// Collects the times of late sources; call it before reading totals.
  void collect();

  double seconds(Phase phase) const { return totals_[static_cast<std::size_t>(phase)]; }
  const std::vector<SiteTotals>& sites() const { return sites_; }
  const std::vector<TraceEvent>& events() const { return events_; }
  /// Spans that were dropped because the trace was full.
  std::int64_t events_dropped() const { return events_dropped_; }

 private:
  friend class LateTimes;

  Detail detail_ = Detail::phases;
  std::vector<LateTimes*> late_;
  Clock::time_point origin_ = Clock::now();
  std::array<double, phase_count> totals_{};
  std::vector<SiteTotals> sites_;
  std::vector<TraceEvent> events_;
  std::int64_t events_dropped_ = 0;
};

/// Records the time from its construction to its destruction. `site` must be a string literal.
class Span {
 public:
  Span(Recorder& recorder, Phase phase, const char* site, std::int64_t bytes = 0)
      : recorder_(recorder), phase_(phase), site_(site), bytes_(bytes), start_(Clock::now()) {
    if (span_marks.begin != nullptr) span_marks.begin(site);
  }
  ~Span() {
    recorder_.add(phase_, site_, start_, Clock::now(), bytes_);
    if (span_marks.end != nullptr) span_marks.end();
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  Recorder& recorder_;
  Phase phase_;
  const char* site_;
  std::int64_t bytes_;
  Clock::time_point start_;
};

}  // namespace halocline

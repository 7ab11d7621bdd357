#pragma once
// Where time goes: one record behind the phase timers, --profile and --trace.

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace halocline {

/// What a rank is doing. `move` is staging between memories, `call` the posting of messages.
enum class Phase { compute, pack, move, call, wait, unpack, reduce, other };
inline constexpr std::size_t phase_count = 8;
std::string_view name_of(Phase phase);

using Clock = std::chrono::steady_clock;

/// Time and bytes of one call site.
struct SiteTotals {
  const char* site;
  Phase phase;
  std::int64_t calls = 0;
  std::int64_t bytes = 0;
  double seconds = 0;
  double longest_seconds = 0;
};

/// One bar of a time line, in seconds since the recorder was made.
struct TraceEvent {
  const char* site;
  Phase phase;
  double start_seconds;
  double seconds;
  std::int64_t bytes;
};

/// Adds up spans per phase and per call site, and keeps each span when tracing. One thread.
class Recorder {
 public:
  enum class Detail { phases, trace };

  void set_detail(Detail detail) { detail_ = detail; }
  /// Forgets what was added up per phase and site; the trace goes on.
  void reset_totals();
  void add(Phase phase, const char* site, Clock::time_point start, Clock::time_point end,
           std::int64_t bytes);

  double seconds(Phase phase) const { return totals_[static_cast<std::size_t>(phase)]; }
  const std::vector<SiteTotals>& sites() const { return sites_; }
  const std::vector<TraceEvent>& events() const { return events_; }
  /// Spans that were not kept because the trace was full.
  std::int64_t events_dropped() const { return events_dropped_; }

 private:
  Detail detail_ = Detail::phases;
  Clock::time_point origin_ = Clock::now();
  std::array<double, phase_count> totals_{};
  std::vector<SiteTotals> sites_;
  std::vector<TraceEvent> events_;
  std::int64_t events_dropped_ = 0;
};

/// Records the time from its making to its end. `site` must be a string literal.
class Span {
 public:
  Span(Recorder& recorder, Phase phase, const char* site, std::int64_t bytes = 0)
      : recorder_(recorder), phase_(phase), site_(site), bytes_(bytes), start_(Clock::now()) {}
  ~Span() { recorder_.add(phase_, site_, start_, Clock::now(), bytes_); }
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

// SPDX-License-Identifier: Apache-2.0
#include "bench/p2p_timeline.hpp"

#include <array>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "bench/p2p_bench.hpp"
#include "bench/trace_text.hpp"
#include "comm/collectives.hpp"

namespace halocline::bench {
namespace {

/// "send to rank 1".
std::string words_for(const P2pSpan& span, const RankPair& ranks) {
  const bool is_first = span.rank == ranks.first;
  const int peer = is_first ? ranks.second : ranks.first;
  if (span.work != P2pWork::one_way)
    return fmt::format("{} with rank {}", name_of(span.work), peer);
  return fmt::format("{} rank {}", is_first ? "send to" : "receive from", peer);
}

}  // namespace

std::string_view name_of(P2pWork work) {
  constexpr std::array<std::string_view, 3> names{"round trips", "one way", "both ways"};
  return names[static_cast<std::size_t>(work)];
}

P2pSpans::P2pSpans(const Communicator& communicator) : communicator_(communicator) {
  comm::barrier(communicator);
  begin_ = Clock::now();
}

std::function<void()> P2pSpans::keep(const P2pSpan& span, std::function<void()> work) {
  return [this, kept = span, work = std::move(work), left = most]() mutable {
    if (left == 0) return work();
    --left;
    kept.start_seconds = seconds_since(begin_);
    work();
    kept.seconds = seconds_since(begin_) - kept.start_seconds;
    spans_.push_back(kept);
  };
}

void P2pSpans::forget(std::size_t timing) {
  std::erase_if(spans_, [&](const P2pSpan& span) { return span.timing == timing; });
}

std::vector<P2pSpan> P2pSpans::gather() const {
  std::string mine;
  for (const P2pSpan& span : spans_)
    mine += fmt::format("{} {} {} {} {} {}\n", span.rank, span.timing, static_cast<int>(span.work),
                        span.messages, span.start_seconds, span.seconds);
  std::vector<P2pSpan> all;
  for (const std::string& text : comm::gather_texts(communicator_, mine)) {
    std::istringstream words(text);
    P2pSpan span;
    for (int work = 0; words >> span.rank >> span.timing >> work >> span.messages >>
                       span.start_seconds >> span.seconds;
         all.push_back(span))
      span.work = static_cast<P2pWork>(work);
  }
  return all;
}

std::string trace_of(const P2pBenchResult& result) {
  TraceText trace(result.ranks);
  for (const P2pSpan& span : result.spans) {
    const P2pTiming& timing = result.timings[span.timing];
    trace.add(
        {.name = words_for(span, timing.ranks),
         .category = timing.transport,
         .rank = span.rank,
         .start_us = 1e6 * span.start_seconds,
         .us = 1e6 * span.seconds,
         .arguments = fmt::format(R"("transport":"{}","memory":"{}","bytes":{},"messages":{})",
                                  timing.transport, timing.memory, timing.bytes, span.messages)});
  }
  return trace.text();
}

}  // namespace halocline::bench

// SPDX-License-Identifier: Apache-2.0
// Pairs and sizes of bench p2p from options, and outliers, without MPI.

#include <algorithm>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "bench/combinations.hpp"
#include "bench/p2p_bench.hpp"
#include "text/refuse.hpp"
#include "transport/transport.hpp"

namespace halocline::bench {
namespace {

// MPI counts the bytes of a message in 32 bits.
constexpr std::int64_t most_bytes_of_trip = std::int64_t{1} << 30;
constexpr std::int64_t most_messages = 10'000;
// Pairs of four H200 differ by 1 % in bandwidth by peer and by 12 % by staged, and as much in
// latency. The limits detect links of half the width.
constexpr double least_share_of_bandwidth = 0.75, most_of_latency = 1.5;
constexpr std::size_t fewest_to_compare = 3;

void check_transport(const std::string& name) {
  std::string names;
  for (const transport::Transport* transport : transport::transports()) {
    if (transport->name() == "self") continue;
    if (transport->name() == name) return;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", transport->name());
  }
  refuse(fmt::format("unknown transport '{}' between two ranks; choose from: {}", name, names));
}

/// Adds outliers among `alike` pairs by one of their times. A bandwidth is the inverse of a time.
void find_outliers(const std::vector<const P2pTiming*>& alike, timing::TimeSummary P2pTiming::*time,
                   const std::string& what, std::vector<P2pOutlier>& found) {
  if (alike.size() < fewest_to_compare) return;
  std::vector<double> seconds;
  for (const P2pTiming* timing : alike) seconds.push_back((timing->*time).median_seconds);
  std::sort(seconds.begin(), seconds.end());
  const double median = timing::percentile(seconds, 50);
  for (const P2pTiming* timing : alike) {
    const double share = (timing->*time).median_seconds / median;
    const bool is_latency = what == "latency";
    if (is_latency ? share <= most_of_latency : 1 / share >= least_share_of_bandwidth) continue;
    found.push_back({.ranks = timing->ranks,
                     .kind = timing->kind,
                     .memory = timing->memory,
                     .transport = timing->transport,
                     .bytes = timing->bytes,
                     .what = what,
                     .share = is_latency ? share : 1 / share});
  }
}

}  // namespace

bool are_alike(const P2pTiming& a, const P2pTiming& b) {
  return a.kind == b.kind && a.memory == b.memory && a.transport == b.transport &&
         a.bytes == b.bytes;
}

std::vector<RankPair> p2p_pairs(const P2pBenchOptions& options, int ranks) {
  if (ranks < 2) refuse("one rank has no partner to send to; use more (--ranks 2)");
  std::vector<RankPair> pairs;
  for (const RankPair& pair : options.pairs) {
    for (const int rank : {pair.first, pair.second})
      if (rank < 0 || rank >= ranks)
        refuse(fmt::format("rank {} does not exist among {} ranks; use 0 to {}", rank, ranks,
                           ranks - 1));
    if (pair.first == pair.second)
      refuse(fmt::format("rank {} cannot be paired with itself", pair.first));
    const RankPair ordered{std::min(pair.first, pair.second), std::max(pair.first, pair.second)};
    if (std::find(pairs.begin(), pairs.end(), ordered) == pairs.end()) pairs.push_back(ordered);
  }
  if (!options.pairs.empty()) return pairs;
  for (int first = 0; first < ranks; ++first)
    for (int second = first + 1; second < ranks; ++second) pairs.push_back({first, second});
  return pairs;
}

std::vector<std::int64_t> p2p_sizes(const P2pBenchOptions& options) {
  std::vector<std::int64_t> sizes = options.sizes;
  if (sizes.empty()) sizes = {1, 8, 64, 512, 4 << 10, 32 << 10, 256 << 10, 1 << 20, 4 << 20};
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  for (const std::int64_t bytes : sizes)
    if (bytes < 1 || bytes > most_bytes_of_trip)
      refuse(fmt::format("a message of {} bytes cannot be timed; use 1 to 1Gi", bytes));
  return sizes;
}

std::vector<P2pOutlier> p2p_outliers(const std::vector<P2pTiming>& timings) {
  std::vector<P2pOutlier> found;
  std::vector<P2pTiming> seen;  // one of each kind of measurement
  std::int64_t smallest = most_bytes_of_trip, largest = 0;
  for (const P2pTiming& timing : timings) {
    smallest = std::min(smallest, timing.bytes);
    largest = std::max(largest, timing.bytes);
  }
  for (const P2pTiming& timing : timings) {
    if (std::any_of(seen.begin(), seen.end(),
                    [&](const P2pTiming& other) { return are_alike(timing, other); }))
      continue;
    seen.push_back(timing);
    std::vector<const P2pTiming*> same;
    for (const P2pTiming& other : timings)
      if (!other.wrong && are_alike(timing, other)) same.push_back(&other);
    if (timing.bytes == smallest) find_outliers(same, &P2pTiming::latency, "latency", found);
    if (timing.bytes != largest) continue;
    find_outliers(same, &P2pTiming::one_way, "one way", found);
    find_outliers(same, &P2pTiming::both_ways, "both ways", found);
  }
  return found;
}

void check(const P2pBenchOptions& options, int ranks) {
  p2p_pairs(options, ranks);
  p2p_sizes(options);
  for (const std::string& transport : options.transports) check_transport(transport);
  if (options.window < 1 || options.window > most_messages)
    refuse(fmt::format("a window of {} messages is out of range; use --window 1 to {}",
                       options.window, most_messages));
  check(options.loop);
  check_memories(options.memories);
}

}  // namespace halocline::bench

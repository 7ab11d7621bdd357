// SPDX-License-Identifier: Apache-2.0
#pragma once
// What messages between two ranks cost: latency and bandwidth of every pair, by every transport.

#include <optional>
#include <string>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/run_result.hpp>

#include "bench/p2p_timeline.hpp"
#include "proof/records.hpp"
#include "timing/harness.hpp"

namespace halocline::bench {

struct RankPair {
  int first = 0, second = 1;
  friend bool operator==(const RankPair&, const RankPair&) = default;
};

struct P2pBenchOptions {
  std::vector<RankPair> pairs;                ///< empty: all
  std::vector<std::int64_t> sizes;            ///< bytes of a message; empty: some from 1 B to 4 MiB
  std::vector<std::string> transports;        ///< empty: all that can be used and are proved
  std::vector<std::string> memories{"auto"};  ///< as solve --memory
  std::int64_t window = 64;                   ///< messages for a bandwidth
  timing::LoopOptions loop{.seconds = 0.05};  ///< of each measurement
  std::optional<std::string> proofs;          ///< as ExchangeOptions::proofs
  bool keeps_spans = false;                   ///< for trace_of()
};

/// Lists the pairs that are timed, lower rank first. Throws usage for what makes no sense, without
/// MPI.
std::vector<RankPair> p2p_pairs(const P2pBenchOptions& options, int ranks);
/// The sizes that are timed, ascending.
std::vector<std::int64_t> p2p_sizes(const P2pBenchOptions& options);

/// Messages of one size between two ranks; the same on every rank. Times are the first rank's.
struct P2pTiming {
  RankPair ranks;
  proof::GpuPair kind = proof::GpuPair::same_node;
  std::string memory, transport;
  std::int64_t bytes = 0;
  std::optional<std::string> wrong{};  ///< the first wrong byte; then no time counts
  timing::TimeSummary latency{};       ///< half of a round trip
  timing::TimeSummary one_way{};       ///< of a window of messages and a short answer
  timing::TimeSummary both_ways{};     ///< of a window in each direction at once
};

/// A pair that stands out among those of its kind.
struct P2pOutlier {
  RankPair ranks;
  proof::GpuPair kind = proof::GpuPair::same_node;
  std::string memory, transport;
  std::int64_t bytes = 0;
  std::string what;  ///< "latency", "one way", "both ways"
  double share = 0;  ///< of the median: 1.6 for a latency, 0.6 for a bandwidth
};

/// Finds pairs with less than 3/4 of the median bandwidth of the largest size, or more than 3/2 of
/// the median latency of the smallest, of at least three pairs of a kind by one transport. Pure.
std::vector<P2pOutlier> p2p_outliers(const std::vector<P2pTiming>& timings);

struct P2pBenchResult {
  std::string mpi;
  int ranks = 0, nodes = 0;
  std::int64_t window = 0;
  bool are_crowded = false;          ///< ranks of a node share its cores: no pair stands out
  std::vector<std::string> hosts{};  ///< by rank; on rank 0
  std::vector<RunDevice> devices{};
  std::vector<P2pTiming> timings{};
  std::vector<P2pSpan> spans{};  ///< if they were to be kept; on rank 0
  std::vector<std::string> notes{};
};

/// Sends between each pair alone, while the others wait; checks every byte before and after it is
/// timed. What cannot be had here is left out with a note. Collective. Throws usage, unavailable if
/// nothing can be timed, resource or communication, the same on every rank.
P2pBenchResult run_p2p_bench(const Communicator& communicator, const P2pBenchOptions& options);

/// Throws what run_p2p_bench() would throw of usage errors, without MPI.
void check(const P2pBenchOptions& options, int ranks);

}  // namespace halocline::bench

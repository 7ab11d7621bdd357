// SPDX-License-Identifier: Apache-2.0
#pragma once
// Times latency and bandwidth of messages between each pair of ranks, by each transport.

#include <optional>
#include <string>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/run_result.hpp>

#include "bench/p2p_timeline.hpp"
#include "proof/records.hpp"
#include "report/report.hpp"
#include "timing/harness.hpp"

namespace halocline::bench {

struct RankPair {
  int first = 0, second = 1;
  friend bool operator==(const RankPair&, const RankPair&) = default;
};

struct P2pBenchOptions {
  std::vector<RankPair> pairs;          ///< empty: all
  std::vector<std::int64_t> sizes;      ///< bytes of a message; empty: several from 1 B to 4 MiB
  std::vector<std::string> transports;  ///< empty: all usable and proved ones
  std::vector<std::string> memories{"auto"};  ///< as solve --memory
  std::int64_t window = 64;                   ///< messages per bandwidth measurement
  timing::LoopOptions loop{.seconds = 0.05};  ///< of each measurement
  std::optional<std::string> proofs;          ///< as ExchangeOptions::proofs
  bool keeps_spans = false;                   ///< for trace_of()
};

/// Lists the pairs to time, lower rank first. Throws usage for invalid options, without MPI.
std::vector<RankPair> p2p_pairs(const P2pBenchOptions& options, int ranks);
/// Lists the sizes to time, ascending.
std::vector<std::int64_t> p2p_sizes(const P2pBenchOptions& options);

/// Messages of one size between two ranks; the same on every rank. Times are the first rank's.
struct P2pTiming {
  RankPair ranks;
  proof::GpuPair kind = proof::GpuPair::same_node;
  std::string memory, transport;
  std::int64_t bytes = 0;
  std::optional<std::string> wrong{};  ///< the first wrong byte; then times are invalid
  timing::TimeSummary latency{};       ///< half of a round trip
  timing::TimeSummary one_way{};       ///< of a window of messages and a short reply
  timing::TimeSummary both_ways{};     ///< of a window in each direction at once
};

/// Returns whether two timings differ only in the ranks, and can be compared.
bool are_alike(const P2pTiming& a, const P2pTiming& b);

/// A pair that is slower than others of its kind.
struct P2pOutlier {
  RankPair ranks;
  proof::GpuPair kind = proof::GpuPair::same_node;
  std::string memory, transport;
  std::int64_t bytes = 0;
  std::string what;  ///< "latency", "one way", "both ways"
  double share = 0;  ///< relative to the median: 1.6 for a latency, 0.6 for a bandwidth
};

/// Finds pairs with less than 3/4 of the median bandwidth of the largest size, or more than 3/2 of
/// the median latency of the smallest, of at least three pairs of a kind by one transport. Pure.
std::vector<P2pOutlier> p2p_outliers(const std::vector<P2pTiming>& timings);

struct P2pBenchResult {
  std::string mpi;
  int ranks = 0, nodes = 0;
  std::int64_t window = 0;
  bool are_crowded = false;          ///< ranks share cores, so outliers are not reported
  std::vector<std::string> hosts{};  ///< by rank; on rank 0
  std::vector<RunDevice> devices{};
  std::vector<P2pTiming> timings{};
  std::vector<P2pSpan> spans{};  ///< if keeps_spans; on rank 0
  std::vector<std::string> notes{};
};

/// Sends between each pair alone, while the others wait; checks every byte before and after the
/// timing. Leaves out what is not available here, with a note. Collective. Throws usage,
/// unavailable if nothing can be timed, resource or communication, the same on every rank.
P2pBenchResult run_p2p_bench(const Communicator& communicator, const P2pBenchOptions& options);

/// Throws the usage errors of run_p2p_bench(), without MPI.
void check(const P2pBenchOptions& options, int ranks);

Report report_of(const P2pBenchResult& result);
/// Returns the first measurement that moved a wrong byte, in words; nothing if none did.
std::optional<std::string> wrong_of(const P2pBenchResult& result);
/// "ranks 0-3, 8 bytes by peer with device memory".
std::string name_of(const P2pTiming& timing);
/// Returns MB/s (10^6 bytes per second) of a window of messages that took `seconds`. For both
/// directions together, count the result twice.
double megabytes_per_second(const P2pBenchResult& result, const P2pTiming& timing, double seconds);

}  // namespace halocline::bench

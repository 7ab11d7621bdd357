// SPDX-License-Identifier: Apache-2.0
#pragma once
// Times exchanges for combinations of sizes, widths, fields, memories and transports.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/exchange.hpp>
#include <halocline/run_result.hpp>

#include "report/report.hpp"
#include "timing/harness.hpp"

namespace halocline::bench {

struct HaloBenchOptions {
  std::vector<Extents> cells_per_rank;  ///< empty: several of 2 and 3 axes
  std::vector<std::int64_t> widths{1};  ///< of the halo, on all sides
  std::vector<std::int64_t> fields{1};  ///< exchanged together
  Neighbours neighbours = Neighbours::faces;
  std::string precision = "f64";              ///< "f32", "f64"
  std::vector<std::string> transports;        ///< empty: all usable and proved ones
  std::vector<std::string> memories{"auto"};  ///< as solve --memory
  /// "off", "on": record exchanges in a CUDA graph, if all transports allow it.
  std::vector<std::string> graphs{"off"};
  std::vector<std::string> rivals;  ///< to compare with; names as in rivals.hpp
  Extents process_grid;             ///< empty: splits the slowest axis, as `solve --cells-per-rank`
  std::array<bool, 3> periodic{};
  timing::LoopOptions loop;           ///< of each case
  std::optional<std::string> proofs;  ///< as ExchangeOptions::proofs
};

/// What is exchanged, apart from memory and transport.
struct HaloCase {
  GridOptions grid;
  Extents cells_per_rank;
  std::int64_t width = 1, fields = 1;
};

/// Lists the cases for a number of ranks, sizes outermost. Throws usage for invalid options.
std::vector<HaloCase> halo_cases(const HaloBenchOptions& options, int ranks);

/// Exchanges in one CUDA graph. Launch and wait take about 10 us on the host, which is 0.1 us per
/// exchange; the shortest exchange takes a few us.
inline constexpr std::int64_t exchanges_per_graph = 100;

/// Result of one case with one transport or rival; the same on every rank.
struct HaloTiming {
  Extents cells_per_rank, process_grid;
  std::int64_t width = 1, fields = 1;
  std::string memory;
  std::vector<std::pair<std::string, std::string>> transports;  ///< by kind of pair
  std::string rival{};                   ///< instead of transports; name as in rivals.hpp
  std::optional<std::string> not_run{};  ///< why a rival did not run
  std::int64_t messages = 0, bytes = 0;  ///< to other ranks, of the busiest rank
  /// "on": times are those of `exchanges_per_graph` exchanges, divided by their number.
  std::string graph = "off";
  std::optional<std::string> wrong{};  ///< the first wrong byte; then there are no times
  timing::TimeSummary time{};
  /// Bytes over the median; nothing if no byte leaves a rank.
  std::optional<double> gigabytes_per_second{};
  /// Rate of a memcpy of as many bytes in each rank; only for host memory on one node.
  std::optional<double> memcpy_gigabytes_per_second{};
  /// Rate of large copies to the same neighbours; only between GPUs of one node.
  std::optional<double> link_gigabytes_per_second{};
  /// Seconds of one exchange by phase, mean over ranks. Empty in a graph.
  std::vector<std::pair<std::string, double>> phases{};
};

struct HaloBenchResult {
  Neighbours neighbours = Neighbours::faces;
  std::string precision, mpi;
  std::array<bool, 3> periodic{};
  int ranks = 0, nodes = 0;
  std::vector<RunDevice> devices{};
  std::vector<HaloTiming> timings{};
  std::vector<HaloTiming> rivals{};  ///< for each case and memory
  std::vector<std::string> notes{};
};

/// Verifies each case and rival once, byte by byte, and times it. Collective. Throws usage,
/// unavailable, resource or communication, the same on every rank.
HaloBenchResult run_halo_bench(const Communicator& communicator, const HaloBenchOptions& options);

/// Throws the usage errors of run_halo_bench(), without MPI.
void check(const HaloBenchOptions& options, int ranks);

Report report_of(const HaloBenchResult& result);
/// Returns the first measurement that moved a wrong byte, in words; nothing if none did.
std::optional<std::string> wrong_of(const HaloBenchResult& result);
/// "1024x1024 cells per rank by shared".
std::string name_of(const HaloTiming& timing);

}  // namespace halocline::bench

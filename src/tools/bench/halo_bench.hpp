// SPDX-License-Identifier: Apache-2.0
#pragma once
// How long an exchange takes: every combination of sizes, widths, fields, memories and transports.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/exchange.hpp>
#include <halocline/run_result.hpp>

#include "timing/harness.hpp"

namespace halocline::bench {

struct HaloBenchOptions {
  std::vector<Extents> cells_per_rank;  ///< empty: some of 2 and of 3 axes
  std::vector<std::int64_t> widths{1};  ///< of the halo, on all sides
  std::vector<std::int64_t> fields{1};  ///< exchanged together
  Neighbours neighbours = Neighbours::faces;
  std::string precision = "f64";              ///< "f32", "f64"
  std::vector<std::string> transports;        ///< empty: all that can be used and are proved
  std::vector<std::string> memories{"auto"};  ///< as solve --memory
  /// "off", "on": whether exchanges are recorded in a CUDA graph, where all transports allow it.
  std::vector<std::string> graphs{"off"};
  std::vector<std::string> rivals;  ///< to compare with, as rivals.hpp names them
  Extents process_grid;  ///< empty: the slowest axis is split, as `solve --cells-per-rank` does
  std::array<bool, 3> periodic{};
  timing::LoopOptions loop;           ///< of each case
  std::optional<std::string> proofs;  ///< as ExchangeOptions::proofs
};

/// What is exchanged, apart from where it lies and who carries it.
struct HaloCase {
  GridOptions grid;
  Extents cells_per_rank;
  std::int64_t width = 1, fields = 1;
};

/// Lists the cases for a number of ranks, sizes outermost. Throws usage for what makes no sense.
std::vector<HaloCase> halo_cases(const HaloBenchOptions& options, int ranks);

/// Exchanges in one CUDA graph. Launching it and waiting for it takes the host about 10 us, which
/// so many share: 0.1 us of each, where the shortest takes some.
inline constexpr std::int64_t exchanges_per_graph = 100;

/// What became of one case by one transport or rival; the same on every rank.
struct HaloTiming {
  Extents cells_per_rank, process_grid;
  std::int64_t width = 1, fields = 1;
  std::string memory;
  std::vector<std::pair<std::string, std::string>> transports;  ///< by kind of pair
  std::string rival{};                   ///< instead of transports, as rivals.hpp names it
  std::optional<std::string> not_run{};  ///< why a rival did not
  std::int64_t messages = 0, bytes = 0;  ///< to other ranks, of the rank that sends most
  /// "on": times are those of `exchanges_per_graph` exchanges, divided by their number.
  std::string graph = "off";
  std::optional<std::string> wrong{};  ///< the first wrong byte; then nothing was timed
  timing::TimeSummary time{};
  /// Bytes over the median; nothing if no byte leaves a rank.
  std::optional<double> gigabytes_per_second{};
  /// The same of a copy of as many bytes within the ranks; only where copies move them.
  std::optional<double> memcpy_gigabytes_per_second{};
  /// The same of large copies to the same neighbours; only between GPUs of one node.
  std::optional<double> link_gigabytes_per_second{};
  /// Seconds of one exchange spent on packing, and so on, mean over ranks. None in a graph.
  std::vector<std::pair<std::string, double>> phases{};
};

struct HaloBenchResult {
  Neighbours neighbours = Neighbours::faces;
  std::string precision, mpi;
  std::array<bool, 3> periodic{};
  int ranks = 0, nodes = 0;
  std::vector<RunDevice> devices{};
  std::vector<HaloTiming> timings{};
  std::vector<HaloTiming> rivals{};  ///< one of each for each case and memory
  std::vector<std::string> notes{};
};

/// Verifies each case once, of rivals too, byte by byte, and times it. Collective. Throws usage,
/// unavailable, resource or communication, the same on every rank.
HaloBenchResult run_halo_bench(const Communicator& communicator, const HaloBenchOptions& options);

/// Throws what run_halo_bench() would throw of usage errors, without MPI.
void check(const HaloBenchOptions& options, int ranks);

}  // namespace halocline::bench

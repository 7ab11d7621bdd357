// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the first exchanges of a plan cost more than later ones.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/run_result.hpp>

#include "report/report.hpp"

namespace halocline::bench {

struct FirstUseBenchOptions {
  std::vector<std::int64_t> sizes;            ///< bytes to each neighbour; empty: 4 KiB and 4 MiB
  std::vector<std::string> transports;        ///< empty: all that can be used and are proved
  std::vector<std::string> memories{"auto"};  ///< as solve --memory
  std::int64_t exchanges = 50;                ///< of each case
  std::optional<std::string> proofs;          ///< as ExchangeOptions::proofs
};

/// The sizes that are timed, ascending. Throws usage for what cannot be exchanged.
std::vector<std::int64_t> first_use_sizes(const FirstUseBenchOptions& options);

/// One plan, and its exchanges from the first on; the same on every rank.
struct FirstUseTiming {
  std::string memory;
  std::vector<std::pair<std::string, std::string>> transports;  ///< by kind of pair
  std::int64_t bytes = 0;
  std::optional<std::string> wrong{};  ///< the first wrong byte after all of them
  double open_seconds = 0;             ///< making the plan, the slowest rank's
  std::vector<double> seconds{};       ///< of each exchange, the slowest rank's
  double steady_seconds = 0;           ///< the median of the second half
  std::int64_t steady_from = 0;  ///< the first exchange from which on three in a row are steady
  double extra_seconds = 0;      ///< that those before took more than steady ones
};

/// Sets what follows from the seconds of each exchange: steady is what takes at most half as long
/// again as the median of the second half. Pure.
void find_steady(FirstUseTiming& timing);

struct FirstUseBenchResult {
  std::string mpi;
  int ranks = 0, nodes = 0;
  double place_seconds = 0;  ///< starting to use GPUs, the slowest rank's; next to none without
  std::vector<RunDevice> devices{};
  std::vector<FirstUseTiming> timings{};
  std::vector<std::string> notes{};
};

/// Makes a plan for ranks in a row and exchanges again and again, for each memory, transport and
/// size, and compares every byte afterwards. What a process pays once, the first case pays.
/// Collective; throws usage, unavailable, resource or communication, the same on every rank.
FirstUseBenchResult run_first_use_bench(const Communicator& communicator,
                                        const FirstUseBenchOptions& options);

/// Throws what run_first_use_bench() would throw of usage errors, without MPI.
void check(const FirstUseBenchOptions& options, int ranks);

Report report_of(const FirstUseBenchResult& result);
/// The first measurement that moved a wrong byte, in words; nothing if none did.
std::optional<std::string> wrong_of(const FirstUseBenchResult& result);

/// "4096 bytes by peer with device memory".
std::string name_of(const FirstUseTiming& timing);

}  // namespace halocline::bench

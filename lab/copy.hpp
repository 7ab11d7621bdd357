// SPDX-License-Identifier: Apache-2.0
#pragma once
// What copies between memories of a rank and its GPU reach: what bounds everything else.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/run_result.hpp>

#include "report/report.hpp"
#include "timing/harness.hpp"

namespace halocline::bench {

struct CopyBenchOptions {
  std::vector<std::int64_t> sizes;  ///< bytes of a copy; empty: some from 4 KiB to 256 MiB
  timing::LoopOptions loop{.seconds = 0.05, .fewest = 10};  ///< of each case
};

/// The sizes that are timed, ascending. Throws usage for what cannot be copied.
std::vector<std::int64_t> copy_sizes(const CopyBenchOptions& options);

/// Copies that follow each other, so that neither reading the clock nor waiting for a GPU is seen
/// in small ones: as many as make 1 MiB, at most 16.
std::int64_t copies_at_once(std::int64_t bytes);

/// Copies of one size; the same on every rank.
struct CopyTiming {
  std::string from, to;  ///< "host", "pinned", "device", "next device": that of the next rank
  std::int64_t bytes = 0;
  std::optional<std::string> wrong{};  ///< the first wrong byte; then nothing was timed
  timing::TimeSummary time{};          ///< of one copy: copies_at_once() of them, divided
  double gigabytes_per_second = 0;     ///< bytes copied over the median, of each rank
};

struct CopyBenchResult {
  std::string mpi;
  int ranks = 0, nodes = 0;
  std::vector<RunDevice> devices{};
  std::vector<CopyTiming> timings{};
  std::vector<std::string> notes{};
};

/// Copies on all ranks at once, from one buffer to another, and checks every byte before. Without
/// GPUs only within the host. Collective. Throws usage, resource, device or communication, the same
/// on every rank.
CopyBenchResult run_copy_bench(const Communicator& communicator, const CopyBenchOptions& options);

/// Throws what run_copy_bench() would throw of usage errors, without MPI.
void check(const CopyBenchOptions& options);

Report report_of(const CopyBenchResult& result);
/// The first measurement that moved a wrong byte, in words; nothing if none did.
std::optional<std::string> wrong_of(const CopyBenchResult& result);

/// "from pinned to device, 4096 bytes".
std::string name_of(const CopyTiming& timing);

}  // namespace halocline::bench

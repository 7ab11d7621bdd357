// SPDX-License-Identifier: Apache-2.0
#pragma once
// What using a GPU costs a host, apart from the work: its messages, pinned memory, and waiting.

#include <optional>
#include <string>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/run_result.hpp>

#include "report/report.hpp"
#include "timing/harness.hpp"

namespace halocline::bench {

struct OverheadBenchOptions {
  std::vector<std::int64_t> message_sizes{8, 64 << 10, 1 << 20};
  std::vector<std::int64_t> memory_sizes{4 << 10, 1 << 20, 64 << 20};
  timing::LoopOptions loop{.seconds = 0.1};  ///< of each measurement
};

/// MPI_Send and MPI_Recv between ranks 0 and 1: half of a round trip.
struct MessageCost {
  /// The memory of messages, and whether the process has begun to use a GPU.
  enum class Stand { before_gpu, host, pinned } stand = Stand::before_gpu;
  std::int64_t bytes = 0;
  std::optional<std::string> wrong{};  ///< the first wrong byte
  timing::TimeSummary time{};
};

/// A call, or calls that belong together, and what the host spends on it. Rank 0's.
struct CallCost {
  std::string name, text;
  std::int64_t bytes = 0;  ///< 0 where there are none
  timing::TimeSummary time{};
};

struct OverheadBenchResult {
  std::string mpi;
  int ranks = 0, nodes = 0;
  std::vector<RunDevice> devices{};
  std::vector<MessageCost> messages{};  ///< none on one rank
  std::vector<CallCost> pinning{};
  std::vector<CallCost> waiting{};
  std::vector<std::string> notes{};
};

/// Measures messages before and after this process has begun to use its GPU, so it must not have
/// yet; every byte of messages is compared. Collective; ranks beyond the second wait. Throws usage,
/// unavailable without a GPU, resource, device or communication, the same on every rank.
OverheadBenchResult run_overhead_bench(const Communicator& communicator,
                                       const OverheadBenchOptions& options);

/// Throws what run_overhead_bench() would throw of usage errors, without MPI.
void check(const OverheadBenchOptions& options);

Report report_of(const OverheadBenchResult& result);
/// The first measurement that moved a wrong byte, in words; nothing if none did.
std::optional<std::string> wrong_of(const OverheadBenchResult& result);

/// "before-gpu", "host", "pinned".
std::string_view name_of(MessageCost::Stand stand);
/// "8 B before the GPU is used".
std::string name_of(const MessageCost& cost);

}  // namespace halocline::bench

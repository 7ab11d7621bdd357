// SPDX-License-Identifier: Apache-2.0
#pragma once
// The exchange with up to four neighbours of a mesh, in every order in which its messages can be
// posted: one that deadlocks, one that runs one rank after another, and two that do not.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/grid.hpp>

#include "lab/mesh_order.hpp"
#include "report/report.hpp"
#include "timing/harness.hpp"

namespace halocline::bench {

struct MeshBenchOptions {
  std::vector<MeshOrder> orders{std::begin(mesh_orders), std::end(mesh_orders)};
  std::vector<std::int64_t> sizes{1 << 10, 64 << 10, 1 << 20};  ///< bytes of a message
  Extents process_grid;            ///< two axes; empty: as square as can be
  std::array<bool, 3> periodic{};  ///< x and y
  timing::LoopOptions loop;        ///< of each case
};

/// A message as one of its two ranks sees it.
struct MeshMessage {
  enum class Way { sent, received };
  Way way = Way::sent;
  int rank = 0, peer = 0;
  int lane = 0;  ///< as in MeshStep
  /// From the making of the call, or its posting, to its end; since the exchange began.
  double start_seconds = 0, end_seconds = 0;
};

/// What one exchange looked like: on one node by one clock, else by each rank's own since it left
/// a barrier.
struct MeshTimeline {
  std::vector<MeshMessage> messages;  ///< by rank, each in order of posting
  std::vector<double> end_seconds;    ///< by rank: nothing is left to do
};

/// Ranks that wait for each other, and would for ever.
struct MeshDeadlock {
  std::vector<int> circle;
  int others = 0;    ///< ranks that are stuck, too
  std::string text;  ///< of the circle
};

/// What became of one size in one order. Timelines are rank 0's to know, all else is the same on
/// every rank.
struct MeshTiming {
  std::int64_t bytes = 0;
  MeshOrder order = MeshOrder::send_first;
  std::optional<MeshDeadlock> deadlock{};  ///< then nothing was timed
  std::optional<std::string> wrong{};      ///< the first wrong byte; then nothing was timed
  timing::TimeSummary time{};
  MeshTimeline timeline{};  ///< of a typical exchange, or up to where it was stuck
};

struct MeshBenchResult {
  std::string mpi;
  int ranks = 0, nodes = 0;
  Extents process_grid{};
  std::array<bool, 3> periodic{};
  std::int64_t messages = 0;  ///< of one exchange, of the rank that sends most
  std::vector<MeshTiming> timings{};
  std::vector<std::string> notes{};
};

/// The process grid that is used. Throws usage for what makes no sense, without MPI.
Extents mesh_process_grid(const MeshBenchOptions& options, int ranks);

/// Tries each order with each size once, and checks every byte; times those that do not deadlock,
/// and checks every byte again. Calls that block are their non-blocking twins, waited for at once:
/// that is what the standard says MPI_Send and MPI_Recv do, and a deadlock can be left so.
/// Collective. Throws usage, resource or communication, the same on every rank.
MeshBenchResult run_mesh_bench(const Communicator& communicator, const MeshBenchOptions& options);

/// Throws what run_mesh_bench() would throw of usage errors, without MPI.
void check(const MeshBenchOptions& options, int ranks);

Report report_of(const MeshBenchResult& result);
/// The first measurement that moved a wrong byte, in words; nothing if none did.
std::optional<std::string> wrong_of(const MeshBenchResult& result);

/// "ordered, 1 MiB".
std::string name_of(const MeshTiming& timing);

}  // namespace halocline::bench

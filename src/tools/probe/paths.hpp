// SPDX-License-Identifier: Apache-2.0
#pragma once
// Paths: a transport with fields in some memory, between a kind of pair; and collectives of MPI.
// What became of each.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <halocline/memory.hpp>

#include "base/process/variables.hpp"
#include "device/allocator.hpp"
#include "proof/records.hpp"

namespace halocline::probe {

/// Ways to send as ordinary programs do: MPI_Send and MPI_Recv; MPI_Isend and MPI_Irecv;
/// MPI_Send_init and MPI_Recv_init; MPI_Sendrecv. They are no transports.
inline constexpr const char* plain_mpi = "MPI_Send";
inline constexpr const char* plain_ways[] = {plain_mpi, "MPI_Isend", "MPI_Send_init",
                                             "MPI_Sendrecv"};

/// Collectives as ordinary programs call them, over all ranks; no transports either.
inline constexpr const char* collectives[] = {"MPI_Allreduce", "MPI_Bcast", "MPI_Allgather"};

/// Which ranks a path is between; of a collective, the farthest.
enum class Distance { same_node, other_node };

struct Path {
  std::string transport;  ///< as transport::find_transport() knows it, a plain way or a collective
  Memory memory = Memory::host;
  Distance distance = Distance::same_node;
  device::Allocator allocator = device::Allocator::ordinary;

  friend bool operator==(const Path&, const Path&) = default;
};

bool is_plain(const Path& path);
bool is_collective(const Path& path);

/// The memory of its fields: as halocline::name_of() has it, "pool" or "vmm".
std::string_view memory_of(const Path& path);

/// "staged:device", "mpi:host:other-node", "gpu_aware:pool", and back; nothing for what is none.
std::string word_of(const Path& path);
std::optional<Path> path_named(std::string_view word);
/// "transport staged with device memory", "... between nodes".
std::string words_for(const Path& path);

using proof::GpuPair;
using proof::is_failure;
using proof::Outcome;

/// One message each way at once, of the slowest rank.
struct Time {
  std::int64_t bytes = 0;
  double us = 0;
};

struct PathResult {
  Path path;
  Outcome outcome = Outcome::untried;
  int signal = 0;                   ///< that ended a rank; 0 if none did
  int exit_code = 0;                ///< of the ranks, where no signal is known
  std::string how = {};             ///< for people; empty if it works
  std::vector<GpuPair> pairs = {};  ///< kinds of pairs that messages went between
  std::vector<Time> times = {};
  Variables with = {};  ///< settings that were tried on top of the user's
  /// Bytes up to which exchanges were shown to keep their place in a GPU's stream.
  std::optional<std::int64_t> in_order_up_to = {};
  std::vector<std::int64_t> tried = {};  ///< sizes, in their order
  std::int64_t arrived_bytes = 0;        ///< the largest size of which every byte arrived
  bool out_of_time = false;              ///< untried, because the time limit was too short to tell
  bool is_refused = false;  ///< unavailable, because a call failed that should not have
};

/// The last size that was tried; 0: none.
std::int64_t last_tried(const PathResult& result);

/// System memory where the GPUs do not read it: most do not, and nobody expects it of them.
bool is_for_few(const PathResult& result);

/// "UCX_TLS=all UCX_MEMTYPE_CACHE=n".
std::string settings_text(const Variables& settings);

/// Microseconds for messages of this size, if they were timed.
std::optional<double> us_for(const PathResult& result, std::int64_t bytes);

/// From what every MPI sends eagerly to what goes by rendezvous and, of those to prove, in pieces.
std::vector<std::int64_t> sizes_to_time();
std::vector<std::int64_t> sizes_to_prove();

}  // namespace halocline::probe

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Paths and their results. A path is a transport with fields in some memory between a kind of pair,
// or an MPI collective.

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

/// MPI calls of ordinary programs, which are not transports: MPI_Send and MPI_Recv; MPI_Isend and
/// MPI_Irecv; MPI_Send_init and MPI_Recv_init; MPI_Sendrecv.
inline constexpr const char* plain_mpi = "MPI_Send";
inline constexpr const char* plain_ways[] = {plain_mpi, "MPI_Isend", "MPI_Send_init",
                                             "MPI_Sendrecv"};

/// Collectives of ordinary programs, over all ranks; not transports either.
inline constexpr const char* collectives[] = {"MPI_Allreduce", "MPI_Bcast", "MPI_Allgather"};

/// Distance between the ranks of a path; for a collective, the largest.
enum class Distance { same_node, other_node };

struct Path {
  std::string transport;  ///< name of a transport, a plain way or a collective
  Memory memory = Memory::host;
  Distance distance = Distance::same_node;
  device::Allocator allocator = device::Allocator::ordinary;

  friend bool operator==(const Path&, const Path&) = default;
};

bool is_plain(const Path& path);
bool is_collective(const Path& path);

/// Returns the name of the memory: as halocline::name_of(), "pool" or "vmm".
std::string_view memory_of(const Path& path);

/// Convert to words such as "staged:device", "mpi:host:other-node", "gpu_aware:pool", and back;
/// nothing for other words.
std::string word_of(const Path& path);
std::optional<Path> path_named(std::string_view word);
/// "transport staged with device memory", "... between nodes".
std::string words_for(const Path& path);

using proof::GpuPair;
using proof::is_failure;
using proof::Outcome;

/// Time of one message each way at once, on the slowest rank.
struct Time {
  std::int64_t bytes = 0;
  double us = 0;
};

struct PathResult {
  Path path;
  Outcome outcome = Outcome::untried;
  int signal = 0;                   ///< that ended a rank; 0: none
  int exit_code = 0;                ///< of the ranks, if no signal is known
  std::string how = {};             ///< for people; empty if it works
  std::vector<GpuPair> pairs = {};  ///< kinds of pairs that messages connected
  std::vector<Time> times = {};
  Variables with = {};  ///< settings that were tried on top of the user's
  /// Bytes up to which exchanges were shown to keep the order of a GPU's stream.
  std::optional<std::int64_t> in_order_up_to = {};
  std::vector<std::int64_t> tried = {};  ///< sizes in order
  std::int64_t arrived_bytes = 0;        ///< the largest size of which every byte arrived
  bool out_of_time = false;              ///< untried: the time limit was too short
  bool is_refused = false;               ///< unavailable due to an unexpectedly failed call
};

/// Returns the last size that was tried; 0: none.
std::int64_t last_tried(const PathResult& result);

/// Returns whether a result is of system memory that the GPUs cannot read, which is the rule for
/// GPUs.
bool is_for_few(const PathResult& result);

/// "UCX_TLS=all UCX_MEMTYPE_CACHE=n".
std::string settings_text(const Variables& settings);

/// Returns the microseconds for messages of this size, if they were timed.
std::optional<double> us_for(const PathResult& result, std::int64_t bytes);

/// Sizes from eager messages to rendezvous; those to prove include messages in pieces.
std::vector<std::int64_t> sizes_to_time();
std::vector<std::int64_t> sizes_to_prove();

}  // namespace halocline::probe

#pragma once
// Paths: a transport with fields in some memory, between a kind of pair. What became of each.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <halocline/memory.hpp>

#include "launch/variables.hpp"
#include "proof/records.hpp"

namespace halocline::doctor {

/// MPI_Send and MPI_Recv as ordinary programs call them; not a transport.
inline constexpr const char* plain_mpi = "MPI_Send";

/// Which ranks a path is between.
enum class Distance { same_node, other_node };

struct Path {
  std::string transport;  ///< as transport::find_transport() knows it, or plain_mpi
  Memory memory = Memory::host;
  Distance distance = Distance::same_node;

  friend bool operator==(const Path&, const Path&) = default;
};

/// "staged:device", "mpi:host:other-node", and back; nothing for what is none.
std::string word_of(const Path& path);
std::optional<Path> path_named(std::string_view word);
/// "transport staged with device memory", "... between nodes".
std::string words_for(const Path& path);

enum class Outcome {
  works,        ///< every byte of every size arrived
  wrong,        ///< some byte did not
  failed,       ///< crashed, hung, or an error of MPI
  unavailable,  ///< cannot be had here, for a reason that is no fault
  untried       ///< the job did not get so far
};
std::string_view name_of(Outcome outcome);

/// One message each way at once, of the slowest rank.
struct Time {
  std::int64_t bytes = 0;
  double us = 0;
};

struct PathResult {
  Path path;
  Outcome outcome = Outcome::untried;
  std::string how = {};  ///< in words; empty if it works
  std::vector<Time> times = {};
  Variables with = {};  ///< settings that were tried on top of the user's
};

/// Microseconds for messages of this size, if they were timed.
std::optional<double> us_for(const PathResult& result, std::int64_t bytes);

/// From what every MPI sends eagerly to what goes by rendezvous.
std::vector<std::int64_t> sizes_to_time();

}  // namespace halocline::doctor

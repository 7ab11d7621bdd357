// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the ranks of a probe do: they try paths, check every byte and time them. Any of it may crash
// or hang, which is why it runs in a job of its own: see jobs.hpp.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <halocline/communicator.hpp>

#include "probe/paths.hpp"

namespace halocline::probe {

/// Prints and flushes a line.
using PrintLine = std::function<void(const std::string&)>;

/// Which GPUs the ranks take: those that a run would give them, or all of them the first.
enum class GpuChoice { as_in_runs, first };

enum class Timing { none, each_size };

struct PathsToTry {
  std::vector<Path> paths;
  GpuChoice gpus = GpuChoice::as_in_runs;
  Timing timing = Timing::each_size;
  std::vector<std::int64_t> bytes = {};  ///< sizes of messages; empty: those that tell of each path
};

/// The options of the subcommand that runs in the ranks.
std::vector<std::string> words_of(const PathsToTry& wanted);

/// Starts using this rank's GPU and returns its UUID. Throws unavailable without one, and what
/// device::use() throws, the same on every rank. Collective.
std::string take_gpu(const Communicator& communicator, GpuChoice choice);

/// Sends patterns to the neighbours in a ring of all ranks, node after node, as far as they are at
/// the path's distance, checks every byte, also in the order of a GPU's stream, and times it, for
/// each path and size, but for sizes that would take seconds. Rank 0 says what it is at before it
/// does it. Collective; at least 2 ranks. Throws communication if MPI fails, after saying so: then
/// the other ranks may not come any more.
void try_in_ranks(const Communicator& communicator, const PathsToTry& wanted, const PrintLine& say);

}  // namespace halocline::probe

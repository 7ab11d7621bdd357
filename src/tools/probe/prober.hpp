// SPDX-License-Identifier: Apache-2.0
#pragma once
// The work of a probe's ranks: try paths, check every byte and time them. It may crash or hang, so
// it runs in a separate job, see jobs.hpp.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <halocline/communicator.hpp>

#include "probe/paths.hpp"

namespace halocline::probe {

/// Prints and flushes a line.
using PrintLine = std::function<void(const std::string&)>;

/// GPUs of the ranks: as assigned in a run, or the first for all ranks.
enum class GpuChoice { as_in_runs, first };

enum class Timing { none, each_size };

struct PathsToTry {
  std::vector<Path> paths;
  GpuChoice gpus = GpuChoice::as_in_runs;
  Timing timing = Timing::each_size;
  std::vector<std::int64_t> bytes = {};  ///< sizes of messages; empty: chosen by path
};

/// Returns the options for the ranks' subcommand.
std::vector<std::string> words_of(const PathsToTry& wanted);

/// For each path and size, sends patterns to neighbours at the path's distance in a ring of all
/// ranks, ordered by node, checks every byte and the order in a GPU's stream, and times it; skips
/// sizes that would take seconds. Rank 0 prints each step first. Collective; at least 2 ranks.
/// Throws communication if MPI fails, after printing it; the other ranks may then be lost.
void try_in_ranks(const Communicator& communicator, const PathsToTry& wanted, const PrintLine& say);

}  // namespace halocline::probe

// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the ranks of a probe do. Any of it may crash or hang, which is why it runs in a job of its
// own: see probes.hpp.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <halocline/communicator.hpp>

#include "doctor/paths.hpp"
#include "probe/probe.hpp"

namespace halocline::doctor {

/// Prints and flushes a line.
using Say = std::function<void(const std::string&)>;

/// Says what this rank and its MPI are, what the driver shows, which libraries are there, and how
/// fast nodes, GPUs and what is between nodes are. Collective.
void examine_facts(const Communicator& communicator, const Say& say);

struct PathsToExamine {
  std::vector<Path> paths;
  std::vector<std::int64_t> bytes = sizes_to_time();
  proof::GpuChoice gpus = proof::GpuChoice::in_turn;
  double seconds_each = 0.02;  ///< of timing, for each size of each path
};

/// Sends patterns to the neighbours in a ring of all ranks, node after node, as far as they are at
/// the path's distance, checks every byte, and times it, for each path and size, but for sizes that
/// would take seconds. Collective; at least 2 ranks. Throws communication if MPI fails, after
/// saying so: then the other ranks may not come any more.
void examine_paths(const Communicator& communicator, const PathsToExamine& wanted, const Say& say);

}  // namespace halocline::doctor

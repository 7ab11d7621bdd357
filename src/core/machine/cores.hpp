// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cores that a rank may use.

#include <string>
#include <vector>

#include <halocline/communicator.hpp>

namespace halocline::machine {

/// Writes ascending numbers as "0-3,8", the way Linux lists cores.
std::string ranges_of(const std::vector<int>& numbers);
/// Reads such a list; empty if the text is not one.
std::vector<int> numbers_in(const std::string& ranges);

/// Returns the number of threads per rank with which the ranks of a node together use each core
/// once: a core that n ranks may use counts as 1/n for each of them. At least 1. `cores_of` lists
/// the ranks of one node, `mine` is an index into it.
int threads_for(const std::vector<std::vector<int>>& cores_of, std::size_t mine);

/// The most threads of a rank: more than any node has cores, fewer than a process can start.
inline constexpr int most_threads = 4096;

/// Reads a value of OMP_NUM_THREADS: a number, or a list of which the first counts here, as for
/// OpenMP's outermost parallel region. Throws usage for anything else, and beyond 1 to
/// most_threads.
int threads_in(const std::string& value);

/// Returns OMP_NUM_THREADS if it is set, else threads_for() with the cores of this node's ranks.
/// Collective; throws usage, on every rank, for a value that threads_in() refuses on one.
int default_threads(const Communicator& communicator);

/// Returns the number of cores of this rank's node that its ranks may use. Collective.
int node_cores(const Communicator& communicator);

/// Returns whether OpenMP binds threads of several ranks of a node to the same cores: each rank's
/// begin at the first core that it may use. Collective; the same on every rank.
bool are_bound_alike(const Communicator& communicator);

/// "AMD EPYC 9655", or "unknown processor".
std::string processor_name();

}  // namespace halocline::machine

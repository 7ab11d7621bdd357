// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pairs of ranks in a probe, as pure functions of the ranks' nodes.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <halocline/communicator.hpp>

#include "probe/paths.hpp"

namespace halocline::probe {

/// Returns the node of each rank.
std::vector<int> nodes_of_ranks(const Communicator& communicator);

/// Returns the neighbours of `rank` at this distance in a ring of all ranks, ordered by node.
/// `node_of` is the node of each rank.
std::vector<int> neighbours(const std::vector<int>& node_of, int rank, Distance distance);

/// Returns the first two neighbours at this distance in that ring; nothing if there are none.
std::optional<std::pair<int, int>> first_pair(const std::vector<int>& node_of, Distance distance);

/// Returns the kinds of pairs among neighbours at this distance in that ring. `gpus` are the UUIDs
/// of the ranks' GPUs, empty for a rank without one.
std::vector<GpuPair> pairs_in_ring(const std::vector<int>& node_of,
                                   const std::vector<std::string>& gpus, Distance distance);

/// Returns the lowest rank of each node.
std::vector<int> first_ranks(const std::vector<int>& node_of);

/// Pairs each of `count` with each other, in rounds of disjoint pairs; at most `most` rounds.
std::vector<std::vector<std::pair<int, int>>> rounds_of_pairs(int count, int most);

}  // namespace halocline::probe

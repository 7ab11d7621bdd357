// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who talks to whom in a probe: pure functions of where ranks are.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <halocline/communicator.hpp>

#include "probe/paths.hpp"

namespace halocline::probe {

/// The node of each rank.
std::vector<int> nodes_of_ranks(const Communicator& communicator);

/// The ranks beside `rank` in a ring of all, node after node, that are as far away as that: of its
/// own node, or of another. `node_of` says where each rank is.
std::vector<int> neighbours(const std::vector<int>& node_of, int rank, Distance distance);

/// The first two ranks beside each other in that ring which are as far away; nothing if none are.
std::optional<std::pair<int, int>> first_pair(const std::vector<int>& node_of, Distance distance);

/// The kinds of pairs that ranks beside each other in that ring are, as far as they are as far
/// away. `gpus` are the UUIDs of the ranks' GPUs; empty for a rank without one.
std::vector<GpuPair> pairs_in_ring(const std::vector<int>& node_of,
                                   const std::vector<std::string>& gpus, Distance distance);

/// The lowest rank of each node.
std::vector<int> first_ranks(const std::vector<int>& node_of);

/// Pairs of `count`, each with each, in rounds in which nobody is in two pairs; at most `most`
/// rounds.
std::vector<std::vector<std::pair<int, int>>> rounds_of_pairs(int count, int most);

}  // namespace halocline::probe

// SPDX-License-Identifier: Apache-2.0
#include "probe/ring.hpp"

#include <algorithm>
#include <numeric>

namespace halocline::probe {
namespace {

std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

Distance between(const std::vector<int>& node_of, int rank, int other) {
  return node_of[index(rank)] == node_of[index(other)] ? Distance::same_node : Distance::other_node;
}

/// Returns the ranks ordered by node.
std::vector<int> in_order(const std::vector<int>& node_of) {
  std::vector<int> order(node_of.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return node_of[index(a)] < node_of[index(b)]; });
  return order;
}

}  // namespace

std::vector<int> neighbours(const std::vector<int>& node_of, int rank, Distance distance) {
  const std::vector<int> order = in_order(node_of);
  const std::size_t ranks = order.size();
  const auto at =
      static_cast<std::size_t>(std::find(order.begin(), order.end(), rank) - order.begin());
  std::vector<int> found;
  for (const int other : {order[(at + ranks - 1) % ranks], order[(at + 1) % ranks]})
    if (other != rank && between(node_of, rank, other) == distance &&
        std::find(found.begin(), found.end(), other) == found.end())
      found.push_back(other);
  return found;
}

std::optional<std::pair<int, int>> first_pair(const std::vector<int>& node_of, Distance distance) {
  for (const int rank : in_order(node_of)) {
    const std::vector<int> others = neighbours(node_of, rank, distance);
    if (!others.empty()) return std::minmax(rank, others.back());
  }
  return std::nullopt;
}

std::vector<int> nodes_of_ranks(const Communicator& communicator) {
  std::vector<int> nodes;
  for (int rank = 0; rank < communicator.size(); ++rank)
    nodes.push_back(communicator.node_of(rank));
  return nodes;
}

std::vector<GpuPair> pairs_in_ring(const std::vector<int>& node_of,
                                   const std::vector<std::string>& gpus, Distance distance) {
  std::vector<GpuPair> pairs;
  for (int rank = 0; rank < std::ssize(node_of); ++rank) {
    for (const int other : neighbours(node_of, rank, distance)) {
      const bool share = !gpus[index(rank)].empty() && gpus[index(rank)] == gpus[index(other)];
      const GpuPair pair = distance == Distance::other_node ? GpuPair::other_node
                           : share                          ? GpuPair::same_gpu
                                                            : GpuPair::same_node;
      if (std::find(pairs.begin(), pairs.end(), pair) == pairs.end()) pairs.push_back(pair);
    }
  }
  return pairs;
}

std::vector<int> first_ranks(const std::vector<int>& node_of) {
  std::vector<int> firsts;
  for (std::size_t rank = 0; rank < node_of.size(); ++rank)
    if (index(node_of[rank]) == firsts.size()) firsts.push_back(static_cast<int>(rank));
  return firsts;
}

std::vector<std::vector<std::pair<int, int>>> rounds_of_pairs(int count, int most) {
  // The circle method: one seat is fixed, the others rotate; with an odd count one pauses.
  const int seats = count + count % 2;
  std::vector<int> at(index(seats));
  std::iota(at.begin(), at.end(), 0);
  std::vector<std::vector<std::pair<int, int>>> rounds;
  for (int round = 0; round < std::min(seats - 1, most); ++round) {
    auto& pairs = rounds.emplace_back();
    for (int i = 0; i < seats / 2; ++i) {
      const auto [a, b] = std::minmax(at[index(i)], at[index(seats - 1 - i)]);
      if (b < count) pairs.emplace_back(a, b);
    }
    std::rotate(at.begin() + 1, at.end() - 1, at.end());
  }
  return rounds;
}

}  // namespace halocline::probe

// SPDX-License-Identifier: Apache-2.0
#include "machine/matching.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace halocline::machine {

// Places takers one by one, each by a cheapest chain: the new taker takes a place, one of its
// takers moves on, ... until a place gains a taker. This keeps the matching so far cheapest
// (successive shortest paths of a minimum-cost flow).
std::vector<std::size_t> match(const std::vector<std::vector<std::int64_t>>& costs) {
  if (costs.empty()) return {};
  constexpr std::int64_t infinite = std::numeric_limits<std::int64_t>::max();
  const std::size_t places = costs.front().size();
  std::int64_t crowding = 1;  // larger than the sum of all costs: even loads come first
  for (const auto& of_taker : costs)
    crowding += *std::max_element(of_taker.begin(), of_taker.end()) + 1;

  std::vector<std::size_t> place_of;
  std::vector<std::int64_t> load(places);
  for (std::size_t newcomer = 0; newcomer < costs.size(); ++newcomer) {
    // The cheapest chain that ends at each place, and who takes that place.
    std::vector<std::int64_t> cost(places, infinite);
    std::vector<std::size_t> taker_to(places, newcomer);
    for (std::size_t place = 0; place < places; ++place)
      if (costs[newcomer][place] != unreachable) cost[place] = costs[newcomer][place];
    for (bool is_better = true; is_better;) {
      is_better = false;
      for (std::size_t taker = 0; taker < newcomer; ++taker) {
        const std::size_t from = place_of[taker];
        if (cost[from] == infinite) continue;
        for (std::size_t to = 0; to < places; ++to) {
          const std::int64_t chain = cost[from] + costs[taker][to] - costs[taker][from];
          if (costs[taker][to] == unreachable || chain >= cost[to]) continue;
          cost[to] = chain;
          taker_to[to] = taker;
          is_better = true;
        }
      }
    }

    std::size_t last = 0;
    std::int64_t least = infinite;
    for (std::size_t place = 0; place < places; ++place) {
      if (cost[place] == infinite) continue;
      const std::int64_t total = cost[place] + crowding * (2 * load[place] + 1);
      if (total >= least) continue;
      least = total;
      last = place;
    }
    ++load[last];
    place_of.push_back(places);
    // Back along the chain: each taker moves on, the newcomer comes from no place.
    while (last != places) std::swap(place_of[taker_to[last]], last);
  }
  return place_of;
}

}  // namespace halocline::machine

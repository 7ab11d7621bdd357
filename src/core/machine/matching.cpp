// SPDX-License-Identifier: Apache-2.0
#include "machine/matching.hpp"

#include <algorithm>
#include <limits>
#include <optional>

namespace halocline::machine {
namespace {

constexpr std::int64_t infinite = std::numeric_limits<std::int64_t>::max();

/// The cheapest way to free a place by moving one of its takers elsewhere.
struct Move {
  std::int64_t cost = infinite;  // may be negative
  std::size_t taker = 0;
};

// Adds takers one by one, each along a cheapest chain (the new taker takes a place, one of its
// takers moves on, ... until a place gains a taker). This keeps the matching so far cheapest:
// successive shortest paths of a minimum-cost flow. A place costs more for each further taker,
// which keeps the loads even.
class Matching {
 public:
  explicit Matching(const std::vector<std::vector<std::int64_t>>& costs)
      : costs_(costs), load_(costs.empty() ? 0 : costs.front().size()) {
    for (const auto& of_taker : costs)
      crowding_ += *std::max_element(of_taker.begin(), of_taker.end()) + 1;
  }

  void seat_next() {
    const std::size_t places = load_.size(), newcomer = place_of_.size();
    const std::vector<std::vector<Move>> moves = cheapest_moves();
    std::vector<std::int64_t> cost(places, infinite);
    std::vector<std::optional<std::size_t>> comes_from(places);  // none: the new taker
    for (std::size_t place = 0; place < places; ++place)
      if (costs_[newcomer][place] != unreachable) cost[place] = costs_[newcomer][place];

    for (bool better = true; better;) {
      better = false;
      for (std::size_t from = 0; from < places; ++from)
        for (std::size_t to = 0; to < places; ++to) {
          const Move& move = moves[from][to];
          if (cost[from] == infinite || move.cost == infinite) continue;
          if (cost[from] + move.cost >= cost[to]) continue;
          cost[to] = cost[from] + move.cost;
          comes_from[to] = from;
          better = true;
        }
    }

    std::size_t last = 0;
    std::int64_t least = infinite;
    for (std::size_t place = 0; place < places; ++place) {
      if (cost[place] == infinite) continue;
      const std::int64_t total = cost[place] + crowding_ * (2 * load_[place] + 1);
      if (total < least) {
        least = total;
        last = place;
      }
    }
    ++load_[last];
    for (; comes_from[last]; last = *comes_from[last])
      place_of_[moves[*comes_from[last]][last].taker] = last;
    place_of_.push_back(last);
  }

  const std::vector<std::size_t>& place_of() const { return place_of_; }

 private:
  std::vector<std::vector<Move>> cheapest_moves() const {
    std::vector<std::vector<Move>> moves(load_.size(), std::vector<Move>(load_.size()));
    for (std::size_t taker = 0; taker < place_of_.size(); ++taker) {
      const std::size_t from = place_of_[taker];
      for (std::size_t to = 0; to < load_.size(); ++to) {
        if (to == from || costs_[taker][to] == unreachable) continue;
        const std::int64_t cost = costs_[taker][to] - costs_[taker][from];
        if (cost < moves[from][to].cost) moves[from][to] = {cost, taker};
      }
    }
    return moves;
  }

  const std::vector<std::vector<std::int64_t>>& costs_;
  std::vector<std::int64_t> load_;
  std::vector<std::size_t> place_of_;  // of the takers placed so far
  std::int64_t crowding_ = 1;          // larger than the sum of all costs
};

}  // namespace

std::vector<std::size_t> match(const std::vector<std::vector<std::int64_t>>& costs) {
  Matching matching(costs);
  for (std::size_t taker = 0; taker < costs.size(); ++taker) matching.seat_next();
  return matching.place_of();
}

}  // namespace halocline::machine

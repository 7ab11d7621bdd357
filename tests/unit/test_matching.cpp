// SPDX-License-Identifier: Apache-2.0
// Places shared out evenly and cheaply, against trying everything.

#include <optional>
#include <random>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/matching.hpp"

namespace halocline::machine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Costs = std::vector<std::vector<std::int64_t>>;
constexpr std::int64_t no = unreachable;

struct Worth {
  std::int64_t unevenness = 0, cost = 0;
  bool operator<(const Worth& other) const {
    return std::tie(unevenness, cost) < std::tie(other.unevenness, other.cost);
  }
};

/// Nothing if a taker has a place it cannot have.
std::optional<Worth> worth_of(const Costs& costs, const std::vector<std::size_t>& places) {
  Worth worth;
  std::vector<std::int64_t> load(costs.front().size());
  for (std::size_t taker = 0; taker < costs.size(); ++taker) {
    if (costs[taker][places[taker]] == unreachable) return std::nullopt;
    worth.cost += costs[taker][places[taker]];
    ++load[places[taker]];
  }
  for (const std::int64_t takers : load) worth.unevenness += takers * takers;
  return worth;
}

Worth best(const Costs& costs) {
  std::vector<std::size_t> places(costs.size());
  std::optional<Worth> found;
  while (true) {
    const auto worth = worth_of(costs, places);
    if (worth && (!found || *worth < *found)) found = worth;
    std::size_t taker = 0;
    while (taker < places.size() && ++places[taker] == costs.front().size()) places[taker++] = 0;
    if (taker == places.size()) return *found;
  }
}

TEST(Match, TakesTheCheapest) {
  EXPECT_THAT(match({{0, 1}, {1, 0}}), ElementsAre(0, 1));
  EXPECT_THAT(match({{1, 0}, {0, 1}}), ElementsAre(1, 0));
  EXPECT_THAT(match({{5, 7, 3}}), ElementsAre(2));
  EXPECT_THAT(match({}), IsEmpty());
}

TEST(Match, PrefersEvenLoadsWhateverTheyCost) {
  EXPECT_THAT(match({{0, 1000}, {0, 2000}}), ElementsAre(1, 0));
  EXPECT_THAT(match({{0, 9}, {0, 9}, {0, 5}, {0, 9}}), ElementsAre(0, 0, 1, 1));
}

TEST(Match, MovesThoseSeatedAlongAChain) {
  // The last taker can have the first place only; each before it moves on by one.
  EXPECT_THAT(match({{0, 0, no, no}, {no, 0, 0, no}, {no, no, 0, 0}, {0, no, no, no}}),
              ElementsAre(1, 2, 3, 0));
}

TEST(Match, SharesAPlaceOnlyWhenItMust) {
  EXPECT_THAT(match({{0, no, no}, {0, no, no}, {0, 0, no}}), ElementsAre(0, 0, 1));
}

TEST(Match, IsAsGoodAsTryingEverything) {
  const unsigned seed = 20240607;
  std::mt19937 random(seed);
  for (int round = 0; round < 400; ++round) {
    const std::size_t takers = 1 + random() % 6, places = 1 + random() % 4;
    Costs costs(takers, std::vector<std::int64_t>(places));
    for (auto& of_taker : costs) {
      for (std::int64_t& cost : of_taker)
        cost = random() % 3 == 0 ? unreachable : static_cast<std::int64_t>(random() % 10);
      of_taker[random() % places] = static_cast<std::int64_t>(random() % 10);
    }
    const auto found = match(costs);
    const auto worth = worth_of(costs, found);
    ASSERT_TRUE(worth) << "seed " << seed << ", round " << round;
    EXPECT_EQ(worth->unevenness, best(costs).unevenness) << "seed " << seed << ", round " << round;
    EXPECT_EQ(worth->cost, best(costs).cost) << "seed " << seed << ", round " << round;
    EXPECT_EQ(match(costs), found);
  }
}

}  // namespace
}  // namespace halocline::machine

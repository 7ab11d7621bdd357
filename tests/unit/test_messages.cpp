// SPDX-License-Identifier: Apache-2.0
// What one rank lists as sent to another is, byte for byte, what the other lists as received.

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "exchange/messages.hpp"
#include "support/cells.hpp"
#include "support/halo_formula.hpp"
#include "support/random.hpp"

namespace halocline::test {
namespace {

using exchange::HaloPart;
using exchange::messages_of;
using exchange::PeerMessage;

/// A field and a cell of the domain: stands for its bytes.
using Place = std::tuple<std::size_t, std::int64_t, std::int64_t, std::int64_t>;

Int3 folded(const Grid& grid, Int3 at) {
  for (int axis = 0; axis < 3; ++axis)
    at[axis] = (at[axis] + grid.cells()[axis]) % grid.cells()[axis];
  return at;
}

std::vector<Place> in_order(const Grid& grid, const std::vector<HaloPart>& pieces) {
  std::vector<Place> places;
  for (const HaloPart& piece : pieces)
    for_each_cell(piece.box, [&](Int3 at) {
      const Int3 cell = folded(grid, at);
      places.emplace_back(piece.field, cell.x, cell.y, cell.z);
    });
  return places;
}

struct Plan {
  std::vector<Grid> grids;  // as each rank has it
  std::vector<HaloWidths> widths;
  Neighbours neighbours;
  std::vector<std::map<int, PeerMessage>> messages;  // by rank, by peer
};

Plan make_plan(int ranks, const GridOptions& options, const std::vector<HaloWidths>& widths,
               Neighbours neighbours = Neighbours::all) {
  Plan plan{{}, widths, neighbours, {}};
  for (int rank = 0; rank < ranks; ++rank) {
    plan.grids.emplace_back(rank, ranks, options);
    plan.messages.emplace_back();
    for (PeerMessage& message : messages_of(plan.grids.back(), rank, widths, neighbours)) {
      const int peer = message.peer;
      EXPECT_TRUE(plan.messages.back().emplace(peer, std::move(message)).second)
          << "rank " << rank << " has two messages for rank " << peer;
    }
  }
  return plan;
}

void expect_both_sides_to_match(const Plan& plan) {
  for (std::size_t rank = 0; rank < plan.grids.size(); ++rank)
    for (const auto& [peer, message] : plan.messages[rank]) {
      const auto& others = plan.messages[static_cast<std::size_t>(peer)];
      const auto reply = others.find(static_cast<int>(rank));
      ASSERT_NE(reply, others.end()) << "rank " << peer << " knows nothing of rank " << rank;
      EXPECT_EQ(in_order(plan.grids[rank], message.send),
                in_order(plan.grids[rank], reply->second.receive))
          << "from rank " << rank << " to rank " << peer;
    }
}

/// Expects that each halo cell is received once, from the rank that owns what it images.
void expect_every_halo_cell_once(const Plan& plan) {
  for (std::size_t rank = 0; rank < plan.grids.size(); ++rank) {
    const Grid& grid = plan.grids[rank];
    std::multiset<Place> wanted, listed;
    for (std::size_t field = 0; field < plan.widths.size(); ++field) {
      const HaloWidths widths = widths_filled(grid, plan.widths[field], {});
      for_each_cell(grow(grid.owned(), widths.lower, widths.upper), [&](Int3 at) {
        if (imaged_cell(grid, grid.owned(), widths, plan.neighbours, at))
          wanted.emplace(field, at.x, at.y, at.z);
      });
    }
    for (const auto& [peer, message] : plan.messages[rank])
      for (const HaloPart& piece : message.receive)
        for_each_cell(piece.box, [&, owner = grid.owned(peer)](Int3 at) {
          listed.emplace(piece.field, at.x, at.y, at.z);
          EXPECT_TRUE(owner.contains(folded(grid, at)));
        });
    EXPECT_EQ(listed, wanted) << "on rank " << rank;
  }
}

void expect_only_owned_cells_to_be_sent(const Plan& plan) {
  for (std::size_t rank = 0; rank < plan.grids.size(); ++rank)
    for (const auto& [peer, message] : plan.messages[rank])
      for (const HaloPart& piece : message.send) {
        EXPECT_FALSE(piece.box.empty());
        EXPECT_TRUE(plan.grids[rank].owned().contains(piece.box));
      }
}

void expect_plan_to_hold(const Plan& plan) {
  expect_both_sides_to_match(plan);
  expect_every_halo_cell_once(plan);
  expect_only_owned_cells_to_be_sent(plan);
}

HaloWidths random_widths(Random& random, std::int64_t most) {
  HaloWidths widths = 0;
  for (int axis = 0; axis < 3; ++axis) {
    widths.lower[axis] = random.between(0, most);
    widths.upper[axis] = random.between(0, most);
  }
  return widths;
}

TEST(Messages, MatchOnBothSidesForRandomPlans) {
  for (std::uint64_t number = 0; number < 400; ++number) {
    SCOPED_TRACE(how_to_repeat(number));
    Random random(number);
    const int axes = static_cast<int>(random.between(1, 3));
    const Int3 parts{random.between(1, 3), axes > 1 ? random.between(1, 2) : 1,
                     axes > 2 ? random.between(1, 2) : 1};
    const std::int64_t most = random.between(0, 3);
    Int3 cells;
    for (int axis = 0; axis < 3; ++axis)
      cells[axis] = parts[axis] * std::max<std::int64_t>(1, most) + random.between(0, 4);
    GridOptions options{.cells = Extents(cells, axes), .process_grid = Extents(parts, axes)};
    for (bool& periodic : options.periodic) periodic = random.once_in(2);
    std::vector<HaloWidths> widths;
    for (std::int64_t field = random.between(1, 3); field > 0; --field)
      widths.push_back(random_widths(random, most));
    expect_plan_to_hold(make_plan(static_cast<int>(parts.x * parts.y * parts.z), options, widths,
                                  random.once_in(3) ? Neighbours::faces : Neighbours::all));
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Messages, MatchForEveryNumberOfRanksAndAutomaticSplits) {
  for (int ranks = 1; ranks <= 12; ++ranks)
    for (const Extents& cells : {Extents{25}, Extents{12, 13}, Extents{11, 6, 12}})
      for (const bool periodic : {false, true}) {
        SCOPED_TRACE(std::to_string(ranks) + " ranks, " + std::to_string(cells.axes()) + " axes");
        expect_plan_to_hold(
            make_plan(ranks, {.cells = cells, .periodic = {periodic, periodic, periodic}}, {1, 1}));
      }
}

TEST(Messages, ListByTheSendersDirectionAndThenByField) {
  // Two ranks, periodic: each is the other's neighbour on both sides.
  const Plan plan = make_plan(2, {.cells = {8}, .periodic = {true}}, {1, 2});
  const PeerMessage& message = plan.messages[0].at(1);
  const auto directions_and_fields = [](const std::vector<HaloPart>& pieces) {
    std::vector<std::pair<std::int64_t, std::size_t>> list;
    for (const HaloPart& piece : pieces) list.emplace_back(piece.direction.x, piece.field);
    return list;
  };
  using List = std::vector<std::pair<std::int64_t, std::size_t>>;
  EXPECT_EQ(directions_and_fields(message.send), (List{{-1, 0}, {-1, 1}, {1, 0}, {1, 1}}));
  EXPECT_EQ(directions_and_fields(message.receive), (List{{1, 0}, {1, 1}, {-1, 0}, {-1, 1}}));
}

TEST(Messages, LeaveOutPeersWithNothingToSwap) {
  // Width 0 along x, where the ranks are.
  const Plan plan =
      make_plan(3, {.cells = {6, 4}, .process_grid = {3, 1}}, {HaloWidths{{0, 1, 0}, {0, 1, 0}}});
  for (const auto& messages : plan.messages) EXPECT_TRUE(messages.empty());
}

TEST(Messages, KeepPeersWithBytesOneWayOnly) {
  const Plan plan = make_plan(2, {.cells = {6}}, {HaloWidths{{2, 0, 0}, {0, 0, 0}}});
  EXPECT_TRUE(plan.messages[0].at(1).receive.empty());
  ASSERT_EQ(plan.messages[0].at(1).send.size(), 1u);
  EXPECT_EQ(plan.messages[0].at(1).send[0].box, (Box{{1, 0, 0}, {3, 1, 1}}));
  EXPECT_TRUE(plan.messages[1].at(0).send.empty());
  ASSERT_EQ(plan.messages[1].at(0).receive.size(), 1u);
  EXPECT_EQ(plan.messages[1].at(0).receive[0].box, (Box{{1, 0, 0}, {3, 1, 1}}));
}

TEST(Messages, GoToOneselfAlongAPeriodicAxisThatIsNotSplit) {
  const Plan plan = make_plan(1, {.cells = {4, 4}, .periodic = {true, false}}, {1});
  ASSERT_EQ(plan.messages[0].size(), 1u);
  EXPECT_EQ(plan.messages[0].at(0).send.size(), 2u);
}

TEST(Labels, NameFieldsAndDirections) {
  const Grid grid(0, 2, {.cells = {8, 4}, .periodic = {true, true}, .process_grid = {2, 1}});
  const Field<double> u(grid, {.name = "u"}), v(grid, {.name = "v"});
  const FieldList both{u, v};
  const auto label = [&](const std::vector<HaloWidths>& widths, Neighbours neighbours, int peer) {
    for (const PeerMessage& message : messages_of(grid, 0, widths, neighbours))
      if (message.peer == peer) return exchange::label_of(message, both);
    return std::string("no message");
  };
  const HaloWidths left{{1, 0, 0}, {0, 0, 0}}, right{{0, 0, 0}, {1, 0, 0}};
  EXPECT_EQ(label({left}, Neighbours::faces, 1), "field 'u', direction -x");
  EXPECT_EQ(label({0, right}, Neighbours::faces, 1), "field 'v', direction +x");
  EXPECT_EQ(label({1, 1}, Neighbours::faces, 1), "fields 'u', 'v', directions +x, -x");
  EXPECT_EQ(label({HaloWidths{{1, 1, 0}, {0, 0, 0}}}, Neighbours::all, 1),
            "field 'u', directions -x, -x-y");
}

TEST(Labels, CountFieldsWithoutAName) {
  const Grid grid(0, 2, {.cells = {8, 4}, .process_grid = {2, 1}});
  const Field<double> u(grid, {.name = "u"}), one(grid);
  const auto messages = messages_of(grid, 0, {1, 1}, Neighbours::all);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(exchange::label_of(messages[0], {u, one}),
            "fields 'u', 2 of the exchange, direction +x");
}

TEST(Labels, CallAMessageWithoutBytesASignal) {
  const Grid grid(0, 2, {.cells = {6}});
  const Field<double> u(grid);
  const auto messages = messages_of(grid, 0, {HaloWidths{{2, 0, 0}, {0, 0, 0}}}, Neighbours::all);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(exchange::label_of(messages[0], {u}), "its signal");
}

}  // namespace
}  // namespace halocline::test

// SPDX-License-Identifier: Apache-2.0
// The exchange, on any number of ranks: every byte of every field against a formula.

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/error.hpp>
#include <halocline/exchange.hpp>

#include "support/caught.hpp"
#include "support/communicators.hpp"
#include "support/exchange_case.hpp"
#include "support/exchange_cases.hpp"
#include "support/random.hpp"
#include "support/ranks.hpp"

namespace halocline::test {
namespace {

using testing::HasSubstr;

/// Cells for a process grid, with parts of 2 or 3 cells along split axes.
Extents uneven_cells(const Extents& parts) {
  Int3 cells;
  for (int axis = 0; axis < parts.axes(); ++axis)
    cells[axis] = parts[axis] > 1 ? 2 * parts[axis] + 1 : 5 - axis;
  return {cells, parts.axes()};
}

ExchangeCase case_on(const Extents& parts) {
  ExchangeCase c;
  c.grid = {.cells = uneven_cells(parts), .process_grid = parts};
  return c;
}

/// For sweeps over many cases: the windows of `shared` take their time to be made where ranks
/// outnumber cores, so most cases go another way.
std::string transport_of_case(std::size_t number) { return number % 4 == 0 ? "auto" : "mpi"; }

TEST(Exchange, FillsHalosForEveryProcessGrid) {
  std::size_t number = 0;
  for (int axes = 1; axes <= 3; ++axes)
    for (const Extents& parts : process_grids(axes))
      for (const bool periodic : {false, true}) {
        ExchangeCase c = case_on(parts);
        c.grid.periodic = {periodic, periodic, periodic};
        c.fields[0].halo = 2;
        c.exchange.transport = transport_of_case(number++);
        if (!run(c)) return;
      }
}

TEST(Exchange, FillsHalosForTheChosenProcessGrid) {
  for (const Extents& cells : {Extents{33}, Extents{11, 13}, Extents{8, 9, 10}}) {
    ExchangeCase c;
    c.grid = {.cells = cells, .periodic = {true, false, true}};
    if (!run(c)) return;
  }
}

TEST(Exchange, FillsHalosForEveryMixOfPeriodicAxes) {
  for (std::size_t mix = 0; mix < 8; ++mix) {
    ExchangeCase c;
    c.grid = {.cells = {7, 8, 9}, .periodic = {(mix & 1) != 0, (mix & 2) != 0, (mix & 4) != 0}};
    c.exchange.transport = transport_of_case(mix + 1);
    if (!run(c)) return;
  }
}

TEST(Exchange, FillsEachSideToItsOwnWidth) {
  const std::vector<HaloWidths> choices = {{{2, 0, 1}, {0, 3, 1}}, {{0, 0, 0}, {1, 2, 3}},
                                           {{3, 2, 1}, {0, 0, 0}}, {{0, 1, 0}, {0, 1, 0}},
                                           {{3, 3, 3}, {3, 3, 3}}, {{0, 0, 0}, {0, 0, 0}}};
  std::size_t number = 0;
  for (const HaloWidths& halo : choices)
    for (const bool periodic : {false, true}) {
      ExchangeCase c = case_along_last_axis(3);
      c.exchange.transport = transport_of_case(number++);
      c.grid.cells = {3, 3, 3 * ranks() + 1};
      c.grid.periodic = {true, periodic, periodic};
      c.fields[0].halo = halo;
      if (!run(c)) return;
    }
}

TEST(Exchange, LeavesOutsideHalosAloneHoweverWide) {
  ExchangeCase c;
  c.grid = {.cells = {2 * ranks(), 1}, .process_grid = {ranks(), 1}};
  c.fields[0].halo = {{2, 5, 0}, {2, 4, 0}};
  run(c);
}

// The sentences at Exchange in exchange.hpp, one by one.
TEST(Exchange, LeavesCellsBeyondWallsToTheProgram) {
  const Extents cells{6, 4 * ranks()};
  const Grid grid(rank(), ranks(), {.cells = cells, .process_grid = {1, ranks()}});
  const Field<double> u(grid, {.halo = 2});
  const Box held = u.shape().held(), owned = grid.owned();
  const auto owners = [&](std::int64_t x, std::int64_t y) {
    return static_cast<double>(x + cells[0] * y);
  };
  const auto for_held = [&](auto&& work) {
    for (std::int64_t y = held.lower.y; y < held.upper.y; ++y)
      for (std::int64_t x = held.lower.x; x < held.upper.x; ++x) work(x, y);
  };
  constexpr double wall = -5;
  for_held([&](auto x, auto y) { u(x, y) = owned.contains(Int3{x, y, 0}) ? owners(x, y) : wall; });
  Exchange(communicator_with(), grid, {u}).run();
  for_held([&](auto x, auto y) {
    const bool in_domain = x >= 0 && x < cells[0] && y >= 0 && y < cells[1];
    EXPECT_EQ(u(x, y), in_domain ? owners(x, y) : wall) << x << ", " << y;
  });
}

TEST(Exchange, CarriesFieldsOfManyTypesAtOnce) {
  ExchangeCase c = case_along_last_axis(2);
  c.fields = {{.element = Element::f32, .halo = 1},
              {.element = Element::f64, .components = 3, .halo = {{2, 1, 0}, {0, 2, 0}}},
              {.element = Element::triple, .halo = 2},
              {.element = Element::i8, .components = 2, .halo = {{1, 0, 0}, {1, 3, 0}}}};
  for (const int axes : {1, 2, 3}) {
    c.grid = case_along_last_axis(axes).grid;
    if (!run(c)) return;
  }
}

TEST(Exchange, LeavesCornersAloneIfOnlyFacesAreWanted) {
  std::size_t number = 0;
  for (const Extents& parts : process_grids(3)) {
    ExchangeCase c = case_on(parts);
    c.exchange.transport = transport_of_case(number++);
    c.grid.periodic = {true, true, false};
    c.exchange.neighbours = Neighbours::faces;
    if (!run(c)) return;
  }
}

TEST(Exchange, FillsLessThanTheWholeHalo) {
  ExchangeCase c = case_along_last_axis(3);
  c.fields = {{.halo = 3}, {.element = Element::f32, .halo = {{1, 2, 3}, {2, 2, 1}}}};
  for (const HaloWidths& widths : {HaloWidths{1}, HaloWidths{{1, 0, 2}, {0, 2, 1}}, HaloWidths{0}})
    for (const Neighbours neighbours : {Neighbours::all, Neighbours::faces}) {
      c.exchange = {.neighbours = neighbours, .widths = widths};
      if (!run(c)) return;
    }
}

TEST(Exchange, LeavesOtherFieldsAlone) {
  const Communicator& communicator = communicator_with();
  ExchangeCase c = case_along_last_axis(2);
  c.fields = {{}, {.element = Element::f32}, {}};
  const Grid grid(rank(), ranks(), c.grid);
  std::vector<CheckedField> fields = make_fields(grid, c);
  for (CheckedField& field : fields) field.fill(0);
  Exchange(communicator, grid, {fields[1].storage()}).run();
  EXPECT_TRUE(fields[0].is_filled());
  EXPECT_TRUE(fields[1].is_exchanged({}));
  EXPECT_TRUE(fields[2].is_filled());
}

TEST(Exchange, TakesTheUsersMemoryInAnyOrder) {
  std::size_t number = 0;
  for (const char* order : {"xyzc", "xzyc", "yxzc", "yzxc", "zxyc", "zyxc", "cxyz", "czyx", "xcyz"})
    for (const std::int64_t gap : {0, 2}) {
      ExchangeCase c = case_along_last_axis(3);
      c.exchange.transport = transport_of_case(number++);
      c.fields = {
          {.element = Element::f32, .components = 2, .order_in_users_memory = order, .gap = gap},
          {.element = Element::triple, .order_in_users_memory = order, .gap = gap}};
      if (!run(c)) return;
    }
}

TEST(Exchange, SendsWhatIsContiguousFromItsPlace) {
  for (const char* transport : {"auto", "mpi", "self=mpi,same-node=mpi"})
    for (const int axes : {1, 2, 3}) {
      ExchangeCase c = case_along_last_axis(axes);
      HaloWidths halo = 0;
      halo.lower[axes - 1] = 2;
      halo.upper[axes - 1] = 1;
      c.fields[0] = {.components = 2, .halo = halo, .order_in_users_memory = "cxyz"};
      c.exchange.transport = transport;
      if (!run(c)) return;
      c.arrays = 6;  // more than a channel of MPI keeps requests for
      c.steps = 15;
      if (!run(c)) return;
    }
}

TEST(Exchange, WorksOverEveryTransport) {
  for (const char* transport : {"auto", "mpi", "self=mpi", "self=mpi,same-node=mpi",
                                "same-node=shared", "same-node=mpi,other-node=mpi"})
    for (const int axes : {1, 3}) {
      ExchangeCase c = case_along_last_axis(axes);
      c.fields.push_back({.element = Element::triple, .halo = 2});
      c.exchange.transport = transport;
      if (!run(c)) return;
    }
}

TEST(Exchange, MixesTransportsOverSeveralNodes) {
  for (const int ranks_per_node : {1, 2, 3})
    for (const char* transport : {"auto", "same-node=shared,other-node=mpi", "same-node=mpi"}) {
      ExchangeCase c;
      c.grid = {.cells = {8, 9, 10}, .periodic = {true, true, false}};
      c.communicator.ranks_per_node = ranks_per_node;
      c.exchange.transport = transport;
      if (!run(c)) return;
    }
}

TEST(Exchange, CutsMessagesIntoPieces) {
  for (const char* transport : {"auto", "mpi", "self=mpi,same-node=mpi"}) {
    ExchangeCase c;
    c.grid = {.cells = {8, 8, 8}, .periodic = {true, false, true}};
    c.fields = {{.element = Element::triple}, {.halo = {{0, 1, 2}, {2, 1, 0}}}};
    c.communicator.piece_bytes = 7;
    c.exchange.transport = transport;
    if (!run(c)) return;
  }
}

TEST(Exchange, CarriesLargeMessages) {
  for (const char* transport : {"auto", "mpi"}) {
    ExchangeCase c;
    c.grid = {.cells = {60, 50, 8 * ranks()},
              .periodic = {false, false, true},
              .process_grid = {1, 1, ranks()}};
    c.fields[0].halo = {{0, 0, 4}, {1, 1, 3}};
    c.exchange.transport = transport;
    c.steps = 2;
    if (!run(c)) return;
  }
}

TEST(Exchange, RunsManyTimes) {
  for (const char* transport : {"auto", "mpi"}) {
    ExchangeCase c = case_along_last_axis(2);
    c.exchange.transport = transport;
    c.steps = 200;
    if (!run(c)) return;
  }
}

TEST(Exchange, FillsHalosInRandomCases) {
  const std::uint64_t cases = ranks() <= 4 ? 150 : 75;
  for (std::uint64_t number = 0; number < cases; ++number) {
    SCOPED_TRACE(how_to_repeat(number));
    if (!run(random_case(number, Memory::host))) return;
  }
}

// Several exchanges at once, and exchanges that do not take their usual course.

TEST(Exchange, MayBeInFlightWithOthersAndFinishInAnyOrder) {
  const Communicator& communicator = communicator_with();
  ExchangeCase c = case_along_last_axis(3);
  c.fields = {{}, {.halo = 2}, {.element = Element::f32}, {.element = Element::i8}};
  const Grid grid(rank(), ranks(), c.grid);
  std::vector<CheckedField> fields = make_fields(grid, c);
  const ExchangeOptions options[] = {{.transport = "auto"},
                                     {.neighbours = Neighbours::faces, .transport = "mpi"},
                                     {.transport = "auto"},
                                     {.transport = "mpi"}};
  constexpr std::size_t count = 4;
  std::vector<Exchange> exchanges;
  for (std::size_t i = 0; i < count; ++i)
    exchanges.emplace_back(communicator, grid, FieldList{fields[i].storage()}, options[i]);
  for (std::size_t step = 0; step < 12; ++step) {
    for (CheckedField& field : fields) field.fill(static_cast<int>(step));
    const std::size_t shift = step + static_cast<std::size_t>(rank());
    for (std::size_t i = 0; i < count; ++i) exchanges[(i * 3 + shift) % count].start();
    for (std::size_t i = 0; i < count; ++i) exchanges[(i + shift / 2) % count].finish();
    for (std::size_t i = 0; i < count; ++i) EXPECT_TRUE(fields[i].is_exchanged(options[i]));
    if (!all_well()) return;
  }
}

class LevelExchanges : public testing::Test {
 protected:
  const Communicator& communicator_ = communicator_with();
  ExchangeCase case_ = case_along_last_axis(3);
  Grid grid_{communicator_, case_.grid};
  std::vector<std::vector<CheckedField>> levels_;

  std::vector<FieldList> make_levels(std::size_t count) {
    std::vector<FieldList> lists;
    for (std::size_t level = 0; level < count; ++level) {
      levels_.push_back(make_fields(grid_, case_));
      lists.push_back(list_of(levels_.back()));
    }
    return lists;
  }
  Caught refusal(const std::vector<FieldList>& levels) {
    return caught([&] { LevelExchange(communicator_, grid_, levels); });
  }
};

TEST_F(LevelExchanges, FillTheHalosOfOneLevelAndLeaveTheOthersAlone) {
  case_.fields = {{}, {.element = Element::f32, .halo = 2}};
  LevelExchange halos(communicator_, grid_, make_levels(3));
  EXPECT_EQ(halos.levels(), 3);
  for (int step = 0; step < 9; ++step) {
    for (std::vector<CheckedField>& level : levels_)
      for (CheckedField& field : level) field.fill(step);
    halos.run(step % 3);
    for (int level = 0; level < 3; ++level)
      for (const CheckedField& field : levels_[static_cast<std::size_t>(level)])
        EXPECT_TRUE(level == step % 3 ? field.is_exchanged({}) : field.is_filled());
    if (!all_well()) return;
  }
}

TEST_F(LevelExchanges, AreInFlightOneAtATime) {
  LevelExchange halos(communicator_, grid_, make_levels(2));
  for (std::vector<CheckedField>& level : levels_) level[0].fill(0);
  halos.start(1);
  EXPECT_THAT(caught([&] { halos.start(0); }), says(ErrorKind::usage, "call finish() first"));
  halos.progress();
  halos.finish();
  EXPECT_TRUE(levels_[1][0].is_exchanged({}));
  EXPECT_TRUE(levels_[0][0].is_filled());
}

TEST_F(LevelExchanges, SendByTheSameTransportsWhatOneExchangeSends) {
  const std::vector<FieldList> lists = make_levels(2);
  const LevelExchange halos(communicator_, grid_, lists);
  const Exchange one(communicator_, grid_, lists[1], {.transport = halos.info().transport()});
  EXPECT_EQ(halos.info().messages, one.info().messages);
  EXPECT_EQ(halos.info().bytes, one.info().bytes);
  EXPECT_EQ(halos.info().transports, one.info().transports);
}

TEST_F(LevelExchanges, NeedLevelsOfTheSameShapes) {
  EXPECT_THAT(refusal({}).text, HasSubstr("at least one level"));
  std::vector<FieldList> lists = make_levels(2);
  lists[1].push_back(lists[0][0]);
  EXPECT_THAT(refusal(lists).text, HasSubstr("2 arrays for an exchange of 1 field"));
  const Field<double> wide(grid_, {.name = "wide", .halo = 3});
  EXPECT_THAT(refusal({lists[0], {wide}}).text, HasSubstr("field 'wide' of level 1"));
  EXPECT_THAT(refusal({lists[0], {wide}}).text, HasSubstr("differ in halo"));
  const Field<char> narrow(grid_, {.name = "narrow"});
  EXPECT_EQ(refusal({lists[0], {narrow}}).kind, ErrorKind::usage);
  EXPECT_THAT(refusal({lists[0], {narrow}}).text, HasSubstr("differ in the bytes of a cell"));
}

// Each of them on its own: the other ranks go on.
TEST(Exchange, TakesOnlyArraysLikeItsFields) {
  const ExchangeCase c = case_along_last_axis(2);
  const Grid grid(rank(), ranks(), c.grid);
  const Field<double> u(grid, {.name = "u"}), v(grid), wide(grid, {.halo = 2});
  const Field<float> narrow(grid);
  Exchange exchange(communicator_with(), grid, {u});
  const auto refusal = [&](const FieldList& fields) {
    return caught([&] { exchange.run(fields); });
  };
  EXPECT_THAT(refusal({u, v}), says(ErrorKind::usage, "2 arrays for an exchange of 1 field"));
  EXPECT_THAT(refusal({wide}), says(ErrorKind::usage, "the plan's field 'u' differ in halo"));
  EXPECT_THAT(refusal({narrow}), says(ErrorKind::usage, "differ in the bytes of a cell"));
  const Strides& rows = u.strides();
  std::vector<double> values(static_cast<std::size_t>(4 * rows.y * 20));
  const Field<double> apart(grid, values.data() + 4 * rows.y, {.x = 1, .y = rows.y + 1});
  EXPECT_THAT(refusal({apart}), says(ErrorKind::usage, "differ in strides"));
  const GridOptions other{.cells = {40, 40 * ranks()}, .process_grid = c.grid.process_grid};
  const Field<double> elsewhere(Grid(rank(), ranks(), other));
  EXPECT_THAT(refusal({elsewhere}), says(ErrorKind::usage, "differ in their cells"));
  void* const nowhere = nullptr;
  EXPECT_THAT(caught([&] {
                exchange.run_at({&nowhere, 1});
              }),
              says(ErrorKind::usage, "null pointer"));
  EXPECT_THAT(caught([&] { exchange.start_at({}); }), says(ErrorKind::usage, "0 arrays"));
  exchange.run({v});
}

// The plan's own fields may be gone, and their memory with them.
TEST(Exchange, NeedsItsFieldsNoMoreOnceItIsPlanned) {
  const ExchangeCase c = case_along_last_axis(2);
  const Grid grid(rank(), ranks(), c.grid);
  std::optional<std::vector<CheckedField>> first(make_fields(grid, c));
  Exchange exchange(communicator_with(), grid, list_of(*first));
  first.reset();
  std::vector<CheckedField> fields = make_fields(grid, c);
  fields[0].fill(0);
  exchange.run(list_of(fields));
  EXPECT_TRUE(fields[0].is_exchanged({}));
}

// In an order of its own on each rank, as finalisers run.
TEST(Exchange, IsDestroyedOnceAllRanksHaveParkedIt) {
  const Communicator communicator = Communicator::world({.wait_limit = wait_limit});
  const Grid grid(rank(), ranks(), case_along_last_axis(2).grid);
  const Field<double> u(grid);
  const auto make = [&] { return Exchange(communicator, grid, {u}); };
  constexpr std::size_t count = 4;
  std::vector<Exchange> exchanges;
  std::vector<std::weak_ptr<void>> alive;
  for (std::size_t i = 0; i < count; ++i) exchanges.push_back(make());
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t which = (i + static_cast<std::size_t>(rank())) % count;
    // Rank 0 keeps one, and the last rank another.
    const auto kept = std::make_shared<int>(0);
    alive.resize(count);
    alive[which] = kept;
    if ((which == 1 && rank() == 0) || (which == 2 && rank() + 1 == ranks())) continue;
    if (which == 0) exchanges[which].start();
    Exchange::park(std::move(exchanges[which]), kept);
  }
  EXPECT_FALSE(alive[0].expired());
  make().run();
  EXPECT_TRUE(alive[0].expired());
  EXPECT_TRUE(alive[3].expired());
  EXPECT_EQ(alive[1].expired(), rank() == 0) << "parked, but not on all ranks";
  const auto late = std::make_shared<int>(0);
  if (rank() == 0) Exchange::park(std::move(exchanges[1]), late);
  if (rank() + 1 == ranks()) Exchange::park(std::move(exchanges[2]), late);
  make().run();
  EXPECT_TRUE(alive[1].expired());
  EXPECT_TRUE(alive[2].expired());
  EXPECT_EQ(late.use_count(), 1);
}

TEST_F(LevelExchanges, RefuseALevelThatIsNotThere) {
  LevelExchange halos(communicator_, grid_, make_levels(2));
  for (const std::int64_t level : {-1, 2}) {
    EXPECT_THAT(caught([&] { halos.run(level); }), says(ErrorKind::usage, "use 0 to 1"));
  }
}

TEST(Exchange, GetsDoneByProgressAlone) {
  const Communicator& communicator = communicator_with();
  for (const char* transport : {"auto", "mpi"}) {
    ExchangeCase c = case_along_last_axis(2);
    const Grid grid(rank(), ranks(), c.grid);
    std::vector<CheckedField> fields = make_fields(grid, c);
    const ExchangeOptions options{.transport = transport};
    Exchange exchange(communicator, grid, list_of(fields), options);
    fields[0].fill(1);
    exchange.start();
    const auto end = std::chrono::steady_clock::now() + wait_limit;
    while (!exchange.progress() && std::chrono::steady_clock::now() < end) {
    }
    EXPECT_TRUE(exchange.progress());
    if (!all_well()) return;
    exchange.finish();
    EXPECT_TRUE(fields[0].is_exchanged(options));
  }
}

TEST(Exchange, MayBeDestroyedInFlight) {
  const Communicator& communicator = communicator_with();
  for (const char* transport : {"auto", "mpi"}) {
    const ExchangeCase c = case_along_last_axis(2);
    const Grid grid(rank(), ranks(), c.grid);
    std::vector<CheckedField> fields = make_fields(grid, c);
    fields[0].fill(0);
    {
      Exchange exchange(communicator, grid, list_of(fields), {.transport = transport});
      exchange.start();
    }
    EXPECT_TRUE(fields[0].is_exchanged({})) << "destruction waits";
    fields[0].fill(1);
    Exchange(communicator, grid, list_of(fields), {.transport = transport}).run();
    EXPECT_TRUE(fields[0].is_exchanged({}));
  }
}

TEST(Exchange, MayBeMovedInFlight) {
  const ExchangeCase c = case_along_last_axis(2);
  const Grid grid(rank(), ranks(), c.grid);
  std::vector<CheckedField> fields = make_fields(grid, c);
  fields[0].fill(0);
  Exchange first(communicator_with(), grid, list_of(fields));
  first.start();
  Exchange second(std::move(first));
  second.finish();
  EXPECT_TRUE(fields[0].is_exchanged({}));
}

TEST(Exchange, NeedsTheFieldsMemoryOnly) {
  const std::int64_t cells = 4 * ranks();
  const Grid grid(rank(), ranks(), {.cells = {cells}, .periodic = {true}});
  const Field<double> kept(grid);
  auto copy = std::make_unique<Field<double>>(kept);
  Exchange exchange(communicator_with(), grid, {*copy});
  copy.reset();
  const std::int64_t first = grid.owned().lower.x, end = grid.owned().upper.x;
  for (std::int64_t x = first; x < end; ++x) kept(x) = static_cast<double>(x);
  exchange.run();
  EXPECT_EQ(kept(first - 1), static_cast<double>((first - 1 + cells) % cells));
  EXPECT_EQ(kept(end), static_cast<double>(end % cells));
}

TEST(Exchange, IsStartedAndFinishedInTurn) {
  const ExchangeCase c = case_along_last_axis(2);
  const Grid grid(rank(), ranks(), c.grid);
  std::vector<CheckedField> fields = make_fields(grid, c);
  fields[0].fill(0);
  Exchange exchange(communicator_with(), grid, list_of(fields));
  EXPECT_EQ(caught([&] { exchange.finish(); }).kind, ErrorKind::usage);
  exchange.start();
  EXPECT_THAT(caught([&] { exchange.start(); }), says(ErrorKind::usage, "call finish() first"));
  exchange.finish();
  EXPECT_EQ(caught([&] { exchange.finish(); }).kind, ErrorKind::usage);
  EXPECT_TRUE(fields[0].is_exchanged({}));
}

TEST(Exchange, SaysWhichTransportServesWhichPairs) {
  using Transports = std::vector<std::pair<std::string, std::string>>;
  const auto transports = [](const ExchangeOptions& options, int ranks_per_node) {
    const Communicator& communicator = communicator_with({.ranks_per_node = ranks_per_node});
    const Grid grid(rank(), ranks(),
                    {.cells = {4, 4 * ranks()}, .periodic = {true}, .process_grid = {1, ranks()}});
    const Field<double> field(grid);
    return Exchange(communicator, grid, {field}, options).info().transports;
  };
  Transports one_node = {{"self", "self"}}, two_ranks_each = {{"self", "self"}};
  if (ranks() > 1) one_node.emplace_back("same-node", "shared");
  if (ranks() > 1) two_ranks_each.emplace_back("same-node", "shared");
  if (ranks() > 2) two_ranks_each.emplace_back("other-node", "mpi");
  EXPECT_EQ(transports({}, 0), one_node);
  EXPECT_EQ(transports({}, 2), two_ranks_each);
  for (auto& [pair, transport] : two_ranks_each) transport = "mpi";
  EXPECT_EQ(transports({.transport = "self=mpi,same-node=mpi"}, 2), two_ranks_each);
}

}  // namespace
}  // namespace halocline::test

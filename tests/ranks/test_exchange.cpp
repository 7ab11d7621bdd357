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
#include "support/faults.hpp"
#include "support/random.hpp"
#include "support/ranks.hpp"

namespace halocline::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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
  const Caught error = caught([&] { exchange.start(); });
  EXPECT_EQ(error.kind, ErrorKind::usage);
  EXPECT_THAT(error.text, HasSubstr("before it was finished"));
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

// `shared` is left out where it cannot be opened, on one node or on all.

using Notes = std::vector<std::string>;

Notes notes_of_an_exchange_that_works(const CommunicatorOptions& options) {
  const Communicator& communicator = communicator_with(options);
  const ExchangeCase c = case_along_last_axis(2);
  const Grid grid(rank(), ranks(), c.grid);
  std::vector<CheckedField> fields = make_fields(grid, c);
  Exchange exchange(communicator, grid, list_of(fields));
  for (int step = 0; step < 3; ++step) {
    fields[0].fill(step);
    exchange.run();
    EXPECT_TRUE(fields[0].is_exchanged({}));
  }
  return exchange.info().notes;
}

TEST(Exchange, GoesAnotherWayWithoutSharedMemory) {
  if (ranks() < 2) GTEST_SKIP() << "one rank shares its memory with nobody";
  const NoSharedMemory fault;
  EXPECT_THAT(notes_of_an_exchange_that_works({}),
              ElementsAre(AllOf(HasSubstr("transport shared was left out: "),
                                HasSubstr("MPI_Win_allocate_shared failed"))));
}

TEST(Exchange, GoesAnotherWayIfOneNodeHasNoSharedMemory) {
  if (ranks() < 2) GTEST_SKIP() << "one rank shares its memory with nobody";
  std::optional<NoSharedMemory> fault;
  if (rank() < 2) fault.emplace();
  const Notes notes = notes_of_an_exchange_that_works({.ranks_per_node = 2});
  EXPECT_THAT(notes, ElementsAre(HasSubstr("transport shared was left out: ")));
  fault.reset();
  EXPECT_THAT(notes_of_an_exchange_that_works({.ranks_per_node = 2}), IsEmpty());
}

TEST(ExchangeErrors, NameTheSharedMemoryThatWasAskedFor) {
  if (ranks() < 2) GTEST_SKIP() << "one rank shares its memory with nobody";
  const NoSharedMemory fault;
  const Grid grid(rank(), ranks(), {.cells = {4 * ranks()}});
  const Field<double> field(grid);
  const Caught error =
      caught([&] { Exchange(communicator_with(), grid, {field}, {.transport = "shared"}); });
  EXPECT_EQ(error.kind, ErrorKind::resource);
  EXPECT_THAT(error.text, AllOf(HasSubstr("could not be had (MPI_Win_allocate_shared failed"),
                                HasSubstr("use transport mpi")));
}

// Errors: the same on every rank, and none that leaves the communicator unusable.

void expect_communicator_to_work(const std::string& transport = "auto") {
  ExchangeCase c = case_along_last_axis(2);
  c.exchange.transport = transport;
  c.steps = 1;
  run(c);
}

/// What every rank catches if the last one, if it is not the only one, has another plan.
Caught caught_if_last_rank_has(const GridOptions& other_grid, const FieldSpec& other_field,
                               const ExchangeOptions& other_options, std::size_t field_count = 1) {
  ExchangeCase c;
  c.grid = {.cells = {6 * ranks(), 5}, .periodic = {true, false}, .process_grid = {ranks(), 1}};
  if (rank() == ranks() - 1) {
    c.grid = other_grid;
    c.fields.assign(field_count, other_field);
    c.exchange = other_options;
  }
  const Grid grid(rank(), ranks(), c.grid);
  const std::vector<CheckedField> fields = make_fields(grid, c);
  return caught([&] { Exchange(communicator_with(), grid, list_of(fields), c.exchange); });
}

TEST(ExchangeErrors, NameHowPlansDiffer) {
  if (ranks() < 2) GTEST_SKIP() << "one rank has nobody to differ from";
  const GridOptions same{
      .cells = {6 * ranks(), 5}, .periodic = {true, false}, .process_grid = {ranks(), 1}};
  GridOptions not_periodic = same, more_cells = same, other_parts = same;
  not_periodic.periodic = {false, false};
  more_cells.cells = {6 * ranks(), 6};
  other_parts.process_grid = {1, ranks()};
  if (ranks() > 5) other_parts.process_grid = {ranks() / 2, 2};
  const std::string last = "rank " + std::to_string(ranks() - 1) + " has ";

  const auto expect = [&](const Caught& error, const std::string& first,
                          const std::string& second) {
    EXPECT_EQ(error.kind, ErrorKind::usage) << error.text;
    EXPECT_THAT(error.text, AllOf(HasSubstr("exchange plans differ: rank 0 has «"),
                                  HasSubstr(first), HasSubstr(last), HasSubstr(second)));
    expect_communicator_to_work("mpi");
  };
  expect(caught_if_last_rank_has(same, {.halo = 2}, {}), "x 1/1, y 1/1", "x 2/2, y 2/2");
  expect(caught_if_last_rank_has(same, {.halo = 2}, {.widths = HaloWidths{{1, 1, 0}, {1, 0, 0}}}),
         "x 1/1, y 1/1", "x 1/1, y 1/0");
  expect(caught_if_last_rank_has(same, {}, {}, 2), "1 field»", "2 fields»");
  expect(caught_if_last_rank_has(same, {.element = Element::f32}, {}), "of 8 bytes", "of 4 bytes");
  expect(caught_if_last_rank_has(same, {.components = 2}, {}), "1 component of", "2 components of");
  expect(caught_if_last_rank_has(same, {.order_in_users_memory = "yxzc"}, {}), "order xy",
         "order yx");
  expect(caught_if_last_rank_has(not_periodic, {}, {}), "x periodic", "x not periodic");
  expect(caught_if_last_rank_has(more_cells, {}, {}), "x5 cells", "x6 cells");
  expect(caught_if_last_rank_has(same, {}, {.neighbours = Neighbours::faces}), "neighbours all",
         "neighbours across faces");
  expect(caught_if_last_rank_has(same, {}, {.transport = "mpi"}), "transport auto",
         "transport mpi");
  if (ranks() != 7)
    expect(caught_if_last_rank_has(other_parts, {}, {}), "process grid", "process grid");
  expect_communicator_to_work();
}

TEST(ExchangeErrors, NameAWidthBeyondTheNeighboursCells) {
  const Grid grid(rank(), ranks(),
                  {.cells = {2 * ranks()}, .periodic = {true}, .process_grid = {ranks()}});
  const Field<double> field(grid, {.halo = 3});
  const Caught error = caught([&] { Exchange(communicator_with(), grid, {field}); });
  EXPECT_EQ(error.kind, ErrorKind::usage);
  EXPECT_THAT(error.text, HasSubstr("halo width 3 exceeds the 2 cells that rank 0 owns along x"));
  EXPECT_THAT(error.text, HasSubstr(ranks() == 1 ? "use a width of at most 2" : "use at most "));
  EXPECT_EQ(caught([&] { Exchange(communicator_with(), grid, {field}, {.widths = 2}); }).text,
            "no error");
  expect_communicator_to_work();
}

TEST(ExchangeErrors, NameAWidthBeyondTheFieldsHalo) {
  const Grid grid(rank(), ranks(), {.cells = {4 * ranks(), 4}, .process_grid = {ranks(), 1}});
  const Field<double> field(grid, {.name = "u", .halo = 1});
  const HaloWidths widths{{1, 1, 0}, {1, 2, 0}};
  const Caught error =
      caught([&] { Exchange(communicator_with(), grid, {field}, {.widths = widths}); });
  EXPECT_EQ(error.kind, ErrorKind::usage);
  EXPECT_THAT(error.text, HasSubstr("exchange width 1/2 along y exceeds the halo 1/1 of field "
                                    "'u'"));
  const Caught negative =
      caught([&] { Exchange(communicator_with(), grid, {field}, {.widths = HaloWidths{-1}}); });
  EXPECT_EQ(negative.kind, ErrorKind::usage);
  EXPECT_THAT(negative.text, HasSubstr("halo width -1 along x is negative"));
  expect_communicator_to_work();
}

TEST(ExchangeErrors, NameWhatDoesNotFitTheRanks) {
  const Caught too_many = caught([] { Grid(0, ranks() + 1, {.cells = {ranks()}}); });
  EXPECT_EQ(too_many.kind, ErrorKind::usage);
  EXPECT_THAT(too_many.text,
              AllOf(HasSubstr(std::to_string(ranks()) + " cells cannot be split over " +
                              std::to_string(ranks() + 1) + " ranks"),
                    HasSubstr("use at most " + std::to_string(ranks()) +
                              (ranks() == 1 ? " rank" : " ranks"))));
  const Caught mismatch =
      caught([] { Grid(rank(), ranks(), {.cells = {99}, .process_grid = {ranks() + 2}}); });
  EXPECT_EQ(mismatch.kind, ErrorKind::usage);
  EXPECT_THAT(mismatch.text, HasSubstr("the process grid " + std::to_string(ranks() + 2) +
                                       " is for " + std::to_string(ranks() + 2) +
                                       " ranks, but there are " + std::to_string(ranks())));
}

TEST(ExchangeErrors, NameTheRankThatAloneIsWrong) {
  const Grid grid(rank(), ranks(), {.cells = {4 * ranks()}}),
      shifted(rank(), ranks(), {.cells = {4 * ranks() + 1}});
  // Only rank 0 owns another number of cells there.
  const Field<double> field(rank() == 0 ? shifted : grid, {.name = "u"});
  const Caught error = caught([&] { Exchange(communicator_with(), grid, {field}); });
  EXPECT_EQ(error.kind, ErrorKind::usage);
  const std::string text = "field 'u' was made for another grid";
  EXPECT_EQ(error.text, ranks() == 1 ? text : "rank 0: " + text);
  expect_communicator_to_work();
}

TEST(ExchangeErrors, NameAGridOfOtherRanks) {
  const Grid grid(0, 1, {.cells = {4}});
  const Field<double> field(grid);
  const Caught error = caught([&] { Exchange(communicator_with(), grid, {field}); });
  if (ranks() == 1) {
    EXPECT_EQ(error.text, "no error");
    return;
  }
  EXPECT_EQ(error.kind, ErrorKind::usage);
  EXPECT_THAT(error.text, HasSubstr("the grid was made for rank 0 of 1, the communicator says "));
  expect_communicator_to_work();
}

TEST(ExchangeErrors, NameATransportThatCannotServe) {
  const Grid grid(rank(), ranks(), {.cells = {4 * ranks()}});
  const Field<double> field(grid);
  const auto error_with = [&](const std::string& transport) {
    return caught([&] {
      Exchange(communicator_with({.ranks_per_node = 1}), grid, {field}, {.transport = transport});
    });
  };
  EXPECT_EQ(error_with("telepathy").kind, ErrorKind::usage);
  if (ranks() > 1) {
    const Caught error = error_with("shared");
    EXPECT_EQ(error.kind, ErrorKind::unavailable);
    EXPECT_THAT(error.text, HasSubstr("transport shared cannot serve other-node pairs"));
  }
  expect_communicator_to_work();
}

TEST(ExchangeErrors, WantAField) {
  const Grid grid(rank(), ranks(), {.cells = {4 * ranks()}});
  const Caught error = caught([&] { Exchange(communicator_with(), grid, {}); });
  EXPECT_EQ(error.kind, ErrorKind::usage);
  EXPECT_THAT(error.text, HasSubstr("at least one field"));
  expect_communicator_to_work();
}

TEST(ExchangeErrors, RefusePiecesThatMpiCannotCount) {
  for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 31})
    EXPECT_EQ(caught([&] { Communicator::world({.piece_bytes = bytes}); }).kind, ErrorKind::usage);
}

}  // namespace
}  // namespace halocline::test

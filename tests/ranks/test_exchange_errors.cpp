// SPDX-License-Identifier: Apache-2.0
// Exchanges that cannot be as they were asked for: what is done instead, or what is said.

#include <mpi.h>

#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/error.hpp>
#include <halocline/exchange.hpp>
#include <halocline/measure.hpp>
#include <halocline/mpi.hpp>

#include "comm/settings.hpp"
#include "support/caught.hpp"
#include "support/communicators.hpp"
#include "support/exchange_case.hpp"
#include "support/exchange_cases.hpp"
#include "support/faults.hpp"
#include "support/ranks.hpp"
#include "support/set_variable.hpp"

namespace halocline::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// `shared` is left out where it cannot be opened, on one node or on all.

std::vector<std::string> notes_of_an_exchange_that_works(const comm::Settings& options) {
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
  const std::vector<std::string> notes = notes_of_an_exchange_that_works({.ranks_per_node = 2});
  EXPECT_THAT(notes, ElementsAre(HasSubstr("transport shared was left out: ")));
  fault.reset();
  EXPECT_THAT(notes_of_an_exchange_that_works({.ranks_per_node = 2}), IsEmpty());
}

TEST(ExchangeErrors, NameTheSharedMemoryThatWasAskedFor) {
  if (ranks() < 2) GTEST_SKIP() << "one rank shares its memory with nobody";
  const NoSharedMemory fault;
  const Grid grid(rank(), ranks(), {.cells = {4 * ranks()}});
  const Field<double> field(grid);
  EXPECT_THAT(
      caught([&] { Exchange(communicator_with(), grid, {field}, {.transport = "shared"}); }),
      says(ErrorKind::resource, "could not allocate ", "(MPI_Win_allocate_shared failed",
           "use transport mpi"));
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
    EXPECT_THAT(error,
                says(ErrorKind::usage, "exchange plans differ: rank 0 has «", first, last, second));
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
  expect(caught_if_last_rank_has(same, {}, {.same_order = true}), "in any order",
         "in the same order");
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
  EXPECT_THAT(
      error.text,
      HasSubstr(
          "halo width 3 of field 1 of the exchange exceeds the 2 cells that rank 0 owns along x"));
  EXPECT_THAT(error.text, HasSubstr(ranks() == 1 ? "use a width of at most 2" : "use at most "));
  EXPECT_EQ(caught([&] { Exchange(communicator_with(), grid, {field}, {.widths = 2}); }).text,
            "no error");
  expect_communicator_to_work();
}

TEST(ExchangeErrors, NameAFieldThatIsListedTwice) {
  const Grid grid(rank(), ranks(), {.cells = {4 * ranks()}, .process_grid = {ranks()}});
  const Field<double> u(grid, {.name = "u"}), v(grid, {.name = "v"});
  const Field<double> same(grid, u.first(), u.strides(), {.name = "same"});
  EXPECT_THAT(caught([&] {
                Exchange(communicator_with(), grid, {u, v, u});
              }),
              says(ErrorKind::usage, "'u'"));
  EXPECT_THAT(caught([&] {
                Exchange(communicator_with(), grid, {u, same});
              }).text,
              AllOf(HasSubstr("'u'"), HasSubstr("'same'")));
  expect_communicator_to_work();
}

TEST(MeasureErrors, NameFieldsThatAreNeitherFloatNorDouble) {
  const Grid grid(rank(), ranks(), {.cells = {4 * ranks()}, .process_grid = {ranks()}});
  const Field<std::int32_t> field(grid, {.name = "mask"});
  for (const Caught& error : {caught([&] { checksum(communicator_with(), grid, field); }),
                              caught([&] { sum(communicator_with(), grid, field); }),
                              caught([&] { fill_noise(communicator_with(), grid, field); })}) {
    EXPECT_THAT(error, says(ErrorKind::usage, "'mask'"));
  }
  EXPECT_FALSE(caught([&] {
                 // Whose type nobody tells: as C's fields.
                 checksum(communicator_with(), grid, FieldStorage(grid, 4));
               }).kind);
}

TEST(ExchangeErrors, NameAWidthBeyondTheFieldsHalo) {
  const Grid grid(rank(), ranks(), {.cells = {4 * ranks(), 4}, .process_grid = {ranks(), 1}});
  const Field<double> field(grid, {.name = "u", .halo = 1});
  const HaloWidths widths{{1, 1, 0}, {1, 2, 0}};
  EXPECT_THAT(caught([&] { Exchange(communicator_with(), grid, {field}, {.widths = widths}); }),
              says(ErrorKind::usage,
                   "exchange width 1/2 along y exceeds the halo 1/1 of field "
                   "'u'"));
  const Caught negative =
      caught([&] { Exchange(communicator_with(), grid, {field}, {.widths = HaloWidths{-1}}); });
  EXPECT_THAT(negative, says(ErrorKind::usage, "halo width -1 along x is negative"));
  expect_communicator_to_work();
}

TEST(ExchangeErrors, NameWhatDoesNotFitTheRanks) {
  EXPECT_THAT(caught([] { Grid(0, ranks() + 1, {.cells = {ranks()}}); }),
              says(ErrorKind::usage,
                   std::to_string(ranks()) + (ranks() == 1 ? " cell" : " cells") +
                       " cannot be split over " + std::to_string(ranks() + 1) + " ranks",
                   "use at most " + std::to_string(ranks()) + (ranks() == 1 ? " rank" : " ranks")));
  EXPECT_THAT(caught([] { Grid(rank(), ranks(), {.cells = {99}, .process_grid = {ranks() + 2}}); }),
              says(ErrorKind::usage, "the process grid " + std::to_string(ranks() + 2) +
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
  const std::string text = "field 'u' belongs to another grid";
  EXPECT_EQ(error.text, ranks() == 1 ? text : "rank 0: " + text);
  expect_communicator_to_work();
}

TEST(ExchangeErrors, CountFieldsWithoutAName) {
  const Grid grid(rank(), ranks(), {.cells = {4 * ranks()}});
  const Field<double> u(grid, {.name = "u"}), one(grid);
  EXPECT_THAT(
      caught([&] {
        Exchange(communicator_with(), grid, {u, one, one});
      }).text,
      HasSubstr("field 2 of the exchange and field 3 of the exchange have the same values"));
  EXPECT_THAT(caught([&] {
                Exchange(communicator_with(), grid, {u, one}, {.widths = 2});
              }).text,
              HasSubstr("'u'"));
  const Field<double> narrow(grid, {.halo = 0});
  EXPECT_THAT(caught([&] {
                LevelExchange(communicator_with(), grid, {{u, one}, {u, narrow}});
              }).text,
              HasSubstr("field 2 of level 1 and the plan's field 2 differ in halo"));
}

TEST(CommunicatorErrors, NameACommunicatorThatIsNull) {
  const Caught null = caught([] { from_mpi(MPI_COMM_NULL); });
  EXPECT_THAT(null, says(ErrorKind::usage, "the communicator is null"));
}

// Under the launcher of another MPI each rank is alone, though its launcher tells of others.
TEST(CommunicatorErrors, NameRanksThatDoNotFindEachOther) {
  const SetVariable rank_told("OMPI_COMM_WORLD_RANK", "0"), size_told("OMPI_COMM_WORLD_SIZE", "5");
  const Caught alone = caught([] { Communicator::world(); });
  if (ranks() > 1) {
    EXPECT_FALSE(alone.kind) << alone.text;
    return;
  }
  EXPECT_THAT(alone, says(ErrorKind::unavailable,
                          "mpirun started 5 ranks, but they do not find each other"));
}

TEST(ExchangeErrors, NameAGridOfOtherRanks) {
  const Grid grid(0, 1, {.cells = {4}});
  const Field<double> field(grid);
  const Caught error = caught([&] { Exchange(communicator_with(), grid, {field}); });
  if (ranks() == 1) {
    EXPECT_EQ(error.text, "no error");
    return;
  }
  EXPECT_THAT(error, says(ErrorKind::usage, "the grid belongs to rank 0 of 1, but this is rank "));
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
    EXPECT_THAT(error,
                says(ErrorKind::unavailable, "transport shared cannot serve other-node pairs"));
  }
  expect_communicator_to_work();
}

TEST(ExchangeErrors, WantAField) {
  const Grid grid(rank(), ranks(), {.cells = {4 * ranks()}});
  EXPECT_THAT(caught([&] { Exchange(communicator_with(), grid, {}); }),
              says(ErrorKind::usage, "at least one field"));
  expect_communicator_to_work();
}

TEST(ExchangeErrors, RefusePiecesThatMpiCannotCount) {
  for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 31})
    EXPECT_EQ(caught([&] { comm::world({.piece_bytes = bytes}); }).kind, ErrorKind::usage);
}

}  // namespace
}  // namespace halocline::test

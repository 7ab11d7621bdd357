// SPDX-License-Identifier: Apache-2.0
// What is timed beside transports fills the same halos: every byte of every field against a
// formula.

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/error.hpp>

#include "bench/rivals.hpp"
#include "comm/collectives.hpp"
#include "mpi/derived_types.hpp"
#include "support/caught.hpp"
#include "support/cells.hpp"
#include "support/communicators.hpp"
#include "support/exchange_case.hpp"
#include "support/exchange_cases.hpp"
#include "support/halo_formula.hpp"
#include "support/memories.hpp"
#include "support/ranks.hpp"
#include "transport/transport.hpp"

namespace halocline::test {
namespace {

using bench::Rival;
using bench::RivalExchange;
using testing::HasSubstr;

/// The bytes that this rank sends to others, by definition.
std::int64_t bytes_sent(const Grid& grid, const ExchangeCase& c) {
  std::int64_t bytes = 0;
  for (int peer = 0; peer < grid.ranks(); ++peer) {
    if (peer == grid.rank()) continue;
    const Box source = owned_by_formula(grid, grid.rank()), target = owned_by_formula(grid, peer);
    for (const FieldSpec& field : c.fields) {
      const HaloWidths widths = widths_filled(grid, field.halo, c.exchange);
      for_each_cell(grow(target, widths.lower, widths.upper), [&](Int3 at) {
        const auto cell = imaged_cell(grid, target, widths, c.exchange.neighbours, at);
        if (cell && source.contains(*cell)) bytes += field.components * bytes_of(field.element);
      });
    }
  }
  return bytes;
}

/// False, on every rank, if anything was wrong.
bool run(const Rival& rival, const ExchangeCase& c) {
  SCOPED_TRACE(std::string(rival.name) + ": " + describe(c));
  const Grid grid(world(), c.grid);
  std::vector<CheckedField> fields = make_fields(grid, c);
  const std::unique_ptr<RivalExchange> exchange =
      rival.make({world(), grid, c.memory}, list_of(fields), c.exchange.neighbours);
  EXPECT_EQ(exchange->bytes, bytes_sent(grid, c));
  for (int step = 0; step < c.steps; ++step) {
    for (CheckedField& field : fields) field.fill(step);
    exchange->run();
    for (const CheckedField& field : fields) EXPECT_TRUE(field.is_exchanged(c.exchange));
  }
  return all_well();
}

/// Fields of all widths and element sizes, in memory of their own and of the user.
std::vector<FieldSpec> some_fields(int axes) {
  HaloWidths uneven;
  uneven.lower = {1, 2, 0};
  uneven.upper = {2, 0, 1};
  std::vector<FieldSpec> fields{{.halo = uneven},
                                {.element = Element::f32, .components = 3, .halo = 2},
                                {.element = Element::triple, .components = 2, .halo = uneven}};
  fields.push_back({.element = Element::i8,
                    .components = 2,
                    .halo = 1,
                    .order_in_users_memory = axes == 3 ? "zcxy" : "ycx"});
  if (axes == 2)
    fields.push_back({.components = 1, .halo = uneven, .order_in_users_memory = "yx", .gap = 3});
  return fields;
}

class Rivals : public testing::TestWithParam<std::string> {};

TEST_P(Rivals, FillHalosForEveryProcessGrid) {
  for (const int axes : {2, 3})
    for (const Extents& parts : process_grids(axes))
      for (const bool periodic : {false, true})
        for (const Neighbours neighbours : {Neighbours::faces, Neighbours::all}) {
          ExchangeCase c;
          Int3 cells{1, 1, 1};
          for (int axis = 0; axis < axes; ++axis) cells[axis] = 2 * parts[axis] + 1;
          c.grid = {.cells = Extents(cells, axes),
                    .periodic = {periodic, periodic, periodic},
                    .process_grid = parts};
          c.fields = some_fields(axes);
          c.exchange.neighbours = neighbours;
          if (!run(bench::find_rival(GetParam()), c)) return;
        }
}

TEST_P(Rivals, FillHalosOfPinnedMemory) {
  NEED_GPU();
  ExchangeCase c = case_along_last_axis(2);
  c.memory = Memory::pinned;
  run(bench::find_rival(GetParam()), c);
}

TEST_P(Rivals, CannotBeSelectedAsTransports) {
  EXPECT_EQ(caught([&] { transport::find_transport(GetParam()); }).kind, ErrorKind::usage);
}

INSTANTIATE_TEST_SUITE_P(All, Rivals, testing::ValuesIn(bench::names_of_rivals()),
                         [](const auto& name) { return name.param; });

TEST(DerivedTypes, RefuseStridesThatNoArrayHas) {
  const Grid grid(world(), {.cells = {4, 4, 3 * ranks()},
                            .periodic = {false, false, true},
                            .process_grid = {1, 1, ranks()}});
  // Planes of 6 rows of 8 elements, 50 apart instead of a multiple of 8.
  std::vector<double> memory(50 * 5);
  const Field<double> field(grid, memory.data() + 50 + 8 + 1, {.x = 1, .y = 8, .z = 50});
  const Caught error = caught([&] {
    bench::make_derived_types({world(), grid}, {field}, Neighbours::faces);
  });
  EXPECT_EQ(error.kind, ErrorKind::usage);
  EXPECT_THAT(error.text, HasSubstr("50 and 8"));
}

TEST(DerivedTypes, ThatOneRankCannotMakeNoRankHas) {
  std::vector<double> array(8);
  const auto box_of = [&](std::int64_t elements) {
    return mpi::Subarray{.array = reinterpret_cast<std::byte*>(array.data()),
                         .sizes = {8},
                         .starts = {0},
                         .box = {elements}};
  };
  const int next = (rank() + 1) % ranks(), last = (rank() + ranks() - 1) % ranks();
  const std::int64_t too_many = std::int64_t{1} << 40;
  const Caught error = caught([&] {
    const mpi::DerivedTypes types(
        world(), {{.peer = next, .out = box_of(rank() == 0 ? too_many : 2), .in = {}},
                  {.peer = last, .out = {}, .in = box_of(2)}});
  });
  EXPECT_EQ(error.kind, ErrorKind::internal) << error.text;
}

TEST(DerivedTypes, MayRestBetweenRunsLongerThanTheWaitLimit) {
  constexpr std::chrono::seconds limit(2);
  const Communicator& communicator = communicator_with({.wait_limit = limit});
  std::atomic<int> stalls{0};
  comm::set_stall_handler(communicator, [&](const std::string&) { ++stalls; });
  {
    mpi::DerivedTypes types(communicator, {});
    types.run();
    std::this_thread::sleep_for(limit + std::chrono::milliseconds(300));
    types.run();
  }
  comm::set_stall_handler(communicator, {});
  EXPECT_EQ(stalls, 0);
}

TEST(DerivedTypes, NeedAProofForTheMemoryOfGpus) {
  const Grid grid(world(), {.cells = {4, 4 * ranks()}, .process_grid = {1, ranks()}});
  EXPECT_EQ(bench::why_no_derived_types({world(), grid, Memory::host}), std::nullopt);
  const std::string no_file = testing::TempDir() + "/no_such_proofs.json";
  if (ranks() > 1 && !no_gpu()) {
    EXPECT_NE(bench::why_no_derived_types({world(), grid, Memory::device, no_file}), std::nullopt);
  }
  const Grid around(
      world(),
      {.cells = {4, 4 * ranks()}, .periodic = {true, false}, .process_grid = {1, ranks()}});
  EXPECT_EQ(bench::why_no_derived_types({world(), around, Memory::host}), std::nullopt);
  EXPECT_THAT(bench::why_no_derived_types({world(), around, Memory::device, no_file}).value_or(""),
              HasSubstr("to itself"));
}

}  // namespace
}  // namespace halocline::test

// SPDX-License-Identifier: Apache-2.0
// A rank that does not come: the others say within the wait limit whom they wait for, and all end
// in good order.

#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/exchange.hpp>

#include "comm/collectives.hpp"
#include "comm/settings.hpp"
#include "comm/state.hpp"
#include "comm/waiting.hpp"
#include "support/caught.hpp"
#include "support/ranks.hpp"

namespace halocline::test {
namespace {

using testing::HasSubstr;
using Seconds = std::chrono::duration<double>;

constexpr Seconds limit{0.4};

/// Of its own, since it is not to be used after a wait ran out.
Communicator impatient_communicator(int ranks_per_node = 0) {
  return comm::world({.wait_limit = limit, .ranks_per_node = ranks_per_node});
}

/// Ranks in a row; each has one or two neighbours.
Grid row_of_ranks() {
  return {rank(), ranks(), {.cells = {4 * ranks()}, .process_grid = {ranks()}}};
}

Seconds time_of(const std::function<void()>& work) {
  const auto since = std::chrono::steady_clock::now();
  work();
  return std::chrono::steady_clock::now() - since;
}

void expect_about_the_limit(Seconds time) {
  EXPECT_GE(time.count(), limit.count() * 0.9);
  // Ranks share cores, so no more than the order of magnitude can be asked for.
  EXPECT_LT(time.count(), limit.count() + 5);
}

class Waiting : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (ranks() < 2) GTEST_SKIP() << "one rank waits for nobody";
  }
};

TEST_P(Waiting, ForARankThatNeverStartsEndsWithItsName) {
  const Communicator communicator = impatient_communicator();
  const Grid grid = row_of_ranks();
  const Field<double> field(grid, {.name = "u"});
  Exchange exchange(communicator, grid, {field}, {.transport = GetParam()});
  exchange.run();
  if (rank() == 0) {
    agree(true);
    return;
  }
  Caught error;
  const Seconds time = time_of([&] { error = caught([&] { exchange.run(); }); });
  if (rank() == 1) {
    EXPECT_THAT(error, says(ErrorKind::communication, "rank 1 has waited 0.4 s",
                            "for rank 0 (field 'u', direction -x)", GetParam()));
    expect_about_the_limit(time);
  } else {
    EXPECT_EQ(error.text, "no error") << "its neighbours have started";
  }
  agree(true);
}

TEST_P(Waiting, ForALateRankSucceedsWithinTheLimit) {
  const Communicator communicator = impatient_communicator();
  const Grid grid = row_of_ranks();
  const Field<double> field(grid);
  Exchange exchange(communicator, grid, {field}, {.transport = GetParam()});
  if (rank() == 0) std::this_thread::sleep_for(limit / 4);
  EXPECT_EQ(caught([&] { exchange.run(); }).text, "no error");
}

// What the late rank sends meets no exchange any more, and must not meet its memory either.
TEST_P(Waiting, ForARankThatComesTooLateLeavesNothingToWriteTo) {
  const Communicator communicator = impatient_communicator();
  const Grid grid = row_of_ranks();
  std::optional<Field<double>> field(std::in_place, grid, FieldOptions{.halo = 2});
  std::optional<Exchange> exchange(std::in_place, communicator, grid, FieldList{*field},
                                   ExchangeOptions{.transport = GetParam()});
  if (rank() == 0) {
    agree(true);
    caught([&] { exchange->run(); });
    agree(true);
  } else {
    exchange->start();
    const Caught error = caught([&] { exchange->finish(); });
    EXPECT_EQ(error.kind.has_value(), rank() == 1);
    exchange.reset();
    field.reset();
    agree(true);
    agree(true);
  }
}

TEST_P(Waiting, IsNotForEverInADestructor) {
  const Communicator communicator = impatient_communicator();
  const Grid grid = row_of_ranks();
  const Field<double> field(grid);
  std::optional<Exchange> exchange(std::in_place, communicator, grid, FieldList{field},
                                   ExchangeOptions{.transport = GetParam()});
  if (rank() != 0) exchange->start();
  const Seconds time = time_of([&] { exchange.reset(); });
  EXPECT_LT(time.count(), 2 * limit.count() + 5);
  agree(true);
}

INSTANTIATE_TEST_SUITE_P(Transports, Waiting, testing::Values("mpi", "shared"),
                         [](const testing::TestParamInfo<const char*>& instance) {
                           return std::string(instance.param);
                         });

TEST(WaitingForOthers, NamesEveryPeerThatIsMissing) {
  if (ranks() < 3) GTEST_SKIP() << "needs a rank between two others";
  for (const char* transport : {"mpi", "shared"}) {
    const Communicator communicator = impatient_communicator();
    const Grid grid = row_of_ranks();
    const Field<float> u(grid, {.name = "u"}), v(grid, {.name = "v"});
    Exchange exchange(communicator, grid, {u, v}, {.transport = transport});
    if (rank() == 1) {
      EXPECT_THAT(caught([&] { exchange.run(); }).text,
                  HasSubstr("for rank 0 (fields 'u', 'v', direction -x) and rank 2 (fields 'u', "
                            "'v', direction +x)"));
    }
    agree(true);
  }
}

TEST(WaitingForOthers, GoesOnIfAllHasArrivedSinceTheLastPoll) {
  const Communicator communicator = impatient_communicator();
  bool has_arrived = false;
  const auto missing = [&] {
    has_arrived = true;
    return std::string();
  };
  const Caught error = caught([&] {
    comm::wait_until(communicator.state(), {.site = "a test", .missing = missing},
                     [&] { return has_arrived; });
  });
  EXPECT_FALSE(error.kind) << error.text;
  agree(true);
}

TEST(WaitingForOthers, EndsWhenANormNeverComes) {
  if (ranks() < 2) GTEST_SKIP() << "one rank waits for nobody";
  const Communicator communicator = impatient_communicator();
  const auto norm = [&] {
    comm::NonblockingAllReduce reduction(communicator);
    reduction.start(comm::NonblockingAllReduce::Kind::max, 1.0);
    reduction.finish();
  };
  if (rank() != 0) {
    EXPECT_THAT(caught(norm), says(ErrorKind::communication, "has waited 0.4 s in norm, wait",
                                   "every rank's norm"));
  }
  agree(true);
  // The late rank's norm comes to where the others' reductions are no more.
  if (rank() == 0) caught(norm);
  agree(true);
}

TEST(WaitingForOthers, EndsInACollectiveCall) {
  if (ranks() < 2) GTEST_SKIP() << "one rank waits for nobody";
  const Communicator communicator = impatient_communicator();
  if (rank() != 0) {
    Caught error;
    expect_about_the_limit(
        time_of([&] { error = caught([&] { comm::gather_all(communicator, 1.0); }); }));
    EXPECT_THAT(error, says(ErrorKind::communication,
                            "has waited 0.4 s in MPI_Iallgather for the other ranks"));
  }
  agree(true);
  if (rank() == 0) caught([&] { comm::gather_all(communicator, 1.0); });
  agree(true);
}

TEST(WaitingForOthers, DoesNotHarmOtherCommunicators) {
  const Communicator communicator = impatient_communicator();
  const Grid grid = row_of_ranks();
  const Field<double> field(grid);
  EXPECT_EQ(caught([&] { Exchange(communicator, grid, {field}).run(); }).text, "no error");
}

}  // namespace
}  // namespace halocline::test

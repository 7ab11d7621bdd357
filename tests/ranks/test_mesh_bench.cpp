// SPDX-License-Identifier: Apache-2.0
// `halocline bench mesh` on some ranks: deadlocks are recognised and left, bytes are compared.

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/mesh_bench.hpp"
#include "bench/mesh_exchange.hpp"
#include "comm/collectives.hpp"
#include "support/caught.hpp"
#include "support/communicators.hpp"
#include "support/ranks.hpp"

namespace halocline::test {
namespace {

using bench::MeshBenchOptions;
using bench::MeshBenchResult;
using bench::MeshMessage;
using bench::MeshOrder;
using bench::MeshTiming;
using testing::HasSubstr;

/// Shorter than the time after which a test is ended.
const Communicator& impatient_world() {
  return communicator_with({.wait_limit = std::chrono::seconds(5)});
}

// Above every MPI's eager limit on a node.
constexpr std::int64_t large = 1 << 20;

MeshBenchOptions brief_mesh(std::int64_t bytes) {
  MeshBenchOptions options;
  options.sizes = {bytes};
  options.loop.repetitions = 3;
  return options;
}

/// Neighbours in a row that does not wrap around.
bench::MeshNeighbours in_a_row() {
  return {-1, -1, rank() - 1, rank() + 1 < ranks() ? rank() + 1 : -1};
}

TEST(MeshBench, FindsTheDeadlockAndTimesTheOthers) {
  if (ranks() < 2) GTEST_SKIP() << "one rank has nobody to wait for";
  const MeshBenchResult result = run_mesh_bench(impatient_world(), brief_mesh(large));
  ASSERT_EQ(result.timings.size(), 4u);
  for (const MeshTiming& timing : result.timings) {
    SCOPED_TRACE(name_of(timing.order));
    ASSERT_EQ(timing.deadlock.has_value(), timing.order == MeshOrder::send_first);
    EXPECT_FALSE(timing.wrong) << *timing.wrong;
    if (timing.deadlock) continue;
    EXPECT_EQ(timing.time.repetitions, 3);
    EXPECT_GT(timing.time.min_seconds, 0);
    EXPECT_EQ(comm::max_over_ranks(impatient_world(), timing.time.median_seconds),
              timing.time.median_seconds);
  }
  // Everybody sends to his lowest neighbour first; the lowest rank to the next one in x, if any.
  const bench::MeshDeadlock& deadlock = *result.timings[0].deadlock;
  EXPECT_GE(deadlock.circle.size(), 2u);
  EXPECT_EQ(deadlock.circle[0], 0);
  EXPECT_EQ(static_cast<int>(deadlock.circle.size()) + deadlock.others, ranks());
  EXPECT_THAT(deadlock.text, HasSubstr("0: each waits in a send whose receive is not posted"));
}

TEST(MeshBench, SmallMessagesGetThroughInEveryOrder) {
  if (ranks() < 2) GTEST_SKIP() << "MPICH keeps no copy of what a rank alone sends to itself";
  MeshBenchOptions options = brief_mesh(8);
  options.periodic = {true, true, false};
  const MeshBenchResult result = run_mesh_bench(impatient_world(), options);
  ASSERT_EQ(result.timings.size(), 4u);
  EXPECT_EQ(result.messages, 4);
  for (const MeshTiming& timing : result.timings) {
    EXPECT_FALSE(timing.deadlock) << timing.deadlock->text;
    EXPECT_FALSE(timing.wrong) << *timing.wrong;
  }
}

TEST(MeshBench, OrderedDeadlocksOnceAnAxisWrapsAround) {
  MeshBenchOptions options = brief_mesh(large);
  options.orders = {MeshOrder::ordered, MeshOrder::irecv_isend};
  options.process_grid = {1, ranks()};
  options.periodic = {false, true, false};
  const MeshBenchResult result = run_mesh_bench(impatient_world(), options);
  ASSERT_TRUE(result.timings[0].deadlock);
  std::vector<int> around{0};
  for (int from = ranks() - 1; from > 0; --from) around.push_back(from);
  EXPECT_EQ(result.timings[0].deadlock->circle, around) << "each sends down first";
  EXPECT_FALSE(result.timings[1].deadlock);
  EXPECT_FALSE(result.timings[1].wrong);
}

TEST(MeshBench, TimelinesHaveBothSidesOfEachMessage) {
  if (ranks() < 2) GTEST_SKIP() << "one rank sends nothing";
  const MeshBenchResult result = run_mesh_bench(impatient_world(), brief_mesh(large));
  if (rank() != 0) return;
  for (const MeshTiming& timing : result.timings) {
    SCOPED_TRACE(name_of(timing.order));
    ASSERT_EQ(timing.timeline.end_seconds.size(), static_cast<std::size_t>(ranks()));
    for (const MeshMessage& message : timing.timeline.messages) {
      EXPECT_GE(message.start_seconds, 0);
      EXPECT_LE(message.start_seconds, message.end_seconds);
      EXPECT_LE(message.end_seconds,
                timing.timeline.end_seconds[static_cast<std::size_t>(message.rank)]);
      const auto others =
          std::count_if(timing.timeline.messages.begin(), timing.timeline.messages.end(),
                        [&](const MeshMessage& other) {
                          return other.way != message.way && other.rank == message.peer &&
                                 other.peer == message.rank && other.lane == message.lane;
                        });
      EXPECT_EQ(others, timing.deadlock ? 0 : 1);
    }
  }
}

TEST(MeshExchange, FindsAWrongByte) {
  if (ranks() < 2) GTEST_SKIP() << "one rank receives nothing";
  bench::MeshExchange exchange(impatient_world(), in_a_row(), 100);
  const auto steps = bench::mesh_steps(MeshOrder::irecv_isend, in_a_row());
  exchange.fill(1);
  EXPECT_TRUE(exchange.first_wrong(1)) << "nothing has come yet";
  exchange.run(steps);
  EXPECT_FALSE(exchange.first_wrong(1)) << *exchange.first_wrong(1);
  ASSERT_TRUE(exchange.first_wrong(2)) << "another round's bytes";
  EXPECT_THAT(*exchange.first_wrong(2), HasSubstr("byte 0 of 100 from rank"));
}

TEST(MeshExchange, GoesOnAfterADeadlock) {
  if (ranks() < 2) GTEST_SKIP() << "one rank has nobody to wait for";
  bench::MeshExchange exchange(impatient_world(), in_a_row(), large);
  for (int round = 0; round < 2; ++round) {
    exchange.fill(round);
    const auto stuck = exchange.try_out(bench::mesh_steps(MeshOrder::send_first, in_a_row()));
    ASSERT_TRUE(stuck);
    EXPECT_EQ(stuck->circle, (std::vector{0, 1}));
    EXPECT_FALSE(exchange.first_wrong(round)) << "what was stuck has come in the end";
  }
  exchange.fill(2);
  EXPECT_FALSE(exchange.try_out(bench::mesh_steps(MeshOrder::ordered, in_a_row())));
  EXPECT_FALSE(exchange.first_wrong(2));
}

}  // namespace
}  // namespace halocline::test

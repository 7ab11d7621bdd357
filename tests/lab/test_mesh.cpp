// SPDX-License-Identifier: Apache-2.0
// `halocline-lab mesh`: orders, circles of waits, what is told; on ranks deadlocks are recognised
// and left, bytes are compared.

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/collectives.hpp"
#include "lab/mesh.hpp"
#include "lab/mesh_exchange.hpp"
#include "lab/mesh_timeline.hpp"
#include "lab/wait_state.hpp"
#include "report/render.hpp"
#include "support/caught.hpp"
#include "support/communicators.hpp"
#include "support/ranks.hpp"

namespace halocline::test {
namespace {

using bench::MeshBenchOptions;
using bench::MeshBenchResult;
using bench::MeshMessage;
using bench::MeshOrder;
using bench::MeshStep;
using bench::MeshTiming;
using bench::WaitState;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Call = MeshStep::Call;
using Does = WaitState::Does;
using Way = MeshMessage::Way;

/// In a 2x2 mesh that does not wrap around, with rank 1 on the right and rank 2 above.
constexpr bench::MeshNeighbours of_rank_0{-1, 1, -1, 2};
constexpr int leftwards = 0, rightwards = 1, downwards = 2, upwards = 3;

TEST(MeshOrder, HasNamesThatAreRead) {
  for (const MeshOrder order : bench::mesh_orders)
    EXPECT_EQ(bench::mesh_order_named(name_of(order)), order);
  const Caught error = caught([] { bench::mesh_order_named("backwards"); });
  EXPECT_EQ(error.kind, ErrorKind::usage);
  EXPECT_THAT(error.text, HasSubstr("send-first, ordered, irecv-send, irecv-isend"));
}

TEST(MeshOrder, SendsToAllBeforeItReceives) {
  EXPECT_THAT(
      bench::mesh_steps(MeshOrder::send_first, of_rank_0),
      ElementsAre(MeshStep{Call::send, rightwards, 1}, MeshStep{Call::send, upwards, 2},
                  MeshStep{Call::receive, leftwards, 1}, MeshStep{Call::receive, downwards, 2}));
}

TEST(MeshOrder, GoesWayAfterWay) {
  EXPECT_THAT(
      bench::mesh_steps(MeshOrder::ordered, of_rank_0),
      ElementsAre(MeshStep{Call::receive, leftwards, 1}, MeshStep{Call::send, rightwards, 1},
                  MeshStep{Call::receive, downwards, 2}, MeshStep{Call::send, upwards, 2}));
}

TEST(MeshOrder, PostsReceivesFirst) {
  EXPECT_THAT(
      bench::mesh_steps(MeshOrder::irecv_send, of_rank_0),
      ElementsAre(MeshStep{Call::ireceive, leftwards, 1}, MeshStep{Call::ireceive, downwards, 2},
                  MeshStep{Call::send, rightwards, 1}, MeshStep{Call::send, upwards, 2},
                  MeshStep{Call::wait_all}));
  EXPECT_THAT(
      bench::mesh_steps(MeshOrder::irecv_isend, of_rank_0),
      ElementsAre(MeshStep{Call::ireceive, leftwards, 1}, MeshStep{Call::ireceive, downwards, 2},
                  MeshStep{Call::isend, rightwards, 1}, MeshStep{Call::isend, upwards, 2},
                  MeshStep{Call::wait_all}));
}

WaitState sends_to(int peer, int lane = 0) {
  return {.does = Does::sends, .peer = peer, .lane = lane, .sent = 1u << lane};
}
WaitState receives_from(int peer, int lane = 0) {
  return {.does = Does::receives, .peer = peer, .lane = lane, .received = 1u << lane};
}

TEST(CircleOfWaits, IsFoundWhereItBegins) {
  const std::vector<WaitState> four{sends_to(1), sends_to(3), sends_to(0), sends_to(2)};
  EXPECT_THAT(bench::wait_cycle(four), ElementsAre(0, 1, 3, 2));
  EXPECT_EQ(bench::cycle_text({0, 1, 3, 2}, four),
            "0 -> 1 -> 3 -> 2 -> 0: each waits in a send whose receive is not posted");
  const std::vector<WaitState> behind{sends_to(1), sends_to(2), sends_to(1)};
  EXPECT_THAT(bench::wait_cycle(behind), ElementsAre(1, 2)) << "0 is not in it";
  EXPECT_THAT(bench::wait_cycle(std::vector{sends_to(0)}), ElementsAre(0)) << "itself";
}

TEST(CircleOfWaits, NeedsCallsThatNobodyAnswers) {
  EXPECT_THAT(bench::wait_cycle({}), IsEmpty());
  std::vector<WaitState> two{sends_to(1), sends_to(0)};
  two[1].received = 1u << 0;
  EXPECT_THAT(bench::wait_cycle(two), IsEmpty()) << "the first one's bytes can move";
  two[1].received = 1u << 1;
  EXPECT_THAT(bench::wait_cycle(two), ElementsAre(0, 1)) << "another lane";
  EXPECT_THAT(bench::wait_cycle(std::vector{sends_to(1), WaitState{}}), IsEmpty());
  EXPECT_THAT(bench::wait_cycle(
                  std::vector{sends_to(1), WaitState{.does = Does::waits_for_all, .received = 0}}),
              IsEmpty());
}

TEST(CircleOfWaits, MayBeOfReceives) {
  const std::vector<WaitState> two{receives_from(1), receives_from(0)};
  EXPECT_THAT(bench::wait_cycle(two), ElementsAre(0, 1));
  EXPECT_THAT(bench::cycle_text({0, 1}, two), HasSubstr("a receive whose send"));
  const std::vector<WaitState> mixed{sends_to(1), receives_from(0, 2)};
  EXPECT_THAT(bench::wait_cycle(mixed), ElementsAre(0, 1));
  EXPECT_THAT(bench::cycle_text({0, 1}, mixed), HasSubstr("a send or receive"));
}

TEST(MeshBench, MakesTheMeshSquare) {
  EXPECT_EQ(bench::mesh_process_grid({}, 1), Extents({1, 1}));
  EXPECT_EQ(bench::mesh_process_grid({}, 6), Extents({2, 3}));
  EXPECT_EQ(bench::mesh_process_grid({}, 7), Extents({1, 7}));
  EXPECT_EQ(bench::mesh_process_grid({}, 16), Extents({4, 4}));
}

TEST(MeshBench, RefusesWhatMakesNoSense) {
  const auto refusal = [](const auto& change, int ranks) {
    MeshBenchOptions options;
    change(options);
    const Caught error = caught([&] { bench::check(options, ranks); });
    EXPECT_EQ(error.kind, ErrorKind::usage);
    return error.text;
  };
  EXPECT_THAT(refusal([](auto& o) { o.process_grid = {2, 2}; }, 6), HasSubstr("use 2x3"));
  EXPECT_THAT(refusal([](auto& o) { o.process_grid = {2, 2, 1}; }, 4), HasSubstr("3 axes"));
  EXPECT_THAT(refusal([](auto& o) { o.periodic[2] = true; }, 4), HasSubstr("no axis z"));
  EXPECT_THAT(refusal([](auto&) {}, 1), HasSubstr("--periodic x"));
  EXPECT_THAT(refusal([](auto& o) { o.sizes = {0}; }, 4), HasSubstr("0 bytes"));
  EXPECT_THAT(refusal([](auto& o) { o.sizes = {std::int64_t{1} << 31}; }, 4),
              HasSubstr("2147483648 bytes"));
  EXPECT_THAT(refusal([](auto& o) { o.loop.seconds = 0; }, 4), HasSubstr("0 seconds"));
}

/// Rank 0 sends at once, rank 1 comes to its receive when half of the time is over.
bench::MeshTimeline late_receive() {
  return {.messages = {{Way::sent, 0, 1, rightwards, 0.0, 1.0},
                       {Way::received, 1, 0, rightwards, 0.5, 1.0}},
          .end_seconds = {1.0, 1.0}};
}

TEST(MeshTimeline, TellsWaitingFromMoving) {
  EXPECT_THAT(bench::bars_of(late_receive(), 8), ElementsAre("....ssss", "....rrrr"));
  bench::MeshTimeline both = late_receive();
  both.messages.push_back({Way::sent, 1, 0, leftwards, 0.0, 1.0});
  both.messages.push_back({Way::received, 0, 1, leftwards, 0.0, 0.7});
  EXPECT_THAT(bench::bars_of(both, 8), ElementsAre("rrrrxxss", "ssssxxxx"));
}

TEST(MeshTimeline, KnowsThatCopiesLeaveAtOnce) {
  bench::MeshTimeline kept = late_receive();
  kept.messages[0].end_seconds = 0.1;
  kept.end_seconds[0] = 0.1;
  EXPECT_THAT(bench::bars_of(kept, 8), ElementsAre("s       ", "....rrrr"));
}

TEST(MeshTimeline, OfADeadlockHasNothingThatMoves) {
  const bench::MeshTimeline stuck{
      .messages = {{Way::sent, 0, 1, rightwards, 0.0, 1.0}, {Way::sent, 1, 0, leftwards, 0.0, 1.0}},
      .end_seconds = {1.0, 1.0}};
  EXPECT_THAT(bench::bars_of(stuck, 4), ElementsAre("....", "...."));
}

MeshBenchResult made_up() {
  MeshBenchResult result{
      .mpi = "an MPI", .ranks = 2, .nodes = 1, .process_grid = {1, 2}, .messages = 1};
  const timing::TimeSummary time{20, 1e-6, 2e-6, 3e-6};
  for (const std::int64_t bytes : {1 << 10, 1 << 20}) {
    MeshTiming stuck{.bytes = bytes, .order = MeshOrder::send_first};
    stuck.deadlock = {{0, 1}, 0, "0 -> 1 -> 0: each is in a send"};
    MeshTiming ordered{.bytes = bytes, .order = MeshOrder::ordered, .time = time};
    ordered.time.median_seconds = 3e-6;
    result.timings.insert(result.timings.end(), {stuck,
                                                 ordered,
                                                 {.bytes = bytes,
                                                  .order = MeshOrder::irecv_isend,
                                                  .time = time,
                                                  .timeline = late_receive()}});
  }
  return result;
}

TEST(MeshReport, NamesDeadlocksOnceAndComparesTheOthers) {
  const std::string text = render_text(bench::report_of(made_up()));
  EXPECT_THAT(text, HasSubstr("send-first  1 KiB, 1 MiB: 0 -> 1 -> 0: each is in a send\n"));
  EXPECT_THAT(text, HasSubstr("1 KiB    ordered      1.00    3.00  3.00      1.50\n"));
  EXPECT_THAT(text, HasSubstr("irecv-isend, 1 MiB: 1000000 us"));
  EXPECT_THAT(text, Not(HasSubstr("irecv-isend, 1 KiB:"))) << "bars of the largest size";
  MeshBenchResult one_order = made_up();
  std::erase_if(one_order.timings,
                [](const MeshTiming& timing) { return timing.order == MeshOrder::irecv_isend; });
  EXPECT_THAT(render_text(bench::report_of(one_order)), Not(HasSubstr("relative")));
}

TEST(MeshReport, CountsThoseBehindADeadlock) {
  MeshBenchResult result = made_up();
  result.timings[0].deadlock->others = 3;
  EXPECT_THAT(render_text(bench::report_of(result)), HasSubstr("; 3 other ranks are also stuck"));
  result.timings[0].deadlock->others = 1;
  EXPECT_THAT(render_text(bench::report_of(result)), HasSubstr("; another rank is also stuck"));
}

TEST(MeshReport, TellsAWrongByte) {
  MeshBenchResult result = made_up();
  result.timings[1].wrong = "byte 3 of 8";
  const std::string text = render_text(bench::report_of(result));
  EXPECT_THAT(text, HasSubstr("ordered, 1 KiB: WRONG: byte 3 of 8"));
  EXPECT_THAT(text, HasSubstr("-     -         -  WRONG"));
}

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

// SPDX-License-Identifier: Apache-2.0
// `halocline-lab progress` and `overhead`: what they refuse and tell; on two ranks what they find
// is sane.

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/collectives.hpp"
#include "comm/second_thread.hpp"
#include "lab/busy_work.hpp"
#include "lab/overhead.hpp"
#include "lab/progress.hpp"
#include "lab/progress_thread.hpp"
#include "report/render.hpp"
#include "support/caught.hpp"
#include "support/communicators.hpp"
#include "support/ranks.hpp"

namespace halocline::test {
namespace {

using bench::MessageCost;
using bench::OverheadBenchOptions;
using bench::OverheadBenchResult;
using bench::ProgressBenchOptions;
using bench::ProgressBenchResult;
using bench::ProgressMode;
using bench::ProgressThread;
using bench::ProgressTiming;
using testing::HasSubstr;
using testing::Not;

TEST(Progress, OverlapIsTheShareThatTakesNoTime) {
  EXPECT_DOUBLE_EQ(bench::overlap_of(1, 1, 2), 0) << "one after the other";
  EXPECT_DOUBLE_EQ(bench::overlap_of(1, 1, 1), 1) << "all of it";
  EXPECT_DOUBLE_EQ(bench::overlap_of(2, 2, 3), 0.5);
  EXPECT_DOUBLE_EQ(bench::overlap_of(1, 1, 2.5), -0.5) << "worse than one after the other";
  EXPECT_DOUBLE_EQ(bench::overlap_of(1, 3, 3.2), 0.8) << "of the transfer, whatever the work";
}

TEST(Progress, ModesHaveNamesThatAreRead) {
  for (const ProgressMode mode : bench::progress_modes)
    EXPECT_EQ(bench::progress_mode_named(name_of(mode)), mode);
  const Caught error = caught([] { bench::progress_mode_named("asleep"); });
  EXPECT_EQ(error.kind, ErrorKind::usage);
  EXPECT_THAT(error.text, HasSubstr("busy, tests, thread"));
}

TEST(Progress, RefusesWhatMakesNoSense) {
  const auto refusal = [](const auto& change, int ranks = 2) {
    ProgressBenchOptions options;
    change(options);
    const Caught error = caught([&] { bench::check(options, ranks); });
    EXPECT_EQ(error.kind, ErrorKind::usage);
    return error.text;
  };
  EXPECT_THAT(refusal([](auto&) {}, 3), HasSubstr("between 2 ranks, not 3"));
  EXPECT_THAT(refusal([](auto& o) { o.sizes = {0}; }), HasSubstr("0 bytes"));
  EXPECT_THAT(refusal([](auto& o) { o.parts = 0; }), HasSubstr("0 parts"));
  EXPECT_THAT(refusal([](auto& o) { o.transports = {"pigeon"}; }), HasSubstr("'pigeon'"));
  EXPECT_THAT(refusal([](auto& o) { o.memories = {"lake"}; }), HasSubstr("'lake'"));
  EXPECT_THAT(refusal([](auto& o) { o.loop.seconds = -1; }), HasSubstr("-1 seconds"));
}

TEST(ProgressThread, MovesOnBetweenBeginAndEnd) {
  std::int64_t prepared = 0, moved = 0;  // the other thread's, but between end() and begin()
  ProgressThread thread([&] { ++prepared; }, [&] { ++moved; });
  thread.begin();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  thread.end();
  EXPECT_EQ(prepared, 1);
  const std::int64_t moved_once = moved;
  EXPECT_GT(moved_once, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(moved, moved_once);
}

TEST(ProgressThread, HandsOverWhatWentWrong) {
  std::atomic<int> calls = 0;
  ProgressThread thread([] {},
                        [&] {
                          ++calls;
                          throw std::runtime_error("no more");
                        });
  thread.begin();
  while (calls == 0) std::this_thread::yield();
  EXPECT_THROW(thread.end(), std::runtime_error);
  EXPECT_EQ(calls, 1) << "not called again";
  thread.begin();
  while (calls == 1) std::this_thread::yield();
  EXPECT_THROW(thread.end(), std::runtime_error);
}

TEST(ProgressReport, HasAColumnForEachModeThatWasTimed) {
  const timing::TimeSummary time{20, 1e-6, 2e-6, 3e-6};
  ProgressBenchResult result{.mpi = "an MPI",
                             .threads = "MPI_THREAD_FUNNELED",
                             .nodes = 1,
                             .cores = 2,
                             .parts = 16,
                             .timings = {{.memory = "host",
                                          .transport = "mpi",
                                          .bytes = 1 << 20,
                                          .alone = time,
                                          .work = time,
                                          .modes = {{ProgressMode::busy, time, -0.036},
                                                    {ProgressMode::tests, time, 0.957}}}}};
  const std::string text = render_text(bench::report_of(result));
  EXPECT_THAT(text, HasSubstr("work  busy  tests\n"));
  EXPECT_THAT(text, HasSubstr("host    mpi        1 MiB     2.00  3.00  2.00    -4     96\n"));
  EXPECT_THAT(text, HasSubstr("16 parts"));
  ProgressBenchResult disturbed = result;
  disturbed.timings[0].modes[0].overlap = -11.81;
  EXPECT_THAT(render_text(bench::report_of(disturbed)), HasSubstr("  < -100     96\n"));
  EXPECT_THAT(render_json(bench::report_of(disturbed)), HasSubstr("-11.81"));
  EXPECT_THAT(text, Not(HasSubstr("thread:")));
  result.timings[0].wrong = "byte 3";
  EXPECT_THAT(render_text(bench::report_of(result)),
              HasSubstr("1 MiB by mpi with host memory: WRONG: byte 3"));
}

TEST(Overhead, RefusesWhatMakesNoSense) {
  const auto refusal = [](const auto& change) {
    OverheadBenchOptions options;
    change(options);
    const Caught error = caught([&] { bench::check(options); });
    EXPECT_EQ(error.kind, ErrorKind::usage);
    return error.text;
  };
  EXPECT_THAT(refusal([](auto& o) { o.message_sizes = {0}; }), HasSubstr("0 bytes"));
  EXPECT_THAT(refusal([](auto& o) { o.message_sizes = {std::int64_t{1} << 31}; }),
              HasSubstr("use 1 to 2147483647"));
  EXPECT_THAT(refusal([](auto& o) { o.memory_sizes = {-5}; }), HasSubstr("-5 bytes"));
  EXPECT_THAT(refusal([](auto& o) { o.loop.repetitions = -1; }), HasSubstr("-1 repetitions"));
}

TEST(OverheadReport, PutsMessagesOfASizeTogether) {
  const timing::TimeSummary time{20, 1e-6, 2e-6, 3e-6};
  OverheadBenchResult result{.mpi = "an MPI", .ranks = 2, .nodes = 1};
  for (const auto stand :
       {MessageCost::Stand::before_gpu, MessageCost::Stand::host, MessageCost::Stand::pinned})
    for (const std::int64_t bytes : {8, 1 << 20})
      result.messages.push_back({.stand = stand, .bytes = bytes, .time = time});
  result.waiting = {{"query", "query an event", 0, time}};
  const std::string text = render_text(bench::report_of(result));
  const std::size_t first = text.find("8 B "), last = text.rfind("8 B ");
  EXPECT_LT(first, last);
  EXPECT_LT(last, text.find("1 MiB"));
  EXPECT_THAT(text, HasSubstr("query an event  1.00    2.00  3.00\n"));
}

ProgressBenchOptions brief_progress() {
  ProgressBenchOptions options;
  options.sizes = {100, 1 << 20};
  options.memories = {"host"};
  options.loop.repetitions = 3;
  return options;
}

TEST(BusyWork, IsTheSameOnEveryRank) {
  const bench::BusyWork work(world());
  const std::int64_t rounds = work.rounds_for(1e-4);
  EXPECT_GT(rounds, 100);
  EXPECT_EQ(comm::max_over_ranks(world(), rounds), rounds);
  EXPECT_EQ(work.rounds_for(0), 1);
}

TEST(ProgressBench, TimesEveryTransportSizeAndMode) {
  if (ranks() != 2) {
    const Caught error = caught([] { run_progress_bench(world(), brief_progress()); });
    EXPECT_EQ(error.kind, ErrorKind::usage);
    EXPECT_THAT(error.text, HasSubstr("between 2 ranks"));
    return;
  }
  const ProgressBenchResult result = run_progress_bench(world(), brief_progress());
  EXPECT_EQ(result.threads, comm::thread_support());
  ASSERT_EQ(result.timings.size(), 4u);  // by shared and mpi
  for (const ProgressTiming& timing : result.timings) {
    EXPECT_FALSE(timing.wrong) << *timing.wrong;
    EXPECT_EQ(timing.memory, "host");
    EXPECT_GT(timing.alone.median_seconds, 0);
    EXPECT_GT(timing.work.median_seconds, 0);
    // Tests start MPI without leave for threads.
    const std::size_t modes = comm::any_thread_may_call() ? 3 : 2;
    ASSERT_EQ(timing.modes.size(), modes);
    for (const ProgressTiming::Mode& mode : timing.modes) {
      EXPECT_EQ(mode.time.repetitions, 3);
      EXPECT_DOUBLE_EQ(mode.overlap,
                       bench::overlap_of(timing.alone.median_seconds, timing.work.median_seconds,
                                         mode.time.median_seconds));
    }
  }
}

TEST(ProgressBench, SaysWhyThereIsNoThread) {
  if (ranks() != 2 || comm::any_thread_may_call()) GTEST_SKIP() << "this MPI allows it";
  ProgressBenchOptions options = brief_progress();
  options.sizes = {8};
  options.transports = {"mpi"};
  const ProgressBenchResult result = run_progress_bench(world(), options);
  ASSERT_EQ(result.timings.size(), 1u);
  ASSERT_FALSE(result.notes.empty());
  EXPECT_THAT(result.notes, testing::Contains(HasSubstr("a progress thread is not timed")));
}

}  // namespace
}  // namespace halocline::test

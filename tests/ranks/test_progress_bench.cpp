// SPDX-License-Identifier: Apache-2.0
// `halocline bench progress` on two ranks: what it finds is sane.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/busy_work.hpp"
#include "bench/progress_bench.hpp"
#include "comm/collectives.hpp"
#include "comm/threads.hpp"
#include "support/caught.hpp"
#include "support/communicators.hpp"
#include "support/ranks.hpp"

namespace halocline::test {
namespace {

using bench::ProgressBenchOptions;
using bench::ProgressBenchResult;
using bench::ProgressTiming;
using testing::HasSubstr;

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

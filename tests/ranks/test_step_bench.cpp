// SPDX-License-Identifier: Apache-2.0
// `halocline bench step` on some ranks: the first of them work while the others wait.

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/step_bench.hpp"
#include "comm/collectives.hpp"
#include "support/caught.hpp"
#include "support/communicators.hpp"
#include "support/memories.hpp"
#include "support/ranks.hpp"

namespace halocline::test {
namespace {

using bench::StepBenchOptions;
using bench::StepBenchResult;
using bench::StepTiming;
using testing::HasSubstr;

StepBenchOptions brief_steps() {
  StepBenchOptions options;
  options.cells = {{24, 20}};
  options.cells_per_rank = {{12, 10}};
  options.sweeps = 6;
  options.repetitions = 2;
  options.backend = "cpu";
  return options;
}

TEST(FirstRanks, AreNumberedAsBefore) {
  for (int count = 1; count <= ranks(); ++count) {
    const std::optional<Communicator> first = comm::first_ranks(world(), count);
    ASSERT_EQ(first.has_value(), rank() < count);
    if (!first) continue;
    EXPECT_EQ(first->rank(), rank());
    EXPECT_EQ(first->size(), count);
    EXPECT_EQ(first->options().wait_limit, world().options().wait_limit);
    EXPECT_EQ(comm::max_over_ranks(*first, std::int64_t{rank()}), count - 1);
  }
}

TEST(FirstRanks, WorkWhileTheOthersWait) {
  for (int count = 1; count <= ranks(); ++count) {
    int worked = 0;
    comm::on_first_ranks(world(), count, [&] { ++worked; });
    EXPECT_EQ(worked, rank() < count ? 1 : 0);
    const Caught error = caught([&] {
      comm::on_first_ranks(world(), count,
                           [] { throw Error(ErrorKind::resource, "nothing is left"); });
    });
    EXPECT_EQ(error.kind, ErrorKind::resource);
    EXPECT_EQ(error.text, "nothing is left");
  }
}

TEST(StepBench, TimesEveryNumberOfRanks) {
  StepBenchOptions options = brief_steps();
  options.schedules = {"sequential", "overlap"};
  const StepBenchResult result = run_step_bench(world(), options);
  if (rank() != 0) return;
  EXPECT_EQ(result.ranks.front(), 1);
  EXPECT_EQ(result.ranks.back(), ranks());
  ASSERT_EQ(result.timings.size(), 4 * result.ranks.size());
  for (std::size_t i = 0; i < result.timings.size(); ++i) {
    const StepTiming& timing = result.timings[i];
    EXPECT_FALSE(timing.wrong) << *timing.wrong;
    EXPECT_EQ(timing.ranks, result.ranks[i / 2 % result.ranks.size()]);
    EXPECT_EQ(timing.schedule, options.schedules[i % 2]);
    EXPECT_EQ(timing.seconds_per_sweep.size(), 2u);
    EXPECT_GT(timing.best_seconds, 0);
    EXPECT_LE(timing.best_seconds, timing.median_seconds);
    EXPECT_LE(timing.median_seconds, timing.worst_seconds);
    EXPECT_TRUE(timing.efficiency);
    EXPECT_EQ(timing.messages > 0, timing.ranks > 1);
  }
  EXPECT_EQ(result.backend, "cpu");
  EXPECT_EQ(result.devices[0].ranks.size(), static_cast<std::size_t>(ranks()));
}

TEST(StepBench, TimesDeepHalos) {
  if (ranks() == 1) GTEST_SKIP() << "one rank has no halo";
  StepBenchOptions options = brief_steps();
  options.ranks = {1, ranks()};
  options.halo_depths = {1, 3};
  options.cells_per_rank.clear();
  const StepBenchResult result = run_step_bench(world(), options);
  if (rank() != 0) return;
  ASSERT_EQ(result.timings.size(), 3u);
  EXPECT_EQ(result.timings[0].halo_depth, 1);
  EXPECT_EQ(result.timings[1].halo_depth, 1);
  EXPECT_EQ(result.timings[2].halo_depth, 3);
  EXPECT_GE(result.timings[2].bytes, 3 * result.timings[1].bytes);
  EXPECT_FALSE(result.timings[2].wrong) << *result.timings[2].wrong;
}

TEST(StepBench, LeavesOutWhatCannotBeHad) {
  if (ranks() == 1) GTEST_SKIP() << "one rank needs no transport";
  StepBenchOptions options = brief_steps();
  options.ranks = {ranks()};
  options.transports = {"mpi", "staged"};
  const StepBenchResult result = run_step_bench(world(), options);
  if (rank() == 0) {
    EXPECT_EQ(result.timings.size(), 2u);
    EXPECT_THAT(result.notes, testing::Contains(HasSubstr("staged")));
  }
  options.transports = {"staged"};
  EXPECT_EQ(caught([&] { run_step_bench(world(), options); }).kind, ErrorKind::unavailable);
  options.transports = {"mpi"};
  options.graphs = {"on"};
  EXPECT_EQ(caught([&] { run_step_bench(world(), options); }).kind, ErrorKind::unavailable);
}

TEST(StepBench, RefusesAlikeOnAllRanks) {
  StepBenchOptions options = brief_steps();
  options.ranks = {ranks() + 1};
  EXPECT_EQ(caught([&] { run_step_bench(world(), options); }).kind, ErrorKind::usage);
  options = brief_steps();
  options.cells = {{1 << 30, 1 << 20}};
  EXPECT_EQ(caught([&] { run_step_bench(world(), options); }).kind, ErrorKind::resource);
}

TEST(StepBench, RefusesSweepsThatChangeNothing) {
  StepBenchOptions options = brief_steps();
  options.cells = {{2, 8}};
  options.cells_per_rank.clear();
  options.sweeps = 20'000;
  options.ranks = {1};
  const Caught error = caught([&] { run_step_bench(world(), options); });
  EXPECT_EQ(error.kind, ErrorKind::usage);
  EXPECT_THAT(error.text, HasSubstr("use --sweeps"));
}

TEST(StepBench, TimesGpus) {
  NEED_GPU();
  StepBenchOptions options = brief_steps();
  options.backend = "cuda";
  options.cells_per_rank.clear();
  options.repetitions = 1;
  options.sweeps = 700;  // a batch is recorded if it comes again often enough
  options.ranks = {std::min(2, ranks())};
  options.graphs = {"on", "off"};
  options.transports = {"peer"};
  const StepBenchResult result = run_step_bench(world(), options);
  if (rank() != 0) return;
  ASSERT_EQ(result.timings.size(), 2 * result.ranks.size());
  for (std::size_t i = 0; i < result.timings.size(); ++i) {
    EXPECT_FALSE(result.timings[i].wrong) << *result.timings[i].wrong;
    EXPECT_EQ(result.timings[i].sweeps_in_graphs > 0, i % 2 == 0);
  }
  EXPECT_EQ(result.devices[0].kind, "gpu");
}

}  // namespace
}  // namespace halocline::test

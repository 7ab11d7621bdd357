// SPDX-License-Identifier: Apache-2.0
// `halocline bench layout` on some ranks: every combination has the bits of a plain run.

#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/halo_ways.hpp"
#include "bench/layout_bench.hpp"
#include "support/caught.hpp"
#include "support/communicators.hpp"
#include "support/memories.hpp"
#include "support/ranks.hpp"

namespace halocline::test {
namespace {

using bench::LayoutBenchOptions;
using bench::LayoutBenchResult;
using bench::LayoutTiming;
using testing::Contains;
using testing::HasSubstr;

LayoutBenchOptions brief_layouts() {
  LayoutBenchOptions options;
  options.cells_per_rank = {9, 6, 5};
  options.layouts = {"array", "brick", "brick:4x2x2"};
  options.steps = {1, 2, 4};
  options.sweeps = 4;
  options.repetitions = 2;
  options.backend = "cpu";
  return options;
}

class LayoutBenchOnRanks : public testing::Test {
 protected:
  void SetUp() override {
    if (ranks() < 2) GTEST_SKIP() << "one rank has nobody to exchange with";
  }
};

void expect_right(const LayoutBenchResult& result) {
  for (const LayoutTiming& timing : result.timings) {
    const std::string name = timing.way + ", " + timing.layout;
    EXPECT_FALSE(timing.wrong) << name << ": " << *timing.wrong;
    EXPECT_GT(timing.glups, 0) << name;
    EXPECT_LE(timing.best_seconds, timing.median_seconds) << name;
    EXPECT_GT(timing.messages, 0) << name;
    EXPECT_EQ(timing.redundant > 0, timing.steps > 1) << name;
    EXPECT_EQ(timing.brick.axes() > 0, timing.layout != "array") << name;
    for (const bench::RankSpread& phase : timing.phases) {
      EXPECT_LE(phase.min, phase.mean * (1 + 1e-9)) << name;
      EXPECT_LE(phase.mean, phase.max * (1 + 1e-9)) << name;
    }
    EXPECT_GT(timing.phases[0].min, 0) << name << " calculates";
  }
  std::set<std::string> layouts;
  for (const LayoutTiming& timing : result.timings) layouts.insert(timing.layout);
  EXPECT_EQ(result.kernels.size(), layouts.size());
  for (const bench::KernelGain& kernel : result.kernels) {
    EXPECT_FALSE(kernel.wrong) << kernel.layout << ": " << *kernel.wrong;
    EXPECT_GT(kernel.seconds, 0);
    EXPECT_GT(kernel.plain_seconds, 0);
  }
}

std::set<std::string> ways_of(const LayoutBenchResult& result) {
  std::set<std::string> ways;
  for (const LayoutTiming& timing : result.timings) ways.insert(timing.way);
  return ways;
}

TEST_F(LayoutBenchOnRanks, EveryCombinationHasTheSameBits) {
  const LayoutBenchResult result = run_layout_bench(world(), brief_layouts());
  expect_right(result);
  EXPECT_THAT(ways_of(result), testing::IsSupersetOf({"shared", "mpi", "derived_types"}));
  EXPECT_EQ(std::count_if(result.timings.begin(), result.timings.end(),
                          [](const LayoutTiming& timing) { return timing.way == "mpi"; }),
            9);
  EXPECT_THAT(result.notes, Contains(HasSubstr("derived_types is left out with layout brick")));
  EXPECT_THAT(result.notes, Contains(HasSubstr("skin_copies")));
  EXPECT_EQ(result.ranks, ranks());
}

TEST_F(LayoutBenchOnRanks, CountsMessagesOfAllDirections) {
  LayoutBenchOptions options = brief_layouts();
  options.layouts = {"array"};
  options.ways = {"derived_types", "mpi"};
  const LayoutBenchResult result = run_layout_bench(world(), options);
  expect_right(result);
  ASSERT_EQ(result.timings.size(), 6U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(result.timings[i].bytes, result.timings[i + 3].bytes) << "the same halo";
    EXPECT_GE(result.timings[i].messages, result.timings[i + 3].messages)
        << "a message for each direction";
  }
}

TEST_F(LayoutBenchOnRanks, RunsOtherProblems) {
  // Fixed ghosts; a field that follows another; several fields; ghosts that change.
  for (const char* problem : {"laplace", "wave_sponge", "shallow_water", "fitzhugh_nagumo"}) {
    LayoutBenchOptions options = brief_layouts();
    options.problem = problem;
    options.cells_per_rank = {9, 7};
    options.layouts = {"array", "brick"};
    options.steps = {1, 2};
    options.repetitions = 1;
    SCOPED_TRACE(problem);
    expect_right(run_layout_bench(world(), options));
  }
}

TEST_F(LayoutBenchOnRanks, LeavesOutWhatCannotBeHad) {
  LayoutBenchOptions options = brief_layouts();
  options.layouts = {"array"};
  options.ways = {"mpi", "staged", "pinned"};
  const LayoutBenchResult result = run_layout_bench(world(), options);
  EXPECT_EQ(result.timings.size(), 3U);
  EXPECT_THAT(result.notes, Contains(HasSubstr("way staged is left out: ")));
  EXPECT_THAT(result.notes, Contains(HasSubstr("way pinned is left out: it is for GPUs")));
  options.ways = {"staged"};
  EXPECT_THAT(caught([&] { run_layout_bench(world(), options); }),
              says(ErrorKind::unavailable, "staged"));
}

TEST_F(LayoutBenchOnRanks, RefusesADomainThatRankZeroCannotHold) {
  LayoutBenchOptions options = brief_layouts();
  options.cells_per_rank = {1 << 13, 1 << 13, 1 << 13};
  EXPECT_THAT(caught([&] { run_layout_bench(world(), options); }),
              says(ErrorKind::resource, "use fewer cells per rank"));
}

/// The ways that are no transport, and one beside them.
LayoutBenchOptions by_gpus() {
  LayoutBenchOptions options = brief_layouts();
  options.backend = "cuda";
  options.repetitions = 1;
  options.ways = {"staged", "whole_array", "skin_copies", "pinned", "managed", "prefetched"};
  return options;
}

TEST_F(LayoutBenchOnRanks, GpusMoveHalosByEveryWay) {
  NEED_GPU();
  LayoutBenchOptions options = by_gpus();
  options.layouts = {"array", "brick"};
  options.steps = {1, 4};
  const LayoutBenchResult result = run_layout_bench(world(), options);
  expect_right(result);
  EXPECT_EQ(result.timings.size(), 24U) << "every layout and depth by every way";
  EXPECT_EQ(result.devices[0].kind, "gpu");
}

TEST_F(LayoutBenchOnRanks, GpusKeepGhostsThatNobodySends) {
  NEED_GPU();
  LayoutBenchOptions options = by_gpus();
  options.problem = "jacobi";  // its ghosts are not zero
  options.cells_per_rank = {11, 13};
  options.layouts = {"array", "brick"};
  options.steps = {2};
  options.ways = {"whole_array", "skin_copies"};
  expect_right(run_layout_bench(world(), options));
}

TEST(LayoutBench, RefusesOneRank) {
  if (ranks() > 1) GTEST_SKIP() << "this is about one rank";
  EXPECT_EQ(caught([] { run_layout_bench(world(), brief_layouts()); }).kind, ErrorKind::usage);
}

}  // namespace
}  // namespace halocline::test

// SPDX-License-Identifier: Apache-2.0
// `halocline bench step` without ranks: from options to cases, and from times to figures.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/step_bench.hpp"
#include "report/render.hpp"
#include "support/caught.hpp"

namespace halocline::test {
namespace {

using bench::Scaling;
using bench::StepBenchOptions;
using bench::StepCase;
using bench::StepTiming;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<int> ranks_of(const std::vector<StepCase>& cases) {
  std::vector<int> ranks;
  for (const StepCase& one : cases) ranks.push_back(one.ranks);
  return ranks;
}

TEST(StepCases, DoubleTheRanksUpToAllThereAre) {
  StepBenchOptions options;
  EXPECT_THAT(ranks_of(step_cases(options, 1)), ElementsAre(1));
  EXPECT_THAT(ranks_of(step_cases(options, 4)), ElementsAre(1, 2, 4));
  EXPECT_THAT(ranks_of(step_cases(options, 6)), ElementsAre(1, 2, 4, 6));
  options.ranks = {4, 1};
  EXPECT_THAT(ranks_of(step_cases(options, 6)), ElementsAre(4, 1));
}

TEST(StepCases, AreStrongAndWeak) {
  StepBenchOptions options;
  options.cells = {{64, 32}};
  options.cells_per_rank = {{16, 16}, {8, 8, 8}};
  options.ranks = {2};
  options.precisions = {"f32", "f64"};
  options.norms_every = {1, 10};
  const std::vector<StepCase> cases = step_cases(options, 2);
  ASSERT_EQ(cases.size(), 12u);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const bool strong = i < 4;
    EXPECT_EQ(cases[i].scaling, strong ? Scaling::strong : Scaling::weak);
    EXPECT_EQ(cases[i].solve.cells, strong ? options.cells[0] : Extents());
    EXPECT_EQ(cases[i].solve.cells_per_rank,
              strong ? Extents() : options.cells_per_rank[(i - 4) / 4]);
    EXPECT_EQ(name_of(*cases[i].solve.precision), options.precisions[i / 2 % 2]);
    EXPECT_EQ(cases[i].solve.norm_every, options.norms_every[i % 2]);
    EXPECT_EQ(cases[i].solve.tolerance, 0) << "no norm may end a solve early";
  }
}

TEST(StepCases, HaveTheNormsThatAreAskedFor) {
  StepBenchOptions options;
  options.problem = "star7";  // has none of its own
  options.ranks = {1};
  const auto norms = [&] {
    std::vector<std::pair<Norm, std::int64_t>> all;
    for (const StepCase& one : step_cases(options, 1)) {
      all.emplace_back(*one.solve.norm, *one.solve.norm_every);
      EXPECT_EQ(one.solve.tolerance.has_value(), one.solve.norm != Norm::none);
    }
    return all;
  };
  EXPECT_THAT(norms(), ElementsAre(std::pair(Norm::none, 1)));
  options.norms_every = {1, 100};
  EXPECT_THAT(caught([&] { step_cases(options, 1); }), says(ErrorKind::usage, "--norm"));
  options.norms = {"none", "max"};
  EXPECT_THAT(norms(), ElementsAre(std::pair(Norm::none, 1), std::pair(Norm::max, 1),
                                   std::pair(Norm::max, 100)));
  options.norms = {"most"};
  EXPECT_EQ(caught([&] { step_cases(options, 1); }).kind, ErrorKind::usage);
}

TEST(StepCases, UseAProcessGridWithItsRanks) {
  StepBenchOptions options;
  options.problem = "star7";
  options.cells_per_rank = {{8, 8, 8}};
  options.process_grids = {{}, {1, 2, 2}, {2, 2, 1}, {1, 1, 2}};
  options.transports = {"mpi", "shared"};
  const std::vector<StepCase> cases = step_cases(options, 4);
  EXPECT_THAT(ranks_of(cases), ElementsAre(1, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4));
  EXPECT_EQ(cases[0].solve.transport, "auto") << "one rank sends nothing";
  EXPECT_EQ(cases[0].solve.process_grid, Extents());
  EXPECT_EQ(cases[3].solve.process_grid, Extents({1, 1, 2}));
  EXPECT_EQ(cases[8].solve.process_grid, Extents({1, 2, 2}));
  EXPECT_EQ(cases[8].solve.transport, "shared");
}

TEST(StepCases, HaveDeepHalosBetweenRanksAlone) {
  StepBenchOptions options;
  options.cells = {{16, 16}};
  options.halo_depths = {1, 4};
  options.schedules = {"sequential", "fused"};
  std::vector<std::pair<std::int64_t, std::string>> cases;
  for (const StepCase& one : step_cases(options, 2))
    cases.emplace_back(one.solve.halo_depth, one.solve.schedule);
  EXPECT_THAT(cases, ElementsAre(std::pair(1, "sequential"), std::pair(1, "fused"),
                                 std::pair(1, "sequential"), std::pair(1, "fused"),
                                 std::pair(4, "sequential"), std::pair(4, "fused")));
}

TEST(StepCases, RefuseMoreRanksThanThereAre) {
  StepBenchOptions options;
  options.ranks = {1, 8};
  EXPECT_THAT(caught([&] { step_cases(options, 4); }), says(ErrorKind::usage, "8 ranks"));
}

StepTiming some_timing(int ranks, const std::vector<double>& us) {
  StepTiming timing;
  timing.size = timing.cells = {1000, 1000};
  timing.process_grid = {1, ranks};
  timing.ranks = ranks;
  timing.precision = "f32";
  timing.norm = "max";
  timing.schedule = "sequential";
  for (const double each : us) timing.seconds_per_sweep.push_back(each * 1e-6);
  timing.checksum = 7;
  return timing;
}

TEST(StepTimings, AreComparedWithTheFastestRankAlone) {
  std::vector<StepTiming> timings{some_timing(1, {50, 40, 60}), some_timing(1, {45, 41, 40}),
                                  some_timing(2, {25, 24, 26})};
  compare(timings);
  EXPECT_DOUBLE_EQ(timings[0].best_seconds, 40e-6);
  EXPECT_DOUBLE_EQ(timings[0].median_seconds, 50e-6);
  EXPECT_DOUBLE_EQ(timings[0].worst_seconds, 60e-6);
  EXPECT_DOUBLE_EQ(timings[0].glups, 20);
  EXPECT_DOUBLE_EQ(*timings[0].efficiency, 41.0 / 50);
  EXPECT_DOUBLE_EQ(*timings[1].efficiency, 1);
  EXPECT_DOUBLE_EQ(*timings[2].efficiency, 41.0 / (2 * 25));
}

TEST(StepTimings, OfWeakScalingShouldStay) {
  std::vector<StepTiming> timings{some_timing(1, {40}), some_timing(2, {50})};
  for (StepTiming& timing : timings) timing.scaling = Scaling::weak;
  timings[1].cells = {1000, 2000};
  timings[1].checksum = 8;
  compare(timings);
  EXPECT_DOUBLE_EQ(*timings[1].efficiency, 40.0 / 50);
  EXPECT_DOUBLE_EQ(timings[1].glups, 40);
  EXPECT_FALSE(timings[1].wrong) << "other cells, other checksum";
}

TEST(StepTimings, AreComparedWithTheSameWorkOnly) {
  std::vector<StepTiming> timings{some_timing(1, {40}), some_timing(2, {20}), some_timing(2, {20}),
                                  some_timing(2, {20})};
  timings[1].precision = "f64";
  timings[2].norm_every = 100;
  timings[3].size = {10, 10};
  compare(timings);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_FALSE(timings[i].efficiency) << i;
}

TEST(StepTimings, OfOtherResultsAreWrong) {
  std::vector<StepTiming> timings{some_timing(1, {40}), some_timing(2, {20})};
  timings[1].checksum = 9;
  compare(timings);
  EXPECT_FALSE(timings[0].wrong);
  EXPECT_THAT(timings[1].wrong.value_or("right"), HasSubstr("0000000000000007 on 1 rank"));
}

TEST(StepReport, TellsWhereAndWhatDiffers) {
  bench::StepBenchResult result;
  result.problem = "laplace";
  result.backend = "cpu";
  result.sweeps = 100;
  result.repetitions = 3;
  result.ranks = {1, 2};
  result.nodes = 1;
  result.threads = 1;
  result.timings = {some_timing(1, {40}), some_timing(2, {25})};
  compare(result.timings);
  std::string text = render_text(bench::report_of(result));
  EXPECT_THAT(text, HasSubstr("1, 2 on one node, 1 thread each"));
  EXPECT_THAT(text, testing::ContainsRegex("2 +1x2 +25.00 +25.00 +0 +40.00 +80.0\n"));
  EXPECT_THAT(text, Not(HasSubstr("graph")));
  result.timings[1].sweeps_in_graphs = 64;
  result.timings[1].checksum = 8;
  compare(result.timings);
  text = render_text(bench::report_of(result));
  EXPECT_THAT(text, HasSubstr("graph"));
  EXPECT_THAT(text, HasSubstr("1000x1000 on 2 ranks by none: WRONG: checksum"));
  EXPECT_THAT(render_json(bench::report_of(result)), HasSubstr("\"verified\": false"));
}

}  // namespace
}  // namespace halocline::test

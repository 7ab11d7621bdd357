// SPDX-License-Identifier: Apache-2.0
// The harness of `halocline bench`, and from options to cases.

#include <algorithm>
#include <numeric>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/halo_bench.hpp"
#include "bench/traits.hpp"
#include "report/render.hpp"
#include "timing/harness.hpp"

namespace halocline::test {
namespace {

using bench::HaloBenchOptions;
using bench::HaloCase;
using testing::HasSubstr;
using testing::Not;

std::vector<double> up_to(int count) {
  std::vector<double> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 1.0);
  return numbers;
}

TEST(BenchHarness, TakesPercentilesByRank) {
  EXPECT_EQ(timing::percentile({7}, 50), 7);
  EXPECT_EQ(timing::percentile({7}, 99), 7);
  EXPECT_EQ(timing::percentile({1, 2}, 50), 1);
  EXPECT_EQ(timing::percentile({1, 2, 3}, 50), 2);
  EXPECT_EQ(timing::percentile({1, 2, 3}, 0), 1);
  EXPECT_EQ(timing::percentile(up_to(100), 99), 99);
  EXPECT_EQ(timing::percentile(up_to(100), 100), 100);
  EXPECT_EQ(timing::percentile(up_to(99), 99), 99);
  EXPECT_EQ(timing::percentile(up_to(1000), 99), 990);
  EXPECT_EQ(timing::percentile(up_to(1001), 50), 501);
}

TEST(BenchHarness, SumsUpInAnyOrder) {
  std::vector<double> seconds = up_to(200);
  std::shuffle(seconds.begin(), seconds.end(), std::mt19937(7));
  const timing::TimeSummary summary = timing::summarize(seconds);
  EXPECT_EQ(summary.repetitions, 200);
  EXPECT_EQ(summary.min_seconds, 1);
  EXPECT_EQ(summary.median_seconds, 100);
  EXPECT_EQ(summary.p99_seconds, 198);
}

TEST(BenchHarness, ChoosesRepetitions) {
  EXPECT_EQ(timing::repetitions_for(1e-3, {.seconds = 0.2}), 200);
  EXPECT_EQ(timing::repetitions_for(10, {.seconds = 0.2}), 20) << "a median needs some";
  EXPECT_EQ(timing::repetitions_for(0, {.seconds = 0.2}), 100'000);
  EXPECT_EQ(timing::repetitions_for(10, {.repetitions = 3, .seconds = 0.2}), 3);
}

TEST(BenchCases, AreEveryCombinationSizesOutermost) {
  HaloBenchOptions options;
  options.cells_per_rank = {{8, 6}, {5, 4, 3}};
  options.widths = {1, 2};
  options.fields = {1, 3};
  const std::vector<HaloCase> cases = bench::halo_cases(options, 4);
  ASSERT_EQ(cases.size(), 8u);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(cases[i].cells_per_rank, options.cells_per_rank[i / 4]);
    EXPECT_EQ(cases[i].width, options.widths[i / 2 % 2]);
    EXPECT_EQ(cases[i].fields, options.fields[i % 2]);
  }
  EXPECT_EQ(cases[0].grid.cells, Extents({8, 24}));
  EXPECT_EQ(cases[0].grid.process_grid, Extents({1, 4}));
  EXPECT_EQ(cases[4].grid.cells, Extents({5, 4, 12}));
}

TEST(BenchCases, HaveTheAxesOfTheProcessGrid) {
  HaloBenchOptions options;
  EXPECT_EQ(bench::halo_cases(options, 2).size(), 6u) << "squares and cubes";
  options.process_grid = {2, 2};
  for (const HaloCase& each : bench::halo_cases(options, 4)) {
    EXPECT_EQ(each.grid.cells.axes(), 2);
    EXPECT_EQ(each.grid.cells[0], 2 * each.cells_per_rank[0]);
  }
  options.process_grid = {4};
  EXPECT_EQ(bench::halo_cases(options, 4).size(), 1u);
}

TEST(BenchCases, HaveNeighboursOfOneRankWherePeriodic) {
  HaloBenchOptions options;
  options.periodic = {true, false, false};
  EXPECT_NO_THROW(bench::halo_cases(options, 1));
}

bench::HaloTiming some_timing(const std::string& transport) {
  bench::HaloTiming timing;
  timing.cells_per_rank = {8, 8};
  timing.process_grid = {1, 2};
  timing.memory = "host";
  timing.transports = {{"self", "self"}, {"same-node", transport}};
  timing.messages = 1;
  timing.bytes = 64;
  timing.time = {20, 1e-6, 2e-6, 3e-6};
  timing.gigabytes_per_second = 0.032;
  timing.phases = {{"pack", 1e-6}, {"move", 0}, {"call", 1e-7}, {"wait", 1e-6}, {"unpack", 1e-6}};
  return timing;
}

TEST(BenchReport, LeavesOutACeilingThatIsNotKnown) {
  bench::HaloBenchResult result;
  result.precision = "f64";
  result.ranks = 2;
  result.nodes = 1;
  result.timings = {some_timing("mpi")};
  std::string text = render_text(bench::report_of(result));
  EXPECT_THAT(text, Not(HasSubstr("memcpy")));
  EXPECT_THAT(text, Not(HasSubstr("move"))) << "nothing was staged";
  EXPECT_THAT(render_json(bench::report_of(result)), HasSubstr("\"share_of_memcpy\": null"));
  result.timings[0].memcpy_gigabytes_per_second = 0.064;
  text = render_text(bench::report_of(result));
  EXPECT_THAT(text, HasSubstr("% of memcpy"));
  EXPECT_THAT(text, HasSubstr(" 50\n"));
}

TEST(BenchReport, ComparesWithTheLinkAndTellsGraphsApart) {
  bench::HaloBenchResult result;
  result.precision = "f64";
  result.ranks = 2;
  result.nodes = 1;
  result.timings = {some_timing("peer")};
  std::string text = render_text(bench::report_of(result));
  EXPECT_THAT(text, Not(HasSubstr("link")));
  EXPECT_THAT(text, Not(HasSubstr("graph"))) << "none is wanted";
  result.timings.push_back(some_timing("peer"));
  result.timings[1].graph = "on";
  result.timings[1].phases.clear();
  for (bench::HaloTiming& timing : result.timings) timing.link_gigabytes_per_second = 0.32;
  text = render_text(bench::report_of(result));
  EXPECT_THAT(text, HasSubstr("% of link"));
  EXPECT_THAT(text, HasSubstr(" 10\n"));
  EXPECT_THAT(text, HasSubstr("all at once: 0.320 GB/s"));
  EXPECT_THAT(text, testing::ContainsRegex("8x8 +peer +on "));
  EXPECT_THAT(text, HasSubstr("graph on: means of 100 exchanges"));
  const std::string json = render_json(bench::report_of(result));
  EXPECT_THAT(json, HasSubstr("\"graph\": \"on\""));
  EXPECT_THAT(json, HasSubstr("\"share_of_link\": 0.1"));
  EXPECT_THAT(json, HasSubstr("\"pack_us\": null")) << "a graph's phases are not told apart";
}

bench::HaloTiming some_rival(double seconds) {
  bench::HaloTiming rival = some_timing("");
  rival.transports.clear();
  rival.rival = "derived_types";
  rival.time.median_seconds = seconds;
  rival.phases.clear();
  return rival;
}

TEST(BenchReport, ComparesWithARivalOfTheSameCase) {
  bench::HaloBenchResult result;
  result.timings = {some_timing("shared"), some_timing("mpi"), some_timing("mpi")};
  result.timings[2].width = 2;
  result.rivals = {some_rival(5e-6), some_rival(7e-6)};
  result.rivals[1].width = 2;
  const std::string text = render_text(bench::report_of(result));
  EXPECT_THAT(text, HasSubstr("vs MPI types"));
  // Behind the transports of its case.
  EXPECT_THAT(text, testing::ContainsRegex("8x8 +1 +shared .* 2.50\n.*8x8 +1 +mpi .* 2.50\n"
                                           ".*8x8 +1 +MPI types .* 5.00 .* -\n"
                                           ".*8x8 +2 +mpi .* 3.50\n.*8x8 +2 +MPI types "));
  const std::string json = render_json(bench::report_of(result));
  EXPECT_THAT(json, HasSubstr("\"derived_types_us\": 7"));
  EXPECT_THAT(json, HasSubstr("\"derived_types_ratio\": 3.5"));
  EXPECT_THAT(json, Not(HasSubstr("\"transport\": \"MPI types\""))) << "cases are transports";
}

TEST(BenchReport, TellsOfARivalThatDidNotRunOrWasWrong) {
  bench::HaloBenchResult result;
  result.timings = {some_timing("shared")};
  bench::HaloTiming rival = some_rival(0);
  rival.time = {};
  rival.not_run = "no proof";
  result.rivals = {rival};
  EXPECT_THAT(render_text(bench::report_of(result)), Not(HasSubstr("MPI types")));
  EXPECT_THAT(render_json(bench::report_of(result)), HasSubstr("\"not_run\": \"no proof\""));
  EXPECT_EQ(bench::wrong_of(result), std::nullopt);
  result.rivals[0].not_run.reset();
  result.rivals[0].wrong = "rank 1 holds nonsense";
  EXPECT_THAT(render_text(bench::report_of(result)),
              HasSubstr("by MPI types: WRONG: rank 1 holds nonsense"));
  EXPECT_THAT(bench::wrong_of(result).value_or(""), HasSubstr("MPI types"));
}

TEST(BenchReport, TellsOfAWrongByteAndOfNoTime) {
  bench::HaloBenchResult result;
  result.timings = {some_timing("mpi"), some_timing("shared")};
  result.timings[1].wrong = "rank 1 holds nonsense";
  result.timings[1].time = {};
  result.timings[1].phases.clear();
  const std::string text = render_text(bench::report_of(result));
  EXPECT_THAT(text, HasSubstr("by shared: WRONG: rank 1 holds nonsense"));
  EXPECT_THAT(render_json(bench::report_of(result)), HasSubstr("\"verified\": false"));
}

TEST(BenchReport, NamesTransportsByPairOnlyWhereTheyDiffer) {
  bench::HaloTiming timing = some_timing("shared");
  EXPECT_EQ(bench::text_of(timing.transports), "shared");
  timing.transports.emplace_back("other-node", "mpi");
  EXPECT_EQ(bench::text_of(timing.transports), "same-node shared, other-node mpi");
  timing.transports = {{"self", "self"}};
  EXPECT_EQ(bench::text_of(timing.transports), "self");
}

}  // namespace
}  // namespace halocline::test

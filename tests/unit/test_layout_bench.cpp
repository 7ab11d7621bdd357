// SPDX-License-Identifier: Apache-2.0
// `halocline bench layout` without ranks: from options to cases, bytes of boxes, times to figures.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/byte_ranges.hpp"
#include "bench/halo_ways.hpp"
#include "bench/layout_bench.hpp"
#include "support/caught.hpp"

namespace halocline::test {
namespace {

using bench::LayoutBenchOptions;
using bench::LayoutCase;
using bench::LayoutTiming;
using bench::Processors;
using bench::ranges_of;
using ByteRun = halocline::Run;  // a test has a Run() of its own
using testing::ElementsAre;

TEST(LayoutCases, AreEveryLayoutWithEveryDepth) {
  LayoutBenchOptions options;
  options.cells_per_rank = {16, 16, 16};
  options.layouts = {"array", "brick:4x2x8"};
  const std::vector<LayoutCase> cases = layout_cases(options, 8, Processors::cpus);
  ASSERT_EQ(cases.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(cases[i].layout, options.layouts[i / 2]);
    EXPECT_EQ(cases[i].steps, options.steps[i % 2]);
    const solver::Case& one = cases[i].the_case;
    EXPECT_EQ(one.halo_depth, cases[i].steps);
    EXPECT_EQ(one.brick, i < 2 ? Extents() : Extents({4, 2, 8}));
    EXPECT_EQ(one.grid.process_grid, Extents({2, 2, 2}));
    EXPECT_EQ(one.model, cases[0].the_case.model) << "all share one";
    EXPECT_EQ(one.norm, Norm::none);
  }
}

TEST(LayoutCases, HaveNeighboursInAllDirections) {
  LayoutBenchOptions options;
  options.cells_per_rank = {16, 16, 16};
  const auto grid_of = [&](int ranks) {
    return layout_cases(options, ranks, Processors::cpus)[0].the_case.grid.process_grid;
  };
  EXPECT_EQ(grid_of(2), Extents({1, 1, 2}));
  EXPECT_EQ(grid_of(4), Extents({1, 2, 2}));
  EXPECT_EQ(grid_of(6), Extents({1, 2, 3}));
  EXPECT_EQ(grid_of(24), Extents({2, 3, 4}));
  options.process_grid = {8, 1, 1};
  EXPECT_EQ(grid_of(8), options.process_grid);
}

TEST(LayoutCases, HaveMoreCellsOnGpus) {
  const LayoutBenchOptions options;
  EXPECT_EQ(layout_cases(options, 2, Processors::gpus)[0].the_case.grid.cells,
            Extents({512, 512, 1024}));
  EXPECT_EQ(layout_cases(options, 2, Processors::cpus)[0].the_case.grid.cells,
            Extents({128, 128, 256}));
}

TEST(HaloWays, AreFoundByTheirNames) {
  for (const bench::HaloWay& way : bench::halo_ways()) {
    EXPECT_EQ(bench::find_halo_way(way.name), &way);
    EXPECT_EQ(caught([&] { bench::check_way(way.name); }).text, "no error");
  }
  EXPECT_EQ(bench::find_halo_way("mpi"), nullptr) << "a transport";
  EXPECT_EQ(caught([] { bench::check_way("mpi"); }).text, "no error");
  EXPECT_EQ(caught([] { bench::check_way("self"); }).kind, ErrorKind::usage);
}

std::vector<std::pair<std::int64_t, std::int64_t>> ends_of(const std::vector<ByteRun>& runs) {
  std::vector<std::pair<std::int64_t, std::int64_t>> ends;
  for (const ByteRun& run : runs) ends.emplace_back(run.offset, run.offset + run.bytes);
  return ends;
}

TEST(ByteRanges, ListEachByteOnce) {
  const Grid grid(0, 1, {.cells = {8, 4}});
  const FieldStorage field(grid, 8, {.halo = 0});
  ASSERT_EQ(field.strides().y, 8);
  const std::int64_t first = field.first_owned() - field.bytes();
  const auto ranges = ranges_of(field, {{{0, 0, 0}, {8, 2, 1}}, {{6, 1, 0}, {8, 4, 1}}});
  EXPECT_THAT(ends_of(ranges),
              ElementsAre(std::pair(first, first + 128), std::pair(first + 176, first + 192),
                          std::pair(first + 240, first + 256)));
  EXPECT_EQ(bench::bytes_of(ranges), 160);
}

TEST(ByteRanges, AreWholeBlocksIfAskedFor) {
  const Grid grid(0, 1, {.cells = {8, 4}});
  const FieldStorage field(grid, 8, {.halo = 0, .brick = {4, 2}});
  // Of the four bricks the two on the right.
  const auto ranges = ranges_of(field, {{{7, 0, 0}, {8, 4, 1}}}, 64);
  EXPECT_THAT(ends_of(ranges), ElementsAre(std::pair(64, 128), std::pair(192, 256)));
  EXPECT_THAT(ends_of(ranges_of(field, {{{7, 0, 0}, {8, 4, 1}}}, 1000)),
              ElementsAre(std::pair(0, 256)))
      << "as far as the field has them";
}

TEST(ByteRanges, BecomeRows) {
  const std::vector<ByteRun> rows =
      bench::rows_of({{0, 8, 1, 0}, {32, 8, 1, 0}, {64, 8, 1, 0}, {100, 8, 1, 0}, {200, 16, 1, 0}});
  EXPECT_THAT(rows,
              ElementsAre(ByteRun{0, 8, 3, 32}, ByteRun{100, 8, 1, 8}, ByteRun{200, 16, 1, 16}));
  EXPECT_EQ(bench::bytes_of(rows), 48);
}

TEST(RankSpreads, HaveStandardDeviations) {
  const bench::RankSpread spread = bench::spread_of({2, 4, 4, 4, 5, 5, 7, 9});
  EXPECT_EQ(spread.min, 2);
  EXPECT_EQ(spread.mean, 5);
  EXPECT_EQ(spread.max, 9);
  EXPECT_EQ(spread.deviation, 2);
}

TEST(LayoutTimings, CountRealUpdatesOnce) {
  LayoutTiming timing;
  timing.redundant = 0.5;
  timing.seconds_per_sweep = {3e-3, 1e-3, 2e-3};
  summarize(timing, 4e6);
  EXPECT_EQ(timing.best_seconds, 1e-3);
  EXPECT_EQ(timing.median_seconds, 2e-3);
  EXPECT_EQ(timing.worst_seconds, 3e-3);
  EXPECT_DOUBLE_EQ(timing.glups, 2) << "those of the rim do not count";
}

}  // namespace
}  // namespace halocline::test

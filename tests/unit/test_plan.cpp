// SPDX-License-Identifier: Apache-2.0
// What a run would be: counted by hand for small grids.

#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/prospects.hpp"
#include "solver/case.hpp"
#include "stencil/sweep.hpp"
#include "support/caught.hpp"

namespace halocline::plan {
namespace {

using test::caught;
using test::says;
using testing::HasSubstr;

SolveOptions laplace(const Extents& cells, std::int64_t depth = 1) {
  SolveOptions options;
  options.problem = "laplace";
  options.cells = cells;
  options.halo_depth = depth;
  return options;
}

const Prospect& on(const Plan& plan, const Extents& process_grid) {
  for (const Prospect& prospect : plan.prospects)
    if (prospect.process_grid == process_grid) return prospect;
  throw Error(ErrorKind::internal, "no such process grid in the plan");
}

TEST(Plan, CountsMessagesAndBytesOfTheBusiestRank) {
  const Plan plan = make_plan(laplace({12, 8}), 4);
  ASSERT_EQ(plan.prospects.size(), 3u);
  EXPECT_EQ(on(plan, {1, 4}).messages, 2);
  EXPECT_EQ(on(plan, {1, 4}).bytes, 2 * 12 * 8);
  EXPECT_EQ(on(plan, {2, 2}).messages, 2);
  EXPECT_EQ(on(plan, {2, 2}).bytes, (6 + 4) * 8);
  EXPECT_EQ(on(plan, {4, 1}).bytes, 2 * 8 * 8);
  EXPECT_EQ(on(plan, {2, 2}).cells_per_rank, (Extents{6, 4}));
  EXPECT_EQ(on(plan, {2, 2}).memory_bytes, 2 * 8 * 6 * 8);
  EXPECT_DOUBLE_EQ(on(plan, {2, 2}).imbalance, 1);
}

TEST(Plan, CountsTheMiddleOfManyRanks) {
  const Plan plan = make_plan(laplace({30, 30, 30}), 27);
  EXPECT_EQ(on(plan, {3, 3, 3}).messages, 6);
  EXPECT_EQ(on(plan, {3, 3, 3}).bytes, 6 * 100 * 8);
}

TEST(Plan, CountsEdgesAndRedundantUpdatesOfDeepHalos) {
  const Plan plan = make_plan(laplace({40, 40}, 2), 16);
  const Prospect& way = on(plan, {4, 4});
  EXPECT_EQ(way.messages, 8);
  EXPECT_EQ(way.bytes, (4 * 2 * 10 + 4 * 4) * 8);
  EXPECT_DOUBLE_EQ(way.redundant, (12.0 * 12 - 10 * 10) / 200);
}

// By 4 sweeps of a pass a strip of 32 lanes loses one at each end, and ranks in the middle sweep
// 16, 18, 20 and 22 rows. In 3-D lanes have half as many cells, and blocks of 16 rows lose 8.
TEST(Plan, CountsRedundantUpdatesOfPasses) {
  SolveOptions options = laplace({64, 64});
  options.sweeps_per_pass = 4;
  if (const auto why =
          stencil::find_backend("cuda").cannot_pass_because(*solver::make_case(options, 1).model)) {
    EXPECT_THAT(caught([&] { make_plan(options, 1); }), says(ErrorKind::usage, *why));
    GTEST_SKIP() << *why;
  }
  EXPECT_DOUBLE_EQ(on(make_plan(options, 1), {1, 1}).redundant, 2.0 / 30);
  const Plan plan = make_plan(options, 4);
  EXPECT_EQ(plan.halo_depth, 4);
  EXPECT_DOUBLE_EQ(on(plan, {1, 4}).redundant, 32.0 / 30 * 19 / 16 - 1);
  EXPECT_EQ(on(plan, {1, 4}).bytes, 2 * 4 * 64 * 8);
  options.cells = {64, 512};
  EXPECT_EQ(make_plan(options, 4).halo_depth, 8);
  options.process_grid = {4, 1};
  EXPECT_EQ(make_plan(options, 4).halo_depth, 4);
  options.process_grid = {};
  options.cells = {64, 64, 64};
  EXPECT_DOUBLE_EQ(on(make_plan(options, 1), {1, 1, 1}).redundant, 32.0 / 28 * 16 / 8 - 1);
  options.cells = {64};
  options.problem = "heat";
  EXPECT_THAT(
      caught([&] { make_plan(options, 1); }),
      says(ErrorKind::usage, "a pass of 4 sweeps cannot be planned: the grid has one axis"));
}

TEST(Plan, SaysHowUnevenPartsAre) {
  EXPECT_DOUBLE_EQ(on(make_plan(laplace({10, 10}), 3), {1, 3}).imbalance, 40.0 * 3 / 100);
}

TEST(Plan, CountsUpdatesOfDepthsThatNobodyCouldCountOneByOne) {
  constexpr std::int64_t length = 1'000'000'000'000'000, depth = 400'000'000'000'000;
  const Plan plan = make_plan(laplace({4, length}, depth), 2);
  EXPECT_NEAR(on(plan, {1, 2}).redundant, 1.0 * depth / length, 1e-12);
}

TEST(Plan, RefusesWithAReason) {
  const Plan plan = make_plan(laplace({100, 3}, 2), 8);
  ASSERT_EQ(plan.prospects.size(), 1u);
  ASSERT_EQ(plan.refused.size(), 3u);
  for (const Refusal& refusal : plan.refused) {
    if (refusal.process_grid == Extents{4, 2}) {
      EXPECT_EQ(refusal.why, "parts of 1 cell along y are thinner than the halo's 2");
    } else {
      EXPECT_THAT(refusal.why, HasSubstr("parts along y, but only 3 cells"));
    }
  }
  EXPECT_EQ(caught([] { make_plan(laplace({2, 2}), 9); }).kind, ErrorKind::usage);
}

TEST(Plan, LooksAtTheProcessGridThatIsGiven) {
  SolveOptions options = laplace({12, 8});
  options.process_grid = {2, 2};
  const Plan plan = make_plan(options, 4);
  ASSERT_EQ(plan.prospects.size(), 1u);
  EXPECT_EQ(plan.prospects[0].process_grid, (Extents{2, 2}));
  options.process_grid = {3, 2};
  EXPECT_EQ(caught([&] { make_plan(options, 4); }).kind, ErrorKind::usage);
}

}  // namespace
}  // namespace halocline::plan

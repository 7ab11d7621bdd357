// SPDX-License-Identifier: Apache-2.0
// What a run would be: counted by hand for small grids.

#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "grid/text.hpp"
#include "plan/prospects.hpp"
#include "support/caught.hpp"
#include "support/temporary_folder.hpp"

namespace halocline::plan {
namespace {

using test::caught;
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
  const Plan plan = make_plan(laplace({12, 8}), 4, {});
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
  const Plan plan = make_plan(laplace({30, 30, 30}), 27, {});
  EXPECT_EQ(on(plan, {3, 3, 3}).messages, 6);
  EXPECT_EQ(on(plan, {3, 3, 3}).bytes, 6 * 100 * 8);
}

TEST(Plan, CountsEdgesAndRedundantUpdatesOfDeepHalos) {
  const Plan plan = make_plan(laplace({40, 40}, 2), 16, {});
  const Prospect& way = on(plan, {4, 4});
  EXPECT_EQ(way.messages, 8);
  EXPECT_EQ(way.bytes, (4 * 2 * 10 + 4 * 4) * 8);
  EXPECT_DOUBLE_EQ(way.redundant, (12.0 * 12 - 10 * 10) / 200);
}

TEST(Plan, SaysHowUnevenPartsAre) {
  EXPECT_DOUBLE_EQ(on(make_plan(laplace({10, 10}), 3, {}), {1, 3}).imbalance, 40.0 * 3 / 100);
}

TEST(Plan, CountsUpdatesOfDepthsThatNobodyCouldCountOneByOne) {
  constexpr std::int64_t length = 1'000'000'000'000'000, depth = 400'000'000'000'000;
  const Plan plan = make_plan(laplace({4, length}, depth), 2, {});
  EXPECT_NEAR(on(plan, {1, 2}).redundant, 0.5 * depth / (length / 2), 1e-12);
}

TEST(Plan, RefusesWithAReason) {
  const Plan plan = make_plan(laplace({100, 3}, 2), 8, {});
  ASSERT_EQ(plan.prospects.size(), 1u);
  ASSERT_EQ(plan.refused.size(), 3u);
  for (const Refusal& refusal : plan.refused) {
    if (refusal.process_grid == Extents{4, 2}) {
      EXPECT_EQ(refusal.why, "parts of 1 cell along y are thinner than the halo's 2");
    } else {
      EXPECT_THAT(refusal.why, HasSubstr("parts along y, but only 3 cells"));
    }
  }
  EXPECT_EQ(caught([] { make_plan(laplace({2, 2}), 9, {}); }).kind, ErrorKind::usage);
}

TEST(Plan, LooksAtTheProcessGridThatIsGiven) {
  SolveOptions options = laplace({12, 8});
  options.process_grid = {2, 2};
  const Plan plan = make_plan(options, 4, {});
  ASSERT_EQ(plan.prospects.size(), 1u);
  EXPECT_EQ(plan.prospects[0].process_grid, (Extents{2, 2}));
  options.process_grid = {3, 2};
  EXPECT_EQ(caught([&] { make_plan(options, 4, {}); }).kind, ErrorKind::usage);
}

Figures some_figures() {
  Figures figures;
  figures.rates = {{"laplace", "f64", 1e4, 2e9, "cpu"}, {"laplace", "f64", 1e8, 1e9, "cpu"}};
  figures.exchanges = {{2, 1000, 2e-6, "shared"},
                       {2, 3000, 4e-6, "shared"},
                       {2, 1000, 1e-6, "mpi"},
                       {2, 3000, 9e-6, "mpi"},
                       {1, 1000, 5e-6, "mpi"}};
  return figures;
}

TEST(Prediction, TakesTheNearestRateAndTheFastestTransport) {
  const auto times = predict(some_figures(), "laplace", "f64", 2e4, 2, 2000);
  ASSERT_TRUE(times);
  EXPECT_DOUBLE_EQ(times->sweep, 2e4 / 2e9);
  EXPECT_DOUBLE_EQ(times->exchange, 3e-6);
  EXPECT_DOUBLE_EQ(predict(some_figures(), "laplace", "f64", 5e7, 2, 500)->exchange, 1e-6);
  EXPECT_DOUBLE_EQ(predict(some_figures(), "laplace", "f64", 5e7, 2, 6000)->exchange, 8e-6);
  EXPECT_DOUBLE_EQ(predict(some_figures(), "laplace", "f64", 5e7, 1, 1000)->exchange, 5e-6);
}

TEST(Prediction, OfNothingKnownIsNone) {
  EXPECT_FALSE(predict(some_figures(), "star7", "f64", 1e4, 2, 2000));
  EXPECT_FALSE(predict(some_figures(), "laplace", "f32", 1e4, 2, 2000));
  EXPECT_FALSE(predict({}, "laplace", "f64", 1e4, 2, 2000));
  EXPECT_EQ(predict(some_figures(), "laplace", "f64", 1e4, 0, 0)->exchange, 0);
}

TEST(Plan, PutsTheFastestFirst) {
  const Plan plan = make_plan(laplace({1200, 800}), 4, some_figures());
  ASSERT_TRUE(plan.prospects[0].times);
  for (std::size_t i = 1; i < plan.prospects.size(); ++i)
    EXPECT_LE(plan.prospects[i - 1].times->together(), plan.prospects[i].times->together());
  EXPECT_EQ(plan.figures, "cpu");
}

TEST(Plan, SaysWhatFiguresItMisses) {
  Figures figures = some_figures();
  figures.exchanges.clear();
  const Plan plan = make_plan(laplace({1200, 800}), 4, figures);
  EXPECT_FALSE(plan.prospects[0].times);
  ASSERT_EQ(plan.notes.size(), 1u);
  EXPECT_THAT(plan.notes[0], HasSubstr("bench step laplace"));
}

TEST(Figures, RefuseWhatIsNoReport) {
  const test::TemporaryFolder folder;
  Figures figures;
  const auto error = [&](const std::string& path) {
    return caught([&] { add_figures(figures, path); });
  };
  EXPECT_THAT(error(folder / "none.json").text, HasSubstr("none.json"));
  EXPECT_THAT(error(folder.put("a.json", "dear diary")).text, HasSubstr("a.json"));
  EXPECT_THAT(error(folder.put("b.json", "{\"bench\": \"halo\"}")).text, HasSubstr("b.json"));
  EXPECT_EQ(error(folder.put("c.json", "[]")).kind, ErrorKind::usage);
  EXPECT_TRUE(figures.empty());
}

}  // namespace
}  // namespace halocline::plan

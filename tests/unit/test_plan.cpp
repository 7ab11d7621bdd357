// SPDX-License-Identifier: Apache-2.0
// What a run would be: counted by hand for small grids.

#include <cmath>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "grid/text.hpp"
#include "plan/prospects.hpp"
#include "support/caught.hpp"
#include "support/temporary_folder.hpp"

namespace halocline::plan {
namespace {

using test::caught;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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
  EXPECT_NEAR(on(plan, {1, 2}).redundant, 1.0 * depth / length, 1e-12);
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

Figures::Rate rate_of(double cells, double cells_per_second, int ranks = 4) {
  return {.problem = "laplace",
          .precision = "f64",
          .cells = cells,
          .cells_per_second = cells_per_second,
          .ranks = ranks,
          .norm_every = 1,
          .where = "cpu"};
}

Figures::Exchanged exchanged(std::int64_t messages, std::int64_t bytes, double seconds,
                             const std::string& transport) {
  return {.messages = messages,
          .bytes = bytes,
          .seconds = seconds,
          .transport = transport,
          .ranks = 4,
          .split = {.planes = true}};
}

Figures some_figures() {
  Figures figures;
  figures.rates = {rate_of(1e4, 2e9), rate_of(1e8, 1e9)};
  figures.exchanges = {exchanged(2, 1000, 2e-6, "shared"), exchanged(2, 3000, 4e-6, "shared"),
                       exchanged(2, 1000, 1e-6, "mpi"), exchanged(2, 3000, 9e-6, "mpi"),
                       exchanged(1, 1000, 5e-6, "mpi")};
  return figures;
}

Question question(double cells, std::int64_t messages, std::int64_t bytes) {
  return {.problem = "laplace",
          .precision = "f64",
          .ranks = 4,
          .cells = cells,
          .norm_every = 1,
          .messages = messages,
          .bytes = bytes,
          .split = {.planes = true}};
}

TEST(Prediction, TakesTheFastestTransport) {
  const auto times = predict(some_figures(), question(1e4, 2, 2000));
  ASSERT_TRUE(times);
  EXPECT_DOUBLE_EQ(times->sweep, 1e4 / 2e9);
  EXPECT_DOUBLE_EQ(times->exchange, 3e-6);
  EXPECT_THAT(times->unlike, IsEmpty());
  EXPECT_DOUBLE_EQ(predict(some_figures(), question(5e7, 2, 500))->exchange, 1e-6);
  EXPECT_DOUBLE_EQ(predict(some_figures(), question(5e7, 2, 6000))->exchange, 8e-6);
  EXPECT_DOUBLE_EQ(predict(some_figures(), question(5e7, 1, 1000))->exchange, 5e-6);
}

TEST(Prediction, LiesBetweenTheRatesOfFewerAndOfMoreCells) {
  const auto times = predict(some_figures(), question(1e6, 2, 2000));
  EXPECT_NEAR(times->sweep, 1e6 / std::sqrt(2e9 * 1e9), 1e-12);
  EXPECT_THAT(times->unlike, ElementsAre(Unlike::cells)) << "a cache may end anywhere between";
  EXPECT_DOUBLE_EQ(predict(some_figures(), question(1e9, 2, 2000))->sweep, 1);
  EXPECT_THAT(predict(some_figures(), question(1.5e8, 2, 2000))->unlike, IsEmpty());
  EXPECT_THAT(predict(some_figures(), question(1.6e8, 2, 2000))->unlike,
              ElementsAre(Unlike::cells));
  Figures level = some_figures();
  level.rates[0].cells_per_second = 1.1e9;
  EXPECT_THAT(predict(level, question(1e6, 2, 2000))->unlike, IsEmpty()) << "none does";
}

TEST(Prediction, PrefersRatesOfAsManyRanks) {
  Figures figures = some_figures();
  figures.rates = {rate_of(1e4, 8e9, 1), rate_of(4e4, 3e9, 4), rate_of(1e4, 5e9, 2)};
  EXPECT_DOUBLE_EQ(predict(figures, question(3e4, 2, 2000))->sweep, 3e4 / 3e9);
  EXPECT_THAT(predict(figures, question(3e4, 2, 2000))->unlike, IsEmpty());
  figures.rates[1].ranks = 1;
  const auto times = predict(figures, question(1e4, 2, 2000));
  EXPECT_DOUBLE_EQ(times->sweep, 1e4 / 5e9) << "two ranks are nearer to four than one";
  EXPECT_THAT(times->unlike, ElementsAre(Unlike::ranks));
}

TEST(Prediction, TellsOfCoresThatWereIdle) {
  Figures figures = some_figures();
  figures.rates = {rate_of(1e4, 2e9, 1), rate_of(1e4, 3e9, 4)};
  Question alone = question(1e4, 0, 0);
  alone.ranks = 1;
  EXPECT_THAT(predict(figures, alone)->unlike, ElementsAre(Unlike::ranks))
      << "one rank has four threads unless told otherwise";
  figures.rates.push_back(rate_of(1e4, 9e9, 1));
  figures.rates.back().threads = 4;
  EXPECT_THAT(predict(figures, alone)->unlike, IsEmpty());
  EXPECT_DOUBLE_EQ(predict(figures, alone)->sweep, 1e4 / 9e9);
}

TEST(Prediction, OfGpusUsesTheRateOfOne) {
  Figures figures = some_figures();
  figures.rates = {rate_of(1e4, 2e9, 1)};
  figures.rates[0].on_gpu = true;
  EXPECT_THAT(predict(figures, question(1e4, 2, 2000))->unlike, IsEmpty());
}

TEST(Prediction, AddsTheCostOfNorms) {
  Figures figures = some_figures();
  figures.rates = {rate_of(1e4, 2e9)};
  figures.rates[0].seconds_of_all_reduce = 5e-6;
  Question asked = question(1e4, 2, 2000);
  EXPECT_DOUBLE_EQ(predict(figures, asked)->norm, 5e-6);
  EXPECT_DOUBLE_EQ(predict(figures, asked)->together(), 5e-6 + 3e-6 + 5e-6);
  asked.norm_every = 10;
  EXPECT_DOUBLE_EQ(predict(figures, asked)->norm, 5e-7);
  EXPECT_THAT(predict(figures, asked)->unlike, ElementsAre(Unlike::norm));
  figures.rates.push_back(rate_of(1e4, 3e9));
  figures.rates[1].norm_every = 10;
  EXPECT_DOUBLE_EQ(predict(figures, asked)->sweep, 1e4 / 3e9);
  EXPECT_THAT(predict(figures, asked)->unlike, IsEmpty());
  asked.norm_every = 0;
  EXPECT_DOUBLE_EQ(predict(figures, asked)->norm, 0);
}

TEST(Prediction, TellsHowHalosLieInMemory) {
  EXPECT_EQ(split_of({4}), (Split{.planes = true}));
  EXPECT_EQ(split_of({2, 1}), (Split{.cells = true}));
  EXPECT_EQ(split_of({1, 2}), (Split{.planes = true}));
  EXPECT_EQ(split_of({1, 2, 1}), (Split{.rows = true}));
  EXPECT_EQ(split_of({2, 2, 2}), (Split{.cells = true, .rows = true, .planes = true}));
  Figures figures = some_figures();
  Question along_x = question(1e4, 2, 2000);
  along_x.split = {.cells = true};
  EXPECT_THAT(predict(figures, along_x)->unlike, ElementsAre(Unlike::split));
  figures.exchanges.push_back(exchanged(2, 2000, 30e-6, "shared"));
  figures.exchanges.back().split = {.cells = true};
  EXPECT_THAT(predict(figures, along_x)->unlike, IsEmpty());
  EXPECT_DOUBLE_EQ(predict(figures, along_x)->exchange, 30e-6);
  EXPECT_DOUBLE_EQ(predict(figures, question(1e4, 2, 2000))->exchange, 3e-6);
}

TEST(Prediction, PrefersExchangesBetweenSweeps) {
  Figures figures = some_figures();
  figures.exchanges.push_back(exchanged(2, 2000, 7e-6, "shared"));
  figures.exchanges.back().between_sweeps = true;
  EXPECT_DOUBLE_EQ(predict(figures, question(1e4, 2, 2000))->exchange, 7e-6);
}

TEST(Prediction, TellsOfOtherMessages) {
  EXPECT_THAT(predict(some_figures(), question(1e4, 4, 2000))->unlike,
              ElementsAre(Unlike::messages));
  EXPECT_THAT(predict(some_figures(), question(1e4, 2, 400))->unlike,
              ElementsAre(Unlike::messages));
  EXPECT_THAT(predict(some_figures(), question(1e4, 2, 7000))->unlike,
              ElementsAre(Unlike::messages));
}

TEST(Prediction, OfNothingKnownIsNone) {
  Question asked = question(1e4, 2, 2000);
  asked.problem = "star7";
  EXPECT_FALSE(predict(some_figures(), asked));
  asked = question(1e4, 2, 2000);
  asked.precision = "f32";
  EXPECT_FALSE(predict(some_figures(), asked));
  EXPECT_FALSE(predict({}, question(1e4, 2, 2000)));
  EXPECT_EQ(predict(some_figures(), question(1e4, 0, 0))->exchange, 0);
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

TEST(Plan, SaysWhyItsTimesMayBeFarOff) {
  Figures figures = some_figures();
  for (Figures::Rate& rate : figures.rates) rate.ranks = 1;
  const Plan plan = make_plan(laplace({200, 200}), 4, figures);
  ASSERT_TRUE(plan.prospects[0].times);
  EXPECT_THAT(plan.notes, Contains(HasSubstr("bench step laplace --ranks 4")));
  EXPECT_THAT(plan.notes, Contains(HasSubstr("--process-grid")));
  for (const Prospect& prospect : plan.prospects)
    EXPECT_THAT(prospect.times->unlike, Contains(Unlike::ranks));
}

/// A report of bench step as far as plans read it.
std::string step_report(const std::string& cases) {
  return R"({"bench": "step", "problem": "laplace", "threads_per_rank": 1,
             "backend": "cpu", "memory": "host", "devices": [{"name": "X"}], "cases": [)" +
         cases + "]}";
}

std::string step_case(int ranks, const std::string& times) {
  return fmt::format(
      R"({{"cells": [100, 100], "ranks": {0}, "process_grid": [1, {0}], "precision": "f64",
           "norm": "max", "norm_every": 2, "schedule": "sequential", "transport": "shared",
           "messages": {1}, "bytes": {2}, "glups": 1, {3}}})",
      ranks, ranks > 1 ? 1 : 0, ranks > 1 ? 800 : 0, times);
}

TEST(Figures, TellSweepsFromExchangesAndNorms) {
  const test::TemporaryFolder folder;
  Figures figures;
  add_figures(figures,
              folder.put("a.json", step_report(step_case(2, R"("median_us": 100, "exchange_us": 30,
                                                      "reduce_us": 20)"))));
  ASSERT_EQ(figures.rates.size(), 1u);
  EXPECT_EQ(figures.rates[0].ranks, 2);
  EXPECT_EQ(figures.rates[0].norm_every, 2);
  EXPECT_DOUBLE_EQ(figures.rates[0].cells, 5000);
  EXPECT_NEAR(figures.rates[0].cells_per_second, 5000 / 50e-6, 1);
  EXPECT_NEAR(figures.rates[0].seconds_of_all_reduce, 40e-6, 1e-12);
  ASSERT_EQ(figures.exchanges.size(), 1u);
  EXPECT_NEAR(figures.exchanges[0].seconds, 30e-6, 1e-12);
  EXPECT_TRUE(figures.exchanges[0].between_sweeps);
  EXPECT_EQ(figures.exchanges[0].split, (Split{.planes = true}));
}

TEST(Figures, OfSeveralRanksNeedTheirExchangesApart) {
  const test::TemporaryFolder folder;
  Figures figures;
  add_figures(figures,
              folder.put("old.json", step_report(step_case(1, R"("median_us": 100)") + "," +
                                                 step_case(2, R"("median_us": 60)"))));
  ASSERT_EQ(figures.rates.size(), 1u);
  EXPECT_EQ(figures.rates[0].ranks, 1);
  EXPECT_TRUE(figures.exchanges.empty());
}

TEST(Figures, OfDeepHalosAreNotUsed) {
  const test::TemporaryFolder folder;
  Figures figures;
  add_figures(figures, folder.put("deep.json", step_report(step_case(2, R"("median_us": 100,
                  "exchange_us": 30, "reduce_us": 20, "halo_depth": 2)"))));
  EXPECT_TRUE(figures.rates.empty());
  EXPECT_TRUE(figures.exchanges.empty());
}

TEST(Figures, OfASolveHaveItsRateAndItsExchange) {
  const test::TemporaryFolder folder;
  Figures figures;
  add_figures(figures, folder.put("solve.json", R"({"problem": "laplace", "precision": "f64",
      "cells": [100, 100], "ranks": 2, "process_grid": [2, 1], "glups_per_rank": 0.1,
      "norm_history": [[0, 1.0], [5, 0.5], [10, 0.1]], "threads_per_rank": 1,
      "backend": "cpu", "memory": "host", "devices": [{"name": "X"}], "sweeps": 11, "seconds": {"loop": 1e-3}, "schedule": "sequential",
      "halo": {"messages": 1, "bytes": 800, "exchanges": 11, "us": {"mean": 30}},
      "transport": {"same-node": "shared"}, "phases": {"reduce": {"mean": 1e-4}}})"));
  ASSERT_EQ(figures.rates.size(), 1u);
  EXPECT_NEAR(figures.rates[0].cells_per_second, 5000 / 60e-6, 1);
  EXPECT_EQ(figures.rates[0].norm_every, 5);
  EXPECT_NEAR(figures.rates[0].seconds_of_all_reduce, 50e-6, 1e-12);
  ASSERT_EQ(figures.exchanges.size(), 1u);
  EXPECT_EQ(figures.exchanges[0].split, (Split{.cells = true}));
  EXPECT_EQ(figures.exchanges[0].transport, "shared");
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

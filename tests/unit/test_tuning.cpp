// SPDX-License-Identifier: Apache-2.0
// What measuring the ways to run a case may cost.

#include <limits>

#include <gtest/gtest.h>

#include "solver/engine/tuning.hpp"

namespace halocline::solver {
namespace {

SolveOptions laplace() {
  SolveOptions options;
  options.problem = "laplace";
  return options;
}

TuningBudget budget_of(const SolveOptions& options) {
  return tuning_budget(make_case(options, 2), options);
}

constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();

TEST(TuningBudget, IsTwoPercentOfTheSweepsAndTwoSeconds) {
  SolveOptions options = laplace();
  options.sweeps = 50'000;
  options.tolerance = 0;
  EXPECT_EQ(budget_of(options).sweeps, 1000);
  EXPECT_EQ(budget_of(options).seconds, 2);
}

TEST(TuningBudget, CountsNoMoreThanAThousandSweepsOfARunThatMayStop) {
  SolveOptions options = laplace();
  options.sweeps = 50'000;
  options.tolerance = 1e-3;
  EXPECT_EQ(budget_of(options).sweeps, 20);
  options.sweeps = 100;
  EXPECT_EQ(budget_of(options).sweeps, 2);
}

TEST(TuningBudget, IsWhatTheUserSays) {
  SolveOptions options = laplace();
  options.tuning_seconds = 0.5;
  EXPECT_EQ(budget_of(options).seconds, 0.5);
  EXPECT_EQ(budget_of(options).sweeps, any);
  options.tuning_file = "tuning.json";
  EXPECT_EQ(budget_of(options).seconds, 0.5);
}

TEST(TuningBudget, OfAFileThatPaysOffLaterIsTwoSecondsOfAnyRun) {
  SolveOptions options = laplace();
  options.sweeps = 3;
  options.tuning_file = "tuning.json";
  EXPECT_EQ(budget_of(options).seconds, 2);
  EXPECT_EQ(budget_of(options).sweeps, any);
}

TEST(TuningTrial, TimesAsManySweepsAsTakeTheTimeWanted) {
  EXPECT_EQ(solver::next_timed(128, 0.01, 0.05, 64), 640);
  EXPECT_EQ(solver::next_timed(128, 0.01, 0.0499, 64), 576) << "whole units";
  EXPECT_EQ(solver::next_timed(128, 0.04, 0.05, 64), 256) << "at least twice as many";
}

// What took next to no time, or less than none, was timed wrongly: millions of sweeps would follow.
TEST(TuningTrial, TimesAtMostTenTimesAsManySweeps) {
  EXPECT_EQ(solver::next_timed(2, 1e-9, 0.05, 1), 20);
  EXPECT_EQ(solver::next_timed(2, 0, 0.05, 1), 20);
  EXPECT_EQ(solver::next_timed(2, -1, 0.05, 1), 20);
}

}  // namespace
}  // namespace halocline::solver

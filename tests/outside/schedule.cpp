// SPDX-License-Identifier: Apache-2.0
// A schedule that Halocline does not know of: added to its table by another program, it is found by
// name and tried by auto, and gives the bits that all schedules give.

#include "solver/engine/schedule.hpp"

#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/exchange.hpp>
#include <halocline/solver.hpp>

#include "solver/engine/runner.hpp"
#include "solver/engine/schedules/pass_stepper.hpp"
#include "support/caught.hpp"
#include "support/small_solve.hpp"

namespace halocline::test {
namespace {

using testing::Contains;
using testing::Field;

/// Sweeps one half of the cells after the other.
class HalvesStepper final : public solver::PassStepper {
 public:
  using PassStepper::PassStepper;

 private:
  void exchange_and_sweep(const solver::Step& step, Stream stream) override {
    runner().exchange().run(step.level, stream);
    Box lower = step.pass.region, upper = lower;
    lower.upper.y = upper.lower.y = (lower.lower.y + lower.upper.y) / 2;
    sweep(step.pass, lower, Part::first, stream);
    sweep(step.pass, upper, Part::more, stream);
  }
};

class Halves final : public solver::Schedule {
 public:
  std::string_view name() const override { return "halves"; }
  solver::MadeStepper make(solver::Runner& runner) const override {
    if (runner.grid().axes() == 1) return {.stepper = {}, .why_not = "there is one axis"};
    // Regions of one sweep must be told which is the last, where parts of a norm are left on a GPU.
    if (runner.target().gpu) return {.stepper = {}, .why_not = "it is for the host"};
    return {.stepper = std::make_unique<HalvesStepper>(runner)};
  }
  bool is_preferred(const solver::Runner&) const override { return false; }
};

const bool schedule_is_added = [] {
  static const Halves halves;
  solver::add_schedule(halves);
  return true;
}();

TEST(OutsideSchedule, GivesTheSameBits) {
  ASSERT_TRUE(schedule_is_added);
  for (const int depth : {1, 2}) {
    SolveOptions options = small("laplace", {130, 66}, 40);
    options.backend = "cpu";
    options.halo_depth = depth;
    options.schedule = "sequential";
    const SolveResult expected = solve(world(), options);
    options.schedule = "halves";
    const SolveResult result = solve(world(), options);
    EXPECT_EQ(result.schedule, "halves");
    EXPECT_EQ(result.checksum, expected.checksum);
    EXPECT_EQ(result.norm_history, expected.norm_history);
  }
}

TEST(OutsideSchedule, IsTriedByAuto) {
  if (ranks() == 1) GTEST_SKIP() << "one rank has one schedule on the host";
  SolveOptions options = small("laplace", {130, 66}, 40);
  options.backend = "cpu";
  options.tuning_seconds = 1000;
  using Way = SolveResult::Choice::Tried;
  EXPECT_THAT(solve(world(), options).choice.tried, Contains(Field(&Way::schedule, "halves")));
}

TEST(OutsideSchedule, SaysWhyItCannotBeUsed) {
  SolveOptions options = small("heat", {64}, 4);
  options.backend = "cpu";
  options.schedule = "halves";
  const Caught error = caught([&] { solve(world(), options); });
  EXPECT_EQ(error.kind, ErrorKind::unavailable);
  EXPECT_THAT(error.text, testing::HasSubstr("there is one axis"));
}

}  // namespace
}  // namespace halocline::test

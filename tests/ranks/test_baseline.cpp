// SPDX-License-Identifier: Apache-2.0
// What --baseline times: the run that solve() makes on one rank, to the same bits.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/solver.hpp>

#include "comm/collectives.hpp"
#include "solver/baseline.hpp"
#include "solver/case.hpp"
#include "solver/target.hpp"
#include "support/communicators.hpp"
#include "support/memories.hpp"
#include "support/ranks.hpp"
#include "support/small_solve.hpp"
#include "support/turns.hpp"

namespace halocline::test {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::Not;

SolveOptions on_cpu(const std::string& problem, const Extents& cells) {
  SolveOptions options = small(problem, cells, 20);
  options.backend = "cpu";
  options.tuning_seconds = 0;
  options.tolerance = 0;
  options.norm = Norm::max;
  return options;
}

/// As all ranks would run these options; here each rank runs them alone.
solver::Baseline baseline_of(const SolveOptions& options, std::int64_t sweeps) {
  Notes notes;
  const solver::Target target = solver::choose_target(world(), options, notes);
  return solver::run_baseline({.communicator = world(),
                               .the_case = solver::make_case(options, ranks()),
                               .options = options,
                               .target = target,
                               .sweep = {.threads = 1, .ranks_on_node = ranks()},
                               .sweeps = sweeps});
}

/// The result, the schedule and the graphs are what solve() has on one rank.
void expect_run_of_one_rank(const SolveOptions& options) {
  const SolveResult all = solve(world(), options);
  SolveOptions of_one = options;
  of_one.process_grid = {};
  of_one.halo_depth = 1;
  of_one.transport = "auto";
  const SolveResult one = solve(Communicator::self(), of_one);
  const solver::Baseline baseline = baseline_of(options, all.sweeps);
  EXPECT_EQ(baseline.sweeps, all.sweeps);
  EXPECT_EQ(baseline.checksum, all.checksum);
  EXPECT_EQ(baseline.checksum, one.checksum);
  EXPECT_EQ(baseline.schedule, one.schedule);
  EXPECT_EQ(baseline.sweeps_in_graphs, one.sweeps_in_graphs);
  EXPECT_GT(baseline.loop_seconds, 0);
}

TEST(Baseline, IsTheRunOfOneRank) {
  expect_run_of_one_rank(on_cpu("laplace", {37, 29}));
  expect_run_of_one_rank(on_cpu("jacobi", {37, 29}));
  expect_run_of_one_rank(on_cpu("star7", {21, 22, 24}));
  SolveOptions options = on_cpu("star7", {21, 22, 24});
  options.schedule = "sequential";
  options.precision = Precision::f32;
  options.norm = Norm::none;
  options.tolerance.reset();
  expect_run_of_one_rank(options);
}

TEST(Baseline, IsTheRunOfOneRankOnGpus) {
  NEED_GPU();
  std::size_t number = 0;
  for (const char* problem : {"laplace", "star7"}) {
    SolveOptions options =
        on_cpu(problem, problem == std::string("star7") ? Extents{13, 10, 16} : Extents{64, 60});
    options.backend = "cuda";
    options.sweeps = 300;
    for (const Memory memory : {Memory::device, Memory::managed}) {
      options.memory = memory;
      if (has_turn(number++)) expect_run_of_one_rank(options);
    }
  }
}

TEST(Baseline, LeavesOutWhatIsForSeveralRanks) {
  SolveOptions options = on_cpu("star7", {21, 22, 24});
  options.process_grid = Extents{1, 1, ranks()};
  options.transport = ranks() > 1 ? "mpi" : "auto";
  options.schedule = "overlap";
  options.halo_depth = 2;
  options.baseline = SolveOptions::Extra::yes;
  const SolveResult all = solve(world(), options);
  ASSERT_TRUE(all.baseline);
  EXPECT_EQ(all.schedule, "overlap");
  EXPECT_EQ(all.baseline->schedule, "sequential") << "there is nothing to overlap";
  EXPECT_EQ(baseline_of(options, all.sweeps).checksum, all.checksum);
}

TEST(Baseline, DoesAsManySweepsAsARunThatStopped) {
  SolveOptions options = on_cpu("laplace", {64, 32});
  options.sweeps = 500;
  for (const Norm norm : {Norm::max, Norm::l2}) {
    options.norm = norm;
    options.tolerance = 0.2;
    const SolveResult all = solve(world(), options);
    ASSERT_TRUE(all.converged);
    ASSERT_LT(all.sweeps, 500);
    const solver::Baseline baseline = baseline_of(options, all.sweeps);
    EXPECT_EQ(baseline.sweeps, all.sweeps);
    EXPECT_EQ(baseline.checksum, all.checksum);
  }
}

TEST(Baseline, IsToldByEveryRank) {
  SolveOptions options = on_cpu("jacobi", {64, 48});
  options.baseline = options.verify = SolveOptions::Extra::yes;
  const SolveResult result = solve(world(), options);
  ASSERT_TRUE(result.baseline);
  EXPECT_GT(result.baseline->seconds, 0);
  EXPECT_EQ(result.baseline->speedup, result.baseline->seconds / result.loop_seconds);
  EXPECT_EQ(result.baseline->efficiency, result.baseline->speedup / ranks());
  EXPECT_TRUE(result.verification->passed) << result.verification->text;
  EXPECT_THAT(result.notes, Each(Not(HasSubstr("the result of the baseline differs"))));
  std::string told = result.baseline->schedule;
  for (const std::string& note : result.notes) told += "\n" + note;
  comm::require_same(world(), "notes", {told});
}

TEST(Baseline, OfNoSweepsAndOfOneHasNoTime) {
  SolveOptions options = on_cpu("laplace", {20, 20});
  options.baseline = SolveOptions::Extra::yes;
  for (const std::int64_t sweeps : {0, 1}) {
    options.sweeps = sweeps;
    const SolveResult result = solve(world(), options);
    EXPECT_EQ(result.baseline->seconds, 0);
    EXPECT_EQ(result.baseline->speedup, 0);
  }
}

}  // namespace
}  // namespace halocline::test

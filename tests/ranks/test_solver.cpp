// SPDX-License-Identifier: Apache-2.0
// Whole solves on some ranks: reference values, the same bits whatever the choices, and checks that
// find what is wrong.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#ifdef __SSE2__
#include <xmmintrin.h>
#endif

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/solver.hpp>

#include "base/files/record_file.hpp"
#include "base/process/environment.hpp"
#include "comm/collectives.hpp"
#include "solver/engine/levels.hpp"
#include "solver/engine/time_loop.hpp"
#include "solver/reference_solve.hpp"
#include "solver/verify.hpp"
#include "support/caught.hpp"
#include "support/communicators.hpp"
#include "support/memories.hpp"
#include "support/ranks.hpp"
#include "support/small_solve.hpp"
#include "support/turns.hpp"

namespace halocline::test {
namespace {

using testing::HasSubstr;

TEST(Solver, StopsLaplaceWhereTheReferenceDoes) {
  SolveOptions options = small("laplace", {256, 128}, 526);
  options.verify = SolveOptions::Extra::yes;
  const SolveResult result = solve(world(), options);
  EXPECT_EQ(result.sweeps, 199);
  EXPECT_TRUE(result.converged);
  EXPECT_EQ(result.checksum, 0x528098ec285fe4a5u);
  EXPECT_NEAR(result.sum, 13630.1557717833, 1e-9);
  ASSERT_EQ(result.norm_history.size(), 199u);
  EXPECT_NEAR(result.norm_history[0].second, 0.939938784454794, 1e-15);
  EXPECT_NEAR(result.norm_history[198].second, 0.049954430, 5e-10);
  ASSERT_TRUE(result.verification);
  EXPECT_TRUE(result.verification->passed) << result.verification->text;
}

#ifdef __SSE2__
// As a library does that was built with -ffast-math, on all threads.
void let_threads_flush_denormals(int threads, bool flush) {
  constexpr unsigned flushes = 0x8040;
#pragma omp parallel num_threads(threads)
  _mm_setcsr(flush ? _mm_getcsr() | flushes : _mm_getcsr() & ~flushes);
}

TEST(Solver, KeepsDenormalNumbersWhereAProgramFlushesThem) {
  SolveOptions options = small("laplace", {512, 256}, 3);
  options.problem = Problem::from_text(R"toml(
axes = 2
cells = [512, 256]
[fields.u]
initial = "1e-40*(1 + x)"
boundary = "periodic"
[update]
u = "0.25*(u[-1,0] + u[1,0] + u[0,-1] + u[0,1])"
[stop]
sweeps = 3
)toml");
  options.backend = "cpu";
  options.precision = Precision::f32;
  options.threads = 2;
  const SolveResult expected = solve(world(), options);
  EXPECT_GT(expected.sum, 1e-36);
  let_threads_flush_denormals(options.threads, true);
  const unsigned before = _mm_getcsr();
  const SolveResult result = solve(world(), options);
  EXPECT_EQ(_mm_getcsr(), before);
  let_threads_flush_denormals(options.threads, false);
  EXPECT_EQ(result.checksum, expected.checksum);
  EXPECT_EQ(result.sum, expected.sum);
}
#endif

TEST(Solver, RefusesOptionsThatDifferBetweenRanks) {
  if (world().size() < 2) GTEST_SKIP() << "one rank agrees with itself";
  const bool last = world().rank() == world().size() - 1;
  const auto refusal = [&](auto change) {
    SolveOptions options = small("laplace", {64, 64}, 4);
    if (last) change(options);
    const Caught error = caught([&] { solve(world(), options); });
    EXPECT_EQ(error.kind, ErrorKind::usage) << error.text;
    return error.text;
  };
  EXPECT_THAT(refusal([](SolveOptions& o) { o.seed = 8; }), HasSubstr("seed 8"));
  EXPECT_THAT(refusal([](SolveOptions& o) { o.sweeps = 5; }), HasSubstr("sweeps 5"));
  EXPECT_THAT(refusal([](SolveOptions& o) { o.tolerance = 0.25; }), HasSubstr("tolerance 0.25"));
  EXPECT_THAT(refusal([](SolveOptions& o) { o.norm_every = 3; }), HasSubstr("norm_every 3"));
  EXPECT_THAT(refusal([](SolveOptions& o) { o.cells = {64, 65}; }), HasSubstr("64x65"));
  EXPECT_THAT(refusal([](SolveOptions& o) {
                o.parameters = {{"centre", 0.25}};
              }),
              HasSubstr("centre"));
  EXPECT_THAT(refusal([](SolveOptions& o) { o.verify = SolveOptions::Extra::yes; }),
              HasSubstr("verify"));
  SolveOptions threads = small("laplace", {64, 64}, 4);
  threads.threads = last ? 2 : 1;
  EXPECT_EQ(solve(world(), threads).sweeps, 4) << "nodes may have other numbers of cores";
}

TEST(Solver, TakesNormsWhereAskedAndStopsOnlyThere) {
  SolveOptions options = small("laplace", {256, 128}, 526);
  options.norm_every = 50;
  const SolveResult result = solve(world(), options);
  EXPECT_EQ(result.sweeps, 201) << "the first of sweeps 0, 50, 100, ... below the tolerance";
  ASSERT_EQ(result.norm_history.size(), 5u);
  EXPECT_EQ(result.norm_history.back().first, 200);
}

TEST(Solver, RunsAllSweepsWithoutATolerance) {
  SolveOptions options = small("laplace", {64, 64}, 526);
  options.tolerance = 0;
  options.norm_every = 100;
  const SolveResult result = solve(world(), options);
  EXPECT_EQ(result.sweeps, 526);
  EXPECT_FALSE(result.converged);
  EXPECT_EQ(result.checksum, 0x3b97bf2af2c55464u);
  EXPECT_NEAR(result.sum, 767.048512190739, 1e-11);
  EXPECT_NEAR(result.norm_history[0].second, 0.940379538, 5e-10);
  EXPECT_NEAR(result.norm_history[1].second, 0.062640527, 5e-10);
  EXPECT_EQ(result.norm_history.back().first, 525);
  EXPECT_NEAR(result.norm_history.back().second, 0.012472773, 5e-10);
}

TEST(Solver, StopsInTheFirstSweepsToo) {
  // Tolerances that sweeps 0, 1 and 2 meet: the late norm and the end of the run meet here.
  for (const std::int64_t sweeps : {1, 2, 3, 4})
    for (const double tolerance : {1.0, 0.7, 0.51}) {
      SolveOptions options = small("laplace", {256, 128}, sweeps);
      options.tolerance = tolerance;
      const SolveResult result = solve(world(), options);
      const std::int64_t stops_after = tolerance == 1.0 ? 1 : tolerance == 0.7 ? 2 : 3;
      EXPECT_EQ(result.sweeps, std::min(sweeps, stops_after)) << tolerance;
      EXPECT_EQ(result.converged, sweeps >= stops_after);
      SolveOptions plain = small("laplace", {256, 128}, result.sweeps);
      plain.tolerance = 0;
      EXPECT_EQ(result.checksum, solve(world(), plain).checksum) << "the field of that sweep";
    }
}

TEST(Solver, StopsAfterAnySweep) {
  constexpr std::int64_t sweeps = 12;
  SolveOptions options = small("laplace", {40, 33}, sweeps);
  options.backend = "cpu";
  options.tolerance = 0;
  const auto history = solve(world(), options).norm_history;
  ASSERT_EQ(history.size(), 12u);
  std::uint64_t checksums = 0;
  for (std::int64_t sweep = 0; sweep < sweeps; ++sweep)
    for (const std::int64_t norm_every : {std::int64_t{1}, 2 + sweep % 2}) {
      options.norm_every = norm_every;
      options.schedule = (sweep + norm_every) % 2 == 0 ? "overlap" : "sequential";
      // MPICH takes half a second to make windows of many ranks on few cores.
      const std::int64_t one_in = ranks() > 4 ? 12 : 4;
      options.transport = sweep % one_in < 2 && ranks() > 1 ? "shared" : "mpi";
      options.halo_depth = 1 + sweep % 5 / 2;
      options.tolerance = history[static_cast<std::size_t>(sweep)].second;
      options.verify = SolveOptions::Extra::yes;
      const SolveResult result = solve(world(), options);
      if (norm_every == 1) {
        EXPECT_EQ(result.sweeps, sweep + 1);
      }
      EXPECT_EQ(result.sweeps, 1 + last_sweep(history, norm_every, *options.tolerance));
      EXPECT_TRUE(result.converged);
      EXPECT_TRUE(result.verification->passed) << result.verification->text;
      checksums = checksums * 31 + result.checksum;
    }
  // What one rank has; as on every other number of ranks.
  EXPECT_EQ(checksums, 0x709cf96f6e688583u);
}

TEST(Solver, DoesNothingInNoSweeps) {
  const SolveResult result = solve(world(), small("star7", {16, 12, 8}, 0));
  EXPECT_EQ(result.sweeps, 0);
  EXPECT_TRUE(result.norm_history.empty());
}

TEST(Solver, SolvesStar7) {
  const SolveResult result = solve(world(), small("star7", {16, 12, 8}, 5));
  EXPECT_EQ(result.checksum, 0xdee8e0b50a85dd37u);
  EXPECT_NEAR(result.sum, 764.566981014151, 1e-11);
}

/// The sum of all cells after some sweeps of heat, where alpha dt/dx^2 is r: the exact solution of
/// the differences.
double sum_of_heat(const Extents& cells, std::int64_t sweeps, double r) {
  constexpr double pi = std::numbers::pi;
  double sum = 1, decay = 0;
  for (int axis = 0; axis < cells.axes(); ++axis) {
    const auto n = static_cast<double>(cells[axis]);
    double sines = 0;
    for (double i = 1; i <= n; ++i) sines += std::sin(pi * i / (n + 1));
    sum *= sines;
    decay += std::pow(std::sin(pi / (2 * (n + 1))), 2);
  }
  return sum * std::pow(1 - 4 * r * decay, static_cast<double>(sweeps));
}

TEST(Solver, SolvesHeatAsItsClosedForm) {
  const SolveResult by_default = [] {
    SolveOptions options;
    options.problem = "heat";
    return solve(world(), options);
  }();
  EXPECT_EQ(by_default.cells, Extents({9}));
  EXPECT_EQ(by_default.sweeps, 3);
  EXPECT_NEAR(by_default.sum, sum_of_heat({9}, 3, 0.02), 1e-12 * by_default.sum);
  for (const auto& [cells, sweeps] :
       {std::pair<Extents, std::int64_t>({101}, 40), {{33, 17}, 25}, {{13, 11, 7}, 12}}) {
    const double sum = solve(world(), small("heat", cells, sweeps)).sum;
    EXPECT_NEAR(sum, sum_of_heat(cells, sweeps, 0.02), 1e-12 * sum);
  }
  SolveOptions changed = small("heat", {21, 9}, 3);
  changed.parameters = {{"dt", 5e-3}, {"alpha", 1.5}, {"dx", 0.25}};
  const double sum = solve(world(), changed).sum;
  EXPECT_NEAR(sum, sum_of_heat({21, 9}, 3, 1.5 * 5e-3 / 0.0625), 1e-12 * sum);
  if (ranks() > 1) return;
  const double of_one = solve(world(), small("heat", {1}, 5)).sum;
  EXPECT_NEAR(of_one, sum_of_heat({1}, 5, 0.02), 1e-12 * of_one);
}

TEST(Solver, FollowsTheLabsNorms) {
  SolveOptions options = small("jacobi", {254, 254}, 1000);
  const SolveResult result = solve(world(), options);
  EXPECT_EQ(result.norm, "l2");
  EXPECT_EQ(result.precision, "f32");
  ASSERT_EQ(result.norm_history.size(), 1000u);
  EXPECT_NEAR(result.norm_history[0].second, 3.992180, 2e-6);
  EXPECT_NEAR(result.norm_history[100].second, 0.110318, 2e-6);
  EXPECT_NEAR(result.norm_history[500].second, 0.031196, 2e-6);
  EXPECT_NEAR(result.norm_history[999].second, 0.017210, 2e-6);
  // Those of 16382x16382 cells: a hundred sweeps reach only a few cells inward, so a narrow strip
  // has the same history.
  options = small("jacobi", {126, 16382}, 101);
  options.backend = "cpu";
  const auto strip = solve(world(), options).norm_history;
  EXPECT_NEAR(strip[0].second, 31.999023, 5e-7 * 32);
  EXPECT_NEAR(strip[100].second, 0.897983, 2e-6);
}

TEST(SolveResult, IsWrittenAsTheCommandPrintsIt) {
  SolveOptions options = small("laplace", {64, 32}, 5);
  options.backend = "cpu";
  options.norm = Norm::l2;
  const SolveResult result = solve(world(), options);
  if (rank() != 0) return;
  const std::string text = text_of(result), json = json_of(result);
  EXPECT_THAT(text, testing::StartsWith("laplace 2-D, 64x32 cells, f64"));
  EXPECT_THAT(text, testing::AllOf(HasSubstr("5 sweeps"), HasSubstr("l2 norm")));
  EXPECT_EQ(text.back(), '\n');
  const Json parsed = Json::parse(json);
  EXPECT_EQ(parsed.at("sweeps"), 5);
  EXPECT_EQ(parsed.at("norm"), "l2");
  EXPECT_EQ(parsed.at("ranks"), ranks());
}

struct Choices {
  std::string transport = "auto", schedule = "auto", simd = "auto";
  std::int64_t halo_depth = 1;
  int threads = 1;
};

/// The checksum of a run with everything else left to the defaults.
std::uint64_t checksum_with(SolveOptions options, const Choices& choices) {
  options.transport = choices.transport;
  options.schedule = choices.schedule;
  options.simd = choices.simd;
  options.halo_depth = choices.halo_depth;
  options.threads = choices.threads;
  options.tolerance = 0;
  options.norm = Norm::max;
  return solve(world(), options).checksum;
}

using ProblemAndPrecision = std::pair<const char*, const char*>;

std::vector<ProblemAndPrecision> problems_in_both_precisions() {
  std::vector<ProblemAndPrecision> all;
  for (const char* problem : {"laplace", "jacobi", "heat", "star7"})
    for (const char* precision : {"f32", "f64"}) all.emplace_back(problem, precision);
  return all;
}

class SameBits : public testing::TestWithParam<ProblemAndPrecision> {
 protected:
  SameBits() {
    const auto [problem, precision] = GetParam();
    options = small(problem, {37, 29}, 17);
    if (problem == std::string("heat")) options.cells = {43, 19, 18};
    if (problem == std::string("star7")) options.cells = {21, 22, 24};
    options.precision = precision_named(precision);
    options.backend = "cpu";
    expected = checksum_with(options, {});
  }
  SolveOptions options;
  std::uint64_t expected;
};

TEST_P(SameBits, WhateverTheChoices) {
  SolveOptions checked = options;
  checked.tolerance = 0;
  checked.norm = Norm::max;
  checked.verify = SolveOptions::Extra::yes;
  const SolveResult result = solve(world(), checked);
  EXPECT_TRUE(result.verification->passed) << result.verification->text;
  EXPECT_EQ(result.checksum, expected);

  for (const char* transport : {"mpi", "shared"}) {
    if (ranks() == 1 && transport == std::string("shared")) continue;
    for (const char* schedule : {"sequential", "overlap"})
      for (const std::int64_t depth : {1, 2, 3}) {
        // MPICH takes half a second to make windows of many ranks on few cores.
        if (ranks() > 4 && std::string(schedule) == (depth == 2 ? "overlap" : "sequential"))
          continue;
        EXPECT_EQ(checksum_with(
                      options, {.transport = transport, .schedule = schedule, .halo_depth = depth}),
                  expected)
            << transport << " " << schedule << " depth " << depth;
      }
  }
  EXPECT_EQ(checksum_with(options, {.threads = 3}), expected);
  EXPECT_EQ(checksum_with(options, {.simd = "scalar"}), expected);
}

class SameBitsOnGpus : public SameBits {};

TEST_P(SameBitsOnGpus, WhateverTheChoices) {
  NEED_GPU();
  options.backend = "cuda";
  SolveOptions checked = options;
  checked.tolerance = 0;
  checked.verify = checked.baseline = SolveOptions::Extra::yes;
  for (const Norm norm : {Norm::max, Norm::l2}) {
    checked.norm = norm;
    const SolveResult result = solve(world(), checked);
    EXPECT_TRUE(result.verification->passed) << result.verification->text;
    EXPECT_EQ(result.checksum, expected);
  }
  std::vector<Choices> tried{{.transport = "peer", .schedule = "sequential"},
                             {.transport = "peer", .schedule = "overlap"},
                             {.transport = "peer", .schedule = "overlap", .halo_depth = 3},
                             {.transport = "staged", .schedule = "overlap"},
                             {.transport = "staged", .schedule = "sequential", .halo_depth = 3}};
  if (!not_testable(transport::find_transport("nccl"), Memory::device)) {
    tried.push_back({.transport = "nccl", .schedule = "sequential"});
    tried.push_back({.transport = "nccl", .schedule = "overlap", .halo_depth = 3});
  }
  for (Choices way : tried) {
    if (ranks() == 1) way.transport = "auto";
    EXPECT_EQ(checksum_with(options, way), expected)
        << way.transport << " " << way.schedule << " depth " << way.halo_depth;
  }
  for (const Memory memory : {Memory::managed, Memory::pinned, Memory::system}) {
    if (no_memory(memory)) continue;  // not every driver has system memory
    options.memory = memory;
    EXPECT_EQ(checksum_with(options, {.halo_depth = 2}), expected) << name_of(memory);
    if (ranks() == 1) continue;
    EXPECT_EQ(checksum_with(options, {.transport = "peer"}), expected) << name_of(memory);
  }
}

std::string name_of_case(const testing::TestParamInfo<ProblemAndPrecision>& test) {
  return std::string(test.param.first) + "_" + test.param.second;
}

INSTANTIATE_TEST_SUITE_P(Problems, SameBits, testing::ValuesIn(problems_in_both_precisions()),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(Problems, SameBitsOnGpus,
                         testing::ValuesIn(those_with_turn(problems_in_both_precisions())),
                         name_of_case);

TEST(Solver, TellsARunThatDiverged) {
  SolveOptions options = small("star7", {12, 12, 12}, 3000);
  options.parameters = {{"side", 10.0}};
  options.norm = Norm::max;
  const SolveResult result = solve(world(), options);
  EXPECT_TRUE(result.diverged);
  EXPECT_LT(result.sweeps, 3000);
  EXPECT_FALSE(std::isfinite(result.norm_history.back().second));
}

TEST(Solver, SaysOnEveryRankWhatCannotBe) {
  SolveOptions options = small("laplace", {8, 8}, 1);
  options.halo_depth = 9;
  EXPECT_EQ(caught([&] { solve(world(), options); }).kind, ErrorKind::usage) << "also on one rank";
}

TEST(Verify, FindsTheFirstCellThatDiffers) {
  const solver::Case the_case = solver::make_case(
      [] {
        SolveOptions options = small("laplace", {24, 16}, 1);
        options.tolerance = 0;
        return options;
      }(),
      ranks());
  const Grid grid(rank(), ranks(), the_case.grid);
  solver::Levels levels = solver::make_levels(the_case, grid, 1, Memory::host);
  solver::fill_levels(the_case, grid, levels, {}, world(), 1);
  const solver::ReferenceResult alone =
      solver::solve_on_one_rank(the_case, 0,
                                {.backend = stencil::find_backend("reference"),
                                 .sweep = {},
                                 .memory = Memory::host,
                                 .stream = Stream::host()});
  const auto comparison = [&] {
    return solver::compare({.communicator = world(),
                            .the_case = the_case,
                            .grid = grid,
                            .fields = levels[0],
                            .norm_history = {},
                            .expected = &alone,
                            .reference = "the other"});
  };
  EXPECT_TRUE(comparison().passed);

  // Two cells, on whichever ranks they are: the one that comes first in the grid is named.
  for (const Int3 wrong : {Int3{23, 15, 0}, Int3{5, 9, 0}})
    if (grid.owned().contains(wrong)) {
      const Int3 at = wrong - grid.owned().lower;
      const FieldStorage& field = levels[0][0];
      reinterpret_cast<double*>(field.first_owned())[at.x + at.y * field.strides().y] += 1;
    }
  const SolveResult::Verification found = comparison();
  EXPECT_FALSE(found.passed);
  EXPECT_THAT(found.text, HasSubstr("cell (5, 9)"));
  EXPECT_THAT(found.text, HasSubstr("2 of 384 cells differ"));
}

/// Verifies a run of jacobi with the norm `ours`, where one rank has `theirs`.
SolveResult::Verification verify_norm(double ours, double theirs) {
  const solver::Case the_case = solver::make_case(small("jacobi", {24, 16}, 1), ranks());
  const Grid grid(rank(), ranks(), the_case.grid);
  solver::Levels levels = solver::make_levels(the_case, grid, 1, Memory::host);
  solver::fill_levels(the_case, grid, levels, {}, world(), 1);
  solver::ReferenceResult alone =
      solver::solve_on_one_rank(the_case, 0,
                                {.backend = stencil::find_backend("reference"),
                                 .sweep = {},
                                 .memory = Memory::host,
                                 .stream = Stream::host()});
  alone.norm_history = {{0, theirs}};
  const std::vector<std::pair<std::int64_t, double>> norms{{0, ours}};
  return solver::compare({.communicator = world(),
                          .the_case = the_case,
                          .grid = grid,
                          .fields = levels[0],
                          .norm_history = norms,
                          .expected = &alone,
                          .reference = "the other"});
}

TEST(Verify, HoldsNormsToWhatTheirOrderMakes) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(verify_norm(0.75, 0.75 * (1 + 1e-15)).passed);
  EXPECT_TRUE(verify_norm(infinite, infinite).passed);
  EXPECT_FALSE(verify_norm(infinite, 0.75).passed);
  const SolveResult::Verification found = verify_norm(0.75, 0.75 * (1 + 1e-9));
  EXPECT_FALSE(found.passed);
  EXPECT_THAT(found.text, HasSubstr("the norm of sweep 0"));
}

TEST(Verify, AllowsForTheOrderOfManyRows) {
  if (ranks() != 2) GTEST_SKIP() << "for two halves of the rows";
  if (!environment("HALOCLINE_TEST_ALL")) GTEST_SKIP() << "takes long: HALOCLINE_TEST_ALL=1";
  SolveOptions options = small("jacobi", {1, 3'000'000}, 6);
  options.backend = "cpu";
  options.verify = SolveOptions::Extra::yes;
  const SolveResult result = solve(world(), options);
  ASSERT_TRUE(result.verification);
  EXPECT_TRUE(result.verification->passed) << result.verification->text;
}

}  // namespace
}  // namespace halocline::test

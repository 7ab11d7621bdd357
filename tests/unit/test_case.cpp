// SPDX-License-Identifier: Apache-2.0
// From options to a case: defaults. What is refused, with which words:
// test_command_line_errors.cpp.

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "solver/case.hpp"
#include "solver/option_words.hpp"
#include "support/caught.hpp"

namespace halocline::solver {
namespace {

using test::caught;
using test::says;
using testing::HasSubstr;

SolveOptions options_for(const std::string& problem) {
  SolveOptions options;
  options.problem = problem;
  return options;
}

TEST(Case, TakesTheProblemsOwnDefaults) {
  const Case laplace = make_case(options_for("laplace"), 1);
  EXPECT_EQ(laplace.model->cells, (Int3{1024, 1024, 1}));
  EXPECT_EQ(laplace.sweeps, 526);
  EXPECT_EQ(laplace.tolerance, 0.05);
  EXPECT_EQ(laplace.precision(), Precision::f64);
  const Case jacobi = make_case(options_for("jacobi"), 1);
  EXPECT_EQ(jacobi.precision(), Precision::f32);
  EXPECT_EQ(jacobi.norm, Norm::l2);
  EXPECT_EQ(make_case(options_for("star7"), 1).tolerance, std::nullopt);
}

TEST(Case, MultipliesCellsPerRank) {
  SolveOptions options = options_for("laplace");
  options.cells_per_rank = {100, 50};
  EXPECT_EQ(make_case(options, 6).model->cells, (Int3{100, 300, 1}));
  options.process_grid = {3, 2};
  EXPECT_EQ(make_case(options, 6).model->cells, (Int3{300, 100, 1}));
  options.cells = {10, 10};
  EXPECT_EQ(caught([&] { make_case(options, 6); }).kind, ErrorKind::usage);
}

TEST(Case, TakesNormsAtMultiplesAndAtTheLastSweep) {
  SolveOptions options = options_for("laplace");
  options.norm_every = 10;
  options.sweeps = 26;
  const Case the_case = make_case(options, 1);
  EXPECT_TRUE(the_case.wants_norm(0));
  EXPECT_FALSE(the_case.wants_norm(9));
  EXPECT_TRUE(the_case.wants_norm(20));
  EXPECT_TRUE(the_case.wants_norm(25));
}

TEST(Case, AsksForANormWhereATolerancePresumesOne) {
  SolveOptions options = options_for("star7");
  options.tolerance = 1e-3;
  EXPECT_EQ(make_case(options, 1).norm, Norm::max);
  options.norm = Norm::none;
  EXPECT_THAT(caught([&] { make_case(options, 1); }).text, HasSubstr("needs a norm"));
}

TEST(Case, RefusesParametersThatAreNotFinite) {
  SolveOptions options = options_for("heat");
  options.parameters = {{"dt", std::numeric_limits<double>::infinity()}};
  EXPECT_THAT(caught([&] { make_case(options, 1); }), says(ErrorKind::usage, "cannot be inf"));
}

TEST(Case, TakesDepthsUpToTheLongestAxis) {
  SolveOptions options = options_for("heat");
  options.cells = {1, 50};
  options.halo_depth = 50;
  EXPECT_EQ(make_case(options, 1).halo_depth, 50);
}

// Exchanges are for two passes where parts are thick, unless a depth is given.
TEST(Case, HasHalosOfTwoPassesWhereFewCellsAreComputedTwice) {
  const auto depth = [](const Extents& cells, const Extents& grid, int ranks, std::int64_t given) {
    SolveOptions options = options_for(cells.axes() == 3 ? "star7" : "laplace");
    options.cells = cells;
    options.process_grid = grid;
    options.halo_depth = given;
    Case the_case = make_case(options, ranks);
    allow_passes(the_case, 3, ranks);
    return the_case.halo_depth;
  };
  EXPECT_EQ(depth({100, 100, 192}, {1, 1, 2}, 2, 1), 6);
  EXPECT_EQ(depth({100, 100, 191}, {1, 1, 2}, 2, 1), 3);
  EXPECT_EQ(depth({5, 100, 192}, {1, 1, 2}, 2, 1), 3);
  EXPECT_EQ(depth({192, 192, 192}, {1, 2, 1}, 2, 1), 3);
  EXPECT_EQ(depth({100, 100, 192}, {1, 1, 2}, 2, 3), 3);
  EXPECT_EQ(depth({100, 100, 192}, {1, 1, 2}, 2, 9), 9);
  EXPECT_EQ(depth({100, 192}, {1, 2}, 2, 1), 6);
  EXPECT_EQ(depth({100, 192}, {1, 1}, 1, 1), 1);
}

TEST(OptionWords, AreReadAsTheyAreWritten) {
  EXPECT_EQ(read_memory("auto"), std::nullopt);
  for (const Memory memory :
       {Memory::host, Memory::pinned, Memory::device, Memory::managed, Memory::system})
    EXPECT_EQ(read_memory(word_for(memory)), memory);
  EXPECT_EQ(word_for(std::nullopt), "auto");
  for (const Precision precision : {Precision::f32, Precision::f64})
    EXPECT_EQ(read_precision(name_of(precision)), precision);
  for (const Norm norm : {Norm::none, Norm::max, Norm::l2})
    EXPECT_EQ(read_norm(name_of(norm)), norm);
  using Graphs = SolveOptions::Graphs;
  for (const Graphs graphs : {Graphs::automatic, Graphs::on, Graphs::off})
    EXPECT_EQ(read_graphs(word_for(graphs)), graphs);
  EXPECT_THAT(caught([] { read_memory("attic"); }).text,
              HasSubstr("there is no memory 'attic'; there are: auto, device"));
  EXPECT_THAT(caught([] { read_graphs("perhaps"); }).text,
              testing::AllOf(HasSubstr("option 'graph' cannot be 'perhaps'"),
                             HasSubstr("auto, on or off")));
}

TEST(Case, RefusesATuningBudgetThatIsNone) {
  SolveOptions options = options_for("laplace");
  for (const double seconds :
       {-1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    options.tuning_seconds = seconds;
    EXPECT_THAT(caught([&] { make_case(options, 1); }),
                says(ErrorKind::usage, "seconds on tuning", "use 0 or more"));
  }
}

TEST(Case, NamesWhatIsLookedAtOnTheWay) {
  SolveOptions options = options_for("gray_scott");
  options.sums = {"v"};
  options.probes = {{.field = "", .cell = {255, 0}}, {.field = "v", .cell = {1, 2}}};
  const Case the_case = make_case(options, 1);
  EXPECT_THAT(the_case.sums, testing::ElementsAre(1));
  EXPECT_EQ(the_case.probes[0].field, 0U);
  EXPECT_EQ(the_case.probes[1].cell, (Int3{1, 2, 0}));
  EXPECT_EQ(the_case.series_every, 50) << "a hundredth of the sweeps";
  options.output = "u.npy";
  options.output_every = 7;
  EXPECT_EQ(make_case(options, 1).series_every, 7);
  options.series_every = 3;
  EXPECT_EQ(make_case(options, 1).series_every, 3);
  options.sweeps = 0;
  EXPECT_EQ(make_case(options, 1).series_every, 3);
}

}  // namespace
}  // namespace halocline::solver

// SPDX-License-Identifier: Apache-2.0
// The catalogue of problems, and what fields begin with and come to: start values, ghosts, sums and
// checksums. What problems compute is in test_whole_domain.cpp and ranks/test_solver.cpp.

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numbers>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "program/noise.hpp"
#include "program/shares.hpp"
#include "stencil/compiled.hpp"
#include "stencil/fill.hpp"
#include "stencil/ghosts.hpp"
#include "support/caught.hpp"
#include "support/cells.hpp"
#include "support/models.hpp"
#include "support/temporary_folder.hpp"

namespace halocline {
namespace {

using test::caught;
using test::for_each_cell;
using testing::HasSubstr;

Grid grid_for(const problem::Model& model) {
  GridOptions options;
  options.cells = Extents(model.cells, model.axes);
  options.periodic = model.periodic;
  return Grid(0, 1, options);
}

TEST(Noise, StartsWithKnownValues) {
  EXPECT_NEAR(program::noise(12345, 0), 0.13307967, 5e-9);
  EXPECT_NEAR(program::noise(12345, 1), 0.20481663, 5e-9);
  EXPECT_NEAR(program::noise(12345, 2), 0.11954258, 5e-9);
}

TEST(Noise, LiesBetweenZeroAndOne) {
  for (std::uint64_t i = 0; i < 10000; ++i) {
    EXPECT_GE(program::noise(7, i), 0.0);
    EXPECT_LT(program::noise(7, i), 1.0);
  }
}

test::Caught heat_with(const Extents& cells, const std::map<std::string, double>& parameters) {
  return caught([&] { test::built_in("heat", cells, {.parameters = parameters}); });
}

TEST(Heat, RefusesAnUnstableTimeStep) {
  // r = 2*dt/0.01 may be 1/4 in two dimensions.
  EXPECT_FALSE(heat_with({10, 10}, {{"dt", 0.00125}}).kind) << "the largest stable step";
  const auto error = heat_with({10, 10}, {{"dt", 0.002}});
  EXPECT_EQ(error.kind, ErrorKind::usage);
  EXPECT_EQ(error.text,
            "heat is unstable with dt 0.002: r = alpha*dt/dx^2 is 0.4, and 2 axes allow at most "
            "0.25; the largest stable dt is 0.00125");
  EXPECT_THAT(heat_with({10}, {{"dt", 1}}).text, HasSubstr(", and 1 axis allows at most 0.5; "));
  EXPECT_EQ(heat_with({10, 10}, {{"dt", -1}}).kind, ErrorKind::usage);
  EXPECT_EQ(heat_with({10, 10}, {{"dt", std::numeric_limits<double>::quiet_NaN()}}).kind,
            ErrorKind::usage);
}

TEST(Heat, NamesATimeStepThatIsStable) {
  for (const Extents& cells : {Extents{10}, Extents{10, 10}, Extents{10, 10, 10}})
    for (const auto& [alpha, dx] :
         {std::pair(2.0, 0.1), std::pair(0.7, 0.013), std::pair(3.0, 7.0), std::pair(1e-5, 1e-3)}) {
      std::map<std::string, double> parameters{{"alpha", alpha}, {"dt", 1e9}, {"dx", dx}};
      const std::string text = heat_with(cells, parameters).text;
      const double dt = std::stod(text.substr(text.rfind(' ')));
      parameters["dt"] = dt;
      EXPECT_FALSE(heat_with(cells, parameters).kind) << text;
      parameters["dt"] = dt * (1 + 1e-9);
      EXPECT_TRUE(heat_with(cells, parameters).kind) << text;
    }
}

TEST(Catalogue, NamesTheProblemsThereAre) {
  const auto error = caught([] { problem::find_problem("nothing"); });
  EXPECT_EQ(error.kind, ErrorKind::usage);
  EXPECT_THAT(error.text,
              HasSubstr("there is no problem 'nothing'; there are: laplace, jacobi, heat, star7"));
}

TEST(Catalogue, NamesTheProblemThatMayBeMeant) {
  const auto refusal = [](const std::string& name) {
    return caught([&] { problem::find_problem(name); }).text;
  };
  EXPECT_EQ(refusal("lapalce"), "there is no problem 'lapalce'; do you mean 'laplace'?");
  EXPECT_EQ(refusal("gray-scott"), "there is no problem 'gray-scott'; do you mean 'gray_scott'?");
  const test::TemporaryFolder folder;
  const std::string there = folder.put("cond.toml", "axes = 2\n");
  for (const char* const name : {"cond.tml", "cond", "Cond.toml"}) {
    const std::string path = folder / name;
    EXPECT_EQ(refusal(path), fmt::format("cannot read '{}': No such file or directory; do you mean "
                                         "'{}'?",
                                         path, there));
  }
  const std::string other = folder / "wave.toml";
  EXPECT_EQ(refusal(other), fmt::format("cannot read '{}': No such file or directory", other));
  EXPECT_EQ(refusal(other + "/there.toml"),
            fmt::format("cannot read '{}/there.toml': No such file or directory", other));
}

TEST(Catalogue, DescribesEveryProblem) {
  for (const problem::BuiltIn& one : problem::built_in_problems()) {
    const problem::Model model = test::built_in(std::string(one.name));
    EXPECT_EQ(model.name, one.name);
    EXPECT_FALSE(model.title.empty());
    EXPECT_GT(model.sweeps, 0);
    for (int axis = 0; axis < 3; ++axis) EXPECT_EQ(model.cells[axis] > 1, axis < model.axes);
    for (const problem::ModelParameter& parameter : model.parameters)
      EXPECT_FALSE(parameter.help.empty());
  }
}

TEST(Catalogue, HasCompiledFormulasForTheFirstProblems) {
  for (const char* name : {"laplace", "jacobi", "heat", "star7"})
    for (const int axes : problem::read_text(name, problem::find_problem(name).text).axes) {
      const problem::Model model = test::built_in(name, {}, {.axes = axes});
      EXPECT_TRUE(stencil::is_compiled_in(model)) << name << axes;
    }
}

TEST(CompiledFormula, IsOnlyThatOfTheVeryTree) {
  const auto is_compiled = [](const std::string& update) {
    return stencil::is_compiled_in(test::model_of_text(
        "axes = 2\ncells = [8, 8]\n[fields.u]\ninitial = 0\nboundary = \"reflect\"\n"
        "[update]\nu = \"" +
        update + "\"\n[stop]\nsweeps = 1\n"));
  };
  EXPECT_TRUE(is_compiled("0.3 * ((u[-1,0] + u[1,0]) + (u[0,-1] + u[0,1]))"));
  EXPECT_FALSE(is_compiled("0.3 * ((u[1,0] + u[-1,0]) + (u[0,-1] + u[0,1]))"));
  EXPECT_FALSE(is_compiled("((u[-1,0] + u[1,0]) + (u[0,-1] + u[0,1])) * 0.3"));
  EXPECT_FALSE(is_compiled("0.3 * (u[-1,0] + u[1,0] + u[0,-1] + u[0,1])"));
  EXPECT_TRUE(is_compiled("u + 0.1*(((u[-1,0] - 2*u) + u[1,0]) + ((u[0,-1] - 2*u) + u[0,1]))"));
  EXPECT_FALSE(is_compiled("u + 0.1*(((u[-1,0] - 2*u) + u[1,0]) + ((u[0,-1] - 3*u) + u[0,1]))"));
}

/// All held cells are set to this before a fill.
constexpr double untouched = -7.5;

template <class Real>
Field<Real> untouched_field(const Grid& grid, const HaloWidths& halo) {
  FieldOptions options;
  options.halo = halo;
  const Field<Real> field(grid, options);
  for_each_cell(field.shape().held(),
                [&](Int3 at) { field(at.x, at.y, at.z) = static_cast<Real>(untouched); });
  return field;
}

TEST(FillStart, WritesOwnedCellsOnly) {
  const problem::Model laplace = test::built_in("laplace", {5000, 11});
  GridOptions options;
  options.cells = {5000, 11};
  options.process_grid = {2, 2};
  for (const int threads : {1, 2, 3}) {
    const Grid grid(3, 4, options);
    const Field<double> field = untouched_field<double>(grid, 2);
    stencil::fill_start(field, laplace, laplace.fields[0].initial.expression, threads);
    for_each_cell(field.shape().held(), [&](Int3 at) {
      const double noise = program::noise(12345, static_cast<std::uint64_t>(at.x + 5000 * at.y));
      ASSERT_EQ(field(at.x, at.y), grid.owned().contains(at) ? noise : untouched);
    });
  }
}

TEST(FillStart, RoundsToTheFieldsPrecision) {
  const problem::Model star7 = test::built_in("star7", {5, 4, 3});
  const Grid grid = grid_for(star7);
  const Field<float> field(grid);
  stencil::fill_start(field, star7, star7.fields[0].initial.expression, 2);
  for_each_cell(grid.owned(), [&](Int3 at) {
    const auto index = static_cast<std::uint64_t>(at.x + 5 * (at.y + 4 * at.z));
    EXPECT_EQ(field(at.x, at.y, at.z), static_cast<float>(program::noise(12345, index)));
  });
}

TEST(FillStart, FollowsTheSeed) {
  const problem::Model laplace = test::built_in("laplace", {3, 3}, {.seed = 99});
  const Field<double> field(grid_for(laplace));
  stencil::fill_start(field, laplace, laplace.fields[0].initial.expression, 1);
  EXPECT_EQ(field(2, 1), program::noise(99, 5));
}

TEST(Ghosts, WritesWhatLiesOutsideTheDomainOnly) {
  // Fixed along x, periodic along y, three cells deep: rank 1 of two along y.
  const problem::Model jacobi = test::built_in("jacobi", {4, 6});
  GridOptions options;
  options.cells = {4, 6};
  options.periodic = {false, true};
  options.process_grid = {1, 2};
  const Grid grid(1, 2, options);
  const Field<double> field = untouched_field<double>(grid, 3);
  stencil::Ghosts(jacobi, grid, field.shape()).fill_fixed(field);
  for_each_cell(field.shape().held(), [&](Int3 at) {
    const double row = static_cast<double>((at.y + 6) % 6);
    const double edge = std::sin(2 * std::numbers::pi * (row + 1) / 7);
    EXPECT_EQ(field(at.x, at.y), at.x < 0 || at.x >= 4 ? edge : untouched) << at.x << "," << at.y;
  });
}

TEST(Ghosts, LeavesHalosInsideTheDomainAlone) {
  const problem::Model laplace =
      test::built_in("laplace", {4, 4, 4}, {.precision = Precision::f32});
  GridOptions options;
  options.cells = {4, 4, 4};
  options.process_grid = {2, 1, 2};
  const Grid grid(0, 4, options);
  const Field<float> field = untouched_field<float>(grid, 1);
  stencil::Ghosts(laplace, grid, field.shape()).fill_fixed(field);
  const Box domain{{0, 0, 0}, {4, 4, 4}};
  for_each_cell(field.shape().held(), [&](Int3 at) {
    EXPECT_EQ(field(at.x, at.y, at.z), domain.contains(at) ? static_cast<float>(untouched) : 0.0F);
  });
}

TEST(Checksum, AddsUpOverRanks) {
  const problem::Model laplace = test::built_in("laplace", {37, 11});
  const auto checksum_of = [&](int rank, int ranks) {
    GridOptions options;
    options.cells = {37, 11};
    const Grid grid(rank, ranks, options);
    const Field<double> field(grid);
    stencil::fill_start(field, laplace, laplace.fields[0].initial.expression, 1);
    EXPECT_EQ(program::checksum(field, grid, 1), program::checksum(field, grid, 3));
    return program::checksum(field, grid, 1);
  };
  std::uint64_t total = 0;
  for (int rank = 0; rank < 6; ++rank) total += checksum_of(rank, 6);
  EXPECT_EQ(total, checksum_of(0, 1));
  // By the definition.
  std::uint64_t expected = 0;
  for (std::uint64_t i = 0; i < 37 * 11; ++i)
    expected += mix(std::bit_cast<std::uint64_t>(program::noise(12345, i)) ^ mix(i + 1));
  EXPECT_EQ(total, expected);
}

template <class Real>
std::uint64_t checksum_of_one(Real value) {
  GridOptions options;
  options.cells = {1};
  const Grid grid(0, 1, options);
  const Field<Real> field(grid);
  field(0) = value;
  return program::checksum(field, grid, 1);
}

TEST(Checksum, TakesZerosForEqualAndNansForEqual) {
  EXPECT_EQ(checksum_of_one(-0.0), checksum_of_one(0.0));
  EXPECT_EQ(checksum_of_one(-0.0F), checksum_of_one(0.0F));
  const auto other_nan = std::bit_cast<double>(std::uint64_t{0xFFF8000000000123});
  EXPECT_EQ(checksum_of_one(other_nan), checksum_of_one(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_NE(checksum_of_one(1.0), checksum_of_one(std::nextafter(1.0, 2.0)));
}

TEST(Checksum, ExtendsTheBitsOfSinglePrecisionByZeros) {
  EXPECT_EQ(checksum_of_one(-1.5F), mix(std::uint64_t{0xBFC00000} ^ mix(1)));
}

TEST(Sum, DoesNotDependOnThreads) {
  const problem::Model laplace = test::built_in("laplace", {131, 67});
  const Field<double> field(grid_for(laplace));
  stencil::fill_start(field, laplace, laplace.fields[0].initial.expression, 1);
  const double sum = program::sum(field, 1);
  EXPECT_NEAR(sum, 131 * 67 / 2.0, 150);
  for (const int threads : {2, 3, 7}) EXPECT_EQ(program::sum(field, threads), sum);
}

}  // namespace
}  // namespace halocline

// SPDX-License-Identifier: Apache-2.0
// The built-in problems on one rank, against values from outside this code: closed forms, and
// reference values that were computed by other programs.

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
#include "stencil/sweep.hpp"
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

/// Solves a problem on one rank, sweep by sweep, and fills the halo along periodic axes itself.
template <class Real>
class LocalSolve {
 public:
  LocalSolve(const char* name, const Extents& cells, const char* backend = "cpu")
      : model_(test::built_in(name, cells,
                              {.precision = sizeof(Real) == 4 ? Precision::f32 : Precision::f64})),
        grid_(grid_for(model_)),
        levels_{Field<Real>(grid_), Field<Real>(grid_)},
        sweep_(stencil::find_backend(backend).make(model_, {})) {
    for (const Field<Real>& level : levels_) {
      stencil::fill_start(level, model_, model_.fields[0].initial.expression, 1);
      stencil::Ghosts(model_, grid_, level.shape()).fill_fixed(level);
    }
  }

  const Field<Real>& field() const { return levels_[0]; }

  /// Makes one sweep and returns its norm.
  double step(Norm kind) {
    fill_periodic_halo();
    double sum = 0;
    sweep_->run({.in = levels_[0],
                 .out = levels_[1],
                 .region = grid_.owned(),
                 .norm = kind,
                 .norm_sum = &sum},
                Stream::host());
    std::swap(levels_[0], levels_[1]);
    return kind == Norm::l2 ? std::sqrt(sum) : sum;
  }
  /// Returns the norms of all sweeps.
  std::vector<double> steps(int count, Norm kind) {
    std::vector<double> norms;
    for (int i = 0; i < count; ++i) norms.push_back(step(kind));
    return norms;
  }

  double sum() const { return program::sum(field(), 1); }
  std::string checksum() const {
    return fmt::format("{:016x}", program::checksum(field(), grid_, 1));
  }

 private:
  void fill_periodic_halo() {
    const Field<Real>& field = levels_[0];
    for (const Box& halo : subtract(field.shape().held(), field.shape().owned))
      for_each_cell(halo, [&](Int3 at) {
        Int3 image = at;
        for (int axis = 0; axis < grid_.axes(); ++axis)
          if (grid_.periodic(axis))
            image[axis] = (at[axis] + grid_.cells()[axis]) % grid_.cells()[axis];
        if (!(image == at)) field(at.x, at.y, at.z) = field(image.x, image.y, image.z);
      });
  }

  problem::Model model_;
  Grid grid_;
  std::array<Field<Real>, 2> levels_;
  std::unique_ptr<stencil::Sweep> sweep_;
};

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

class Laplace : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Backends, Laplace, testing::Values("reference", "cpu"));

TEST_P(Laplace, MeetsTheReferenceOf64x64) {
  LocalSolve<double> solve("laplace", {64, 64}, GetParam());
  const std::vector<double> norms = solve.steps(526, Norm::max);
  EXPECT_NEAR(norms[0], 0.940379538, 5e-10);
  EXPECT_NEAR(norms[100], 0.062640527, 5e-10);
  EXPECT_NEAR(norms[525], 0.012472773, 5e-10);
  EXPECT_NEAR(solve.sum(), 767.048512190739, 1e-12 * 767);
  EXPECT_EQ(solve.checksum(), "3b97bf2af2c55464");
}

TEST_P(Laplace, MeetsTheReferenceOf256x128) {
  LocalSolve<double> solve("laplace", {256, 128}, GetParam());
  const std::vector<double> norms = solve.steps(199, Norm::max);
  EXPECT_GT(norms[197], 0.05);
  EXPECT_NEAR(norms[198], 0.049954430, 5e-10);
  EXPECT_NEAR(solve.sum(), 13630.1557717833, 1e-12 * 13630);
  EXPECT_EQ(solve.checksum(), "528098ec285fe4a5");
}

TEST(LaplaceOnCpu, MeetsTheReferenceOf1024x1024) {
  LocalSolve<double> solve("laplace", {1024, 1024});
  const std::vector<double> norms = solve.steps(398, Norm::max);
  EXPECT_GT(norms[396], 0.05);
  EXPECT_NEAR(norms[397], 0.049943861, 5e-10);
  EXPECT_NEAR(solve.sum(), 502118.039007682, 1e-12 * 502118);
  EXPECT_EQ(solve.checksum(), "9fd5ea44158e2403");
}

TEST(LaplaceOnCpu, AveragesSixNeighboursIn3d) {
  LocalSolve<double> solve("laplace", {3, 4, 5});
  const auto start = [](std::int64_t x, std::int64_t y, std::int64_t z) {
    return program::noise(12345, static_cast<std::uint64_t>(x + 3 * (y + 4 * z)));
  };
  solve.step(Norm::none);
  EXPECT_DOUBLE_EQ(solve.field()(1, 1, 1), (start(0, 1, 1) + start(2, 1, 1) + start(1, 0, 1) +
                                            start(1, 2, 1) + start(1, 1, 0) + start(1, 1, 2)) /
                                               6);
  EXPECT_DOUBLE_EQ(solve.field()(0, 0, 0), (start(1, 0, 0) + start(0, 1, 0) + start(0, 0, 1)) / 6);
}

class Jacobi : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Backends, Jacobi, testing::Values("reference", "cpu"));

TEST_P(Jacobi, MeetsTheReferenceOf254x254) {
  LocalSolve<float> solve("jacobi", {254, 254}, GetParam());
  const std::vector<double> norms = solve.steps(1000, Norm::l2);
  EXPECT_NEAR(norms[0], 3.992180, 5e-7);
  EXPECT_NEAR(norms[100], 0.110318, 5e-7);
  EXPECT_NEAR(norms[500], 0.031196, 5e-7);
  EXPECT_NEAR(norms[999], 0.017210, 5e-7);
}

TEST(JacobiOnCpu, BeginsAsTheLabDoesOn16384x16384) {
  // A hundred sweeps reach only a few cells inward, so a narrow strip has the same history.
  LocalSolve<float> solve("jacobi", {126, 16382});
  const std::vector<double> norms = solve.steps(101, Norm::l2);
  EXPECT_NEAR(norms[0], 31.999023, 5e-7 * 32);
  EXPECT_NEAR(norms[100], 0.897983, 5e-7);
}

TEST(Heat, MeetsTheWorkedExample) {
  LocalSolve<double> solve("heat", {9});
  solve.steps(3, Norm::none);
  const double expected[] = {0.307205621017285, 0.584339815421977, 0.804274757358271,
                             0.945481682332598, 0.994138272681972};
  for (int i = 0; i < 9; ++i)
    EXPECT_NEAR(solve.field()(i), expected[i < 5 ? i : 8 - i], 1e-15 + 5e-16) << i;
}

TEST(Heat, FollowsTheExactDiscreteSolution) {
  for (const Extents& cells : {Extents{1}, Extents{2}, Extents{40}, Extents{1000}, Extents{7, 5},
                               Extents{33, 18}, Extents{4, 3, 5}, Extents{17, 12, 9}})
    for (const int sweeps : {1, 10, 57}) {
      LocalSolve<double> solve("heat", cells);
      solve.steps(sweeps, Norm::none);
      double decay = 0;
      for (int axis = 0; axis < cells.axes(); ++axis) {
        const double n = static_cast<double>(cells[axis] + 1);
        decay += std::pow(std::sin(std::numbers::pi / (2 * n)), 2);
      }
      const double factor = std::pow(1 - 4 * 0.02 * decay, sweeps);
      for_each_cell(solve.field().shape().owned, [&](Int3 at) {
        double start = 1;
        for (int axis = 0; axis < cells.axes(); ++axis)
          start *= std::sin(std::numbers::pi * static_cast<double>(at[axis] + 1) /
                            static_cast<double>(cells[axis] + 1));
        ASSERT_NEAR(solve.field()(at.x, at.y, at.z), start * factor, 1e-14) << sweeps << " sweeps";
      });
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

class Star7 : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Backends, Star7, testing::Values("reference", "cpu"));

TEST_P(Star7, MeetsTheReferenceOf16x12x8) {
  LocalSolve<double> solve("star7", {16, 12, 8}, GetParam());
  solve.steps(5, Norm::none);
  double most = 0, least = 1;
  for_each_cell(solve.field().shape().owned, [&](Int3 at) {
    most = std::max(most, solve.field()(at.x, at.y, at.z));
    least = std::min(least, solve.field()(at.x, at.y, at.z));
  });
  EXPECT_NEAR(solve.sum(), 764.566981014151, 1e-12 * 764);
  EXPECT_EQ(solve.checksum(), "dee8e0b50a85dd37");
  EXPECT_NEAR(most, 0.665718940790677, 5e-16);
  EXPECT_NEAR(least, 0.329363590125248, 5e-16);
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
      EXPECT_TRUE(stencil::compiled_formula_of(model)) << name << axes;
    }
}

TEST(CompiledFormula, HasTheModelsConstants) {
  const auto compiled = stencil::compiled_formula_of(
      test::built_in("star7", {}, {.parameters = {{"centre", 0.25}, {"side", 0.125}}}));
  ASSERT_TRUE(compiled);
  EXPECT_EQ(compiled->constants[0], 0.25);
  EXPECT_EQ(compiled->constants[1], 0.125);
}

TEST(CompiledFormula, IsOnlyThatOfTheVeryTree) {
  const auto is_compiled = [](const std::string& update) {
    return stencil::compiled_formula_of(
               test::model_of_text(
                   "axes = 2\ncells = [8, 8]\n[fields.u]\ninitial = 0\nboundary = \"reflect\"\n"
                   "[update]\nu = \"" +
                   update + "\"\n[stop]\nsweeps = 1\n"))
        .has_value();
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

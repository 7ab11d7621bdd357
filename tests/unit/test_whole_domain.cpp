// SPDX-License-Identifier: Apache-2.0
// The plain reference of problem files, against the values known of the built-in problems.

#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <numbers>
#include <string>

#include <gtest/gtest.h>

#include "problem/catalogue.hpp"
#include "program/noise.hpp"
#include "support/cells.hpp"
#include "support/models.hpp"
#include "support/whole_domain.hpp"

namespace halocline::test {
namespace {

using problem::Model;
using problem::WholeDomain;
using std::numbers::pi;

double sum_of(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

/// Sweeps, and expects these norms of some sweeps.
template <class Real>
void expect_norms(WholeDomain<Real>& domain, int sweeps, const std::map<int, double>& norms,
                  double error) {
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    domain.sweep();
    if (norms.contains(sweep)) {
      EXPECT_NEAR(domain.norm(), norms.at(sweep), error) << sweep;
    }
  }
}

// The values of docs/problems.md.
TEST(WholeDomain, HasTheKnownValuesOfLaplace) {
  const Model model = built_in("laplace", {64, 64});
  WholeDomain<double> domain(model);
  expect_norms(domain, 526, {{0, 0.940379538}, {100, 0.062640527}, {525, 0.012472773}}, 5e-10);
  EXPECT_NEAR(sum_of(domain.field(0)), 767.048512190739, 1e-9);
  EXPECT_EQ(problem::checksum_of(domain.field(0)), 0x3b97bf2af2c55464U);
}

TEST(WholeDomain, HasTheKnownValuesOfStar7) {
  const Model model = built_in("star7", {16, 12, 8});
  WholeDomain<double> domain(model);
  for (int sweep = 0; sweep < 5; ++sweep) domain.sweep();
  EXPECT_NEAR(sum_of(domain.field(0)), 764.566981014151, 1e-9);
  EXPECT_EQ(problem::checksum_of(domain.field(0)), 0xdee8e0b50a85dd37U);
}

TEST(WholeDomain, HasTheKnownNormsOfJacobi) {
  const Model model = built_in("jacobi", {254, 254});
  WholeDomain<float> domain(model);
  expect_norms(domain, 101, {{0, 3.992180}, {100, 0.110318}}, 5e-6);
}

TEST(WholeDomain, HasTheExactValuesOfHeat) {
  for (const Extents& cells : {Extents{1}, Extents{2}, Extents{40}, Extents{1000}, Extents{7, 5},
                               Extents{33, 18}, Extents{4, 3, 5}, Extents{17, 12, 9}})
    for (const int sweeps : {1, 10, 57}) {
      const Model model = built_in("heat", cells);
      WholeDomain<double> domain(model);
      for (int sweep = 0; sweep < sweeps; ++sweep) domain.sweep();
      double decay = 0;
      for (int axis = 0; axis < cells.axes(); ++axis)
        decay += std::pow(std::sin(pi / (2 * static_cast<double>(cells[axis] + 1))), 2);
      std::size_t i = 0;
      for_each_cell({{0, 0, 0}, model.cells}, [&](Int3 at) {
        double expected = std::pow(1 - 4 * 0.02 * decay, sweeps);
        for (int axis = 0; axis < cells.axes(); ++axis)
          expected *= std::sin(pi * static_cast<double>(at[axis] + 1) /
                               static_cast<double>(cells[axis] + 1));
        ASSERT_NEAR(domain.field(0)[i++], expected, 1e-14) << sweeps << " sweeps";
      });
    }
}

/// u of a file with one field after some sweeps.
std::vector<double> run(const std::string& text, int sweeps) {
  const Model model = problem::model_of(problem::read_text("p.toml", text), {});
  WholeDomain<double> domain(model);
  for (int sweep = 0; sweep < sweeps; ++sweep) domain.sweep();
  const auto field = domain.field(0);
  return {field.begin(), field.end()};
}

std::string one_field(const std::string& boundary, const std::string& update) {
  return "axes = 1\ncells = 4\nupper = 1\n[parameters]\ndt = 0.5\n[fields.u]\ninitial = \"x\"\n"
         "boundary = { \"x-\" = " +
         boundary + ", \"x+\" = \"reflect\" }\n[update]\nu = \"" + update +
         "\"\n[stop]\nsweeps = 1\n";
}

// x is 0.125, 0.375, 0.625, 0.875; u[-1] of the first cell is the first ghost, u[-2] the second.
TEST(WholeDomain, MakesGhostsAsTheirRulesSay) {
  const auto first = [](const std::string& boundary, const std::string& update, int sweeps = 1) {
    return run(one_field(boundary, update), sweeps).front();
  };
  EXPECT_EQ(first("\"reflect\"", "u[-1]"), 0.125);
  EXPECT_EQ(first("\"reflect\"", "u[-2]"), 0.375);
  EXPECT_EQ(first("{ outside = 7 }", "u[-1]"), 7);
  EXPECT_EQ(first("{ outside = \"x\" }", "u[-1]"), -0.125);
  EXPECT_EQ(first("{ outside = \"x\" }", "u[-2]"), -0.375);
  EXPECT_EQ(first("{ value = 3 }", "u[-1]"), 2 * 3 - 0.125);
  EXPECT_EQ(first("{ value = 3 }", "u[-2]"), 2 * 3 - 0.375);
  EXPECT_EQ(first("{ value = \"x + 1\" }", "u[-1]"), 2 * 1 - 0.125);
  EXPECT_EQ(first("{ derivative = 2 }", "u[-1]"), 0.125 + 2 * 0.25);
  EXPECT_EQ(first("{ derivative = 2 }", "u[-2]"), 0.375 + 2 * 0.75);
  EXPECT_EQ(first("{ mixed = { a = 2, b = 0, c = 3 } }", "u[-1]"), 3 - 0.125);
  EXPECT_EQ(first("{ mixed = { a = 0, b = 1, c = 3 } }", "u[-1]"), (3 + 4 * 0.125) / 4);
  // The second sweep is at t = dt.
  EXPECT_EQ(first("{ outside = \"1 + t\" }", "u[-1]"), 1);
  EXPECT_EQ(first("{ outside = \"1 + t\" }", "u[-1]", 2), 1.5);
  EXPECT_EQ(run(one_field("\"reflect\"", "u[1]"), 1).back(), 0.875);
}

// Corners: x is filled before y, over all held cells.
TEST(WholeDomain, FillsCornersFromEarlierGhosts) {
  const std::string text = R"toml(
axes = 2
cells = [2, 2]
[fields.u]
initial = "10*i + j + 1"
boundary = { x = { outside = 100 }, y = "reflect" }
[update]
u = "u[-1,-1] + 0*u[1,1]"
[stop]
sweeps = 1
)toml";
  const auto u = run(text, 1);
  EXPECT_EQ(u[0], 100);  // (0,0): the ghost (-1,-1) mirrors the ghost (-1,0)
  EXPECT_EQ(u[1], 1);    // (1,0): (0,-1) mirrors (0,0)
  EXPECT_EQ(u[2], 100);  // (0,1): (-1,0)
  EXPECT_EQ(u[3], 1);    // (1,1): (0,0)
}

TEST(WholeDomain, HandsLevelsOn) {
  const std::string text = R"toml(
axes = 1
cells = 3
[fields.u]
initial = "i"
boundary = "periodic"
[fields.u_old]
initial = 100
[coefficients.c]
value = "2 + i"
[update]
u = "u[1] + c[-1] - 0*u_old"
u_old = "u"
[stop]
sweeps = 2
)toml";
  const Model model = problem::model_of(problem::read_text("p.toml", text), {});
  WholeDomain<double> domain(model);
  domain.sweep();
  EXPECT_EQ(domain.field(0)[0], 1 + 4);  // c of the cell imaged, 2
  EXPECT_EQ(domain.field(1)[2], 2);
  domain.sweep();
  EXPECT_EQ(domain.field(1)[0], 5);
}

// Also where a later cell has a number.
TEST(WholeDomain, HasANormThatShowsWhatIsNoNumber) {
  for (const std::string kind : {"max", "l2"}) {
    const Model model =
        problem::model_of(problem::read_text("p.toml",
                                             "axes = 1\ncells = 3\n[fields.u]\ninitial = \"i\"\n"
                                             "[update]\nu = \"sqrt(i - 0.5)\"\n[stop]\nsweeps = 1\n"
                                             "norm = \"" +
                                                 kind + "\"\n"),
                          {});
    WholeDomain<double> domain(model);
    domain.sweep();
    EXPECT_TRUE(std::isnan(domain.norm())) << kind;
  }
}

}  // namespace
}  // namespace halocline::test

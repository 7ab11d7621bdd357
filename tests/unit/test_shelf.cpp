// SPDX-License-Identifier: Apache-2.0
// The built-in problem files against exact solutions, of their equations or of their differences,
// and laws of conservation.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "problem/catalogue.hpp"
#include "support/whole_domain.hpp"

namespace halocline::test {
namespace {

using problem::Choices;
using problem::Model;
using problem::WholeDomain;
using std::numbers::pi;

using Changes = std::vector<std::pair<std::string, std::string>>;

/// A problem with some of its text changed, in double precision.
Model shelf(const std::string& name, Choices choices = {}, const Changes& changes = {}) {
  std::string text = problem::find_problem(name).text;
  for (const auto& [old, now] : changes) {
    const std::size_t at = text.find(old);
    EXPECT_NE(at, text.npos) << old;
    if (at != text.npos) text.replace(at, old.size(), now);
  }
  choices.precision = Precision::f64;
  return problem::model_of(problem::read_text(name, text), choices);
}

class Domain {
 public:
  explicit Domain(Model model) : model_(std::move(model)), cells_(model_) {}

  void sweep(std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) cells_.sweep();
  }
  double at(std::int64_t x, std::int64_t y = 0, std::int64_t z = 0, std::size_t f = 0) const {
    const Int3& n = model_.cells;
    return cells_.field(f)[static_cast<std::size_t>(x + n.x * (y + n.y * z))];
  }
  double sum(std::size_t f = 0) const {
    double sum = 0;
    for (const double value : cells_.field(f)) sum += value;
    return sum;
  }
  /// The largest difference from `expected(x, y)`, of the centres of cells.
  double error(const std::function<double(double, double)>& expected, std::size_t f = 0) const {
    double largest = 0;
    for (std::int64_t j = 0; j < model_.cells.y; ++j)
      for (std::int64_t i = 0; i < model_.cells.x; ++i)
        largest = std::max(largest, std::abs(at(i, j, 0, f) - expected(place(0, i), place(1, j))));
    return largest;
  }
  const Model& model() const { return model_; }
  double parameter(const std::string& name) const {
    for (const problem::ModelParameter& one : model_.parameters)
      if (one.name == name) return one.value;
    ADD_FAILURE() << name;
    return 0;
  }

 private:
  double place(std::size_t axis, std::int64_t i) const {
    return model_.lower[axis] + (static_cast<double>(i) + 0.5) * model_.spacing[axis];
  }

  Model model_;
  WholeDomain<double> cells_;
};

double square(double value) { return value * value; }

TEST(Shelf, HeatOfAnInsulatedPlateGrowsByItsSource) {
  Domain plate(shelf("heat_source", {.cells = {24, 20}}));
  plate.sweep(1);
  const double in_a_sweep = plate.sum();  // it begins at zero
  EXPECT_GT(in_a_sweep, 0);
  plate.sweep(199);
  EXPECT_NEAR(plate.sum(), 200 * in_a_sweep, 1e-10 * plate.sum());
}

TEST(Shelf, HeatFlowsAsDifferencesOfACosineDo) {
  Domain plate(shelf("heat_source", {.cells = {32, 8}, .parameters = {{"power", 0}}},
                     {{"initial  = 0", "initial  = \"cos(pi*x)\""}}));
  plate.sweep(50);
  const double dx = plate.model().spacing[0], dt = *plate.model().dt;
  const double factor = std::pow(1 - dt * square(2 * std::sin(pi * dx / 2) / dx), 50);
  EXPECT_LT(plate.error([&](double x, double) { return factor * std::cos(pi * x); }), 1e-13);
}

/// The error after a sine went once around.
double error_of_advection(std::int64_t cells) {
  Domain domain(shelf("advection", {.cells = {cells}}, {{"exp(-200*(x - 0.5)^2)", "sin(2*pi*x)"}}));
  domain.sweep(domain.model().sweeps);
  return domain.error([](double x, double) { return std::sin(2 * pi * x); });
}

TEST(Shelf, AdvectionIsOfThirdOrder) {
  const double coarse = error_of_advection(20), fine = error_of_advection(40);
  EXPECT_NEAR(std::log2(coarse / fine), 3, 0.1);
  EXPECT_LT(fine, 2e-3);
}

TEST(Shelf, AdvectionByWholeCellsIsExact) {
  Domain domain(shelf("advection", {.cells = {50}, .parameters = {{"nu", 1}}}));
  const double before = domain.at(20);
  domain.sweep(7);
  EXPECT_EQ(domain.at(27), before);
}

/// How far a front that stands, -a tanh(a x/(2 nu)), is from where it was.
double error_of_burgers(std::int64_t cells) {
  Domain domain(
      shelf("burgers", {.cells = {cells}, .parameters = {{"nu", 0.1}}},
            {{"-sin(pi*x)", "-tanh(x/0.2)"}, {"\"periodic\"", "{ outside = \"-tanh(x/0.2)\" }"}}));
  domain.sweep(2 * domain.model().sweeps);
  return domain.error([](double x, double) { return -std::tanh(x / 0.2); });
}

TEST(Shelf, AFrontOfBurgersStandsUpToSecondOrder) {
  const double coarse = error_of_burgers(40), fine = error_of_burgers(80);
  EXPECT_LT(fine, 5e-3);
  EXPECT_NEAR(std::log2(coarse / fine), 2, 0.2);
}

TEST(Shelf, BurgersKeepsItsSum) {
  Domain domain(shelf("burgers", {.cells = {100}}, {{"-sin(pi*x)", "0.5 - sin(pi*x)"}}));
  domain.sweep(500);
  EXPECT_NEAR(domain.sum(), 50, 1e-11);
}

/// What a mode that was 1 twice becomes after n steps of a wave: square_of_step is (c dt)^2 times
/// the eigenvalue of -lap.
double wave_after(std::int64_t n, double square_of_step) {
  const double angle = std::acos(1 - square_of_step / 2);
  return std::cos(static_cast<double>(n) * angle) +
         (std::cos(angle) - 1) / std::sin(angle) * std::sin(static_cast<double>(n) * angle);
}

TEST(Shelf, AWaveWithoutSpongeKeepsTheFrequencyOfItsDifferences) {
  const Changes mode{{"exp(-400*((x - 0.4)^2 + (y - 0.5)^2))", "sin(pi*x)*sin(2*pi*y)"},
                     {"exp(-400*((x - 0.4)^2 + (y - 0.5)^2))", "sin(pi*x)*sin(2*pi*y)"}};
  Domain box(shelf("wave_sponge", {.cells = {20, 30}, .parameters = {{"strength", 0}}}, mode));
  box.sweep(100);
  const double dx = box.model().spacing[0], dy = box.model().spacing[1];
  const double value =
      wave_after(100, square(*box.model().dt) * (square(2 * std::sin(pi * dx / 2) / dx) +
                                                 square(2 * std::sin(pi * dy) / dy)));
  EXPECT_LT(box.error([&](double x, double y) {
    return value * std::sin(pi * x) * std::sin(2 * pi * y);
  }),
            1e-11);
}

TEST(Shelf, ASpongeTakesAWaveIn) {
  const auto left = [](double strength) {
    Domain box(shelf("wave_sponge", {.cells = {60, 60}, .parameters = {{"strength", strength}}}));
    box.sweep(200);
    double energy = 0;
    for (std::int64_t j = 0; j < 60; ++j)
      for (std::int64_t i = 0; i < 60; ++i) energy += square(box.at(i, j) - box.at(i, j, 0, 1));
    return energy;
  };
  EXPECT_LT(left(100), 0.02 * left(0));
}

TEST(Shelf, SoundHasTheFrequencyOfDifferencesOfEighthOrder) {
  const std::string start = "exp(-((x - 2000)^2 + (y - 400)^2)/(2*40^2))";
  const std::string mode = "cos(2*pi*x/4000)*cos(4*pi*y/3000)";
  Domain rock(shelf("acoustic", {.cells = {24, 20}, .parameters = {{"dt", 0.01}}},
                    {{start, mode},
                     {start, mode},
                     {"{ value = 0 }", "\"periodic\""},
                     {"select(y < 1000, 1500, select(y < 2000 + 0.1*x, 2500, fastest))", "2000"}}));
  rock.sweep(60);
  const auto eigenvalue = [](double radians, double spacing) {
    const double weights[] = {8.0 / 5, -1.0 / 5, 8.0 / 315, -1.0 / 560};
    double value = 205.0 / 72;
    for (int m = 1; m <= 4; ++m) value -= 2 * weights[m - 1] * std::cos(m * radians);
    return value / square(spacing);
  };
  const double dx = rock.model().spacing[0], dy = rock.model().spacing[1];
  const double value = wave_after(
      60, square(2000 * 0.01) * (eigenvalue(2 * pi / 24, dx) + eigenvalue(4 * pi / 20, dy)));
  EXPECT_LT(rock.error([&](double x, double y) {
    return value * std::cos(2 * pi * x / 4000) * std::cos(4 * pi * y / 3000);
  }),
            1e-11);
}

TEST(Shelf, GrayScottReactsAsItsEquationsSay) {
  Domain dish(shelf(
      "gray_scott", {.cells = {6, 5}},
      {{"select(abs(i - nx/2) < 10 and abs(j - ny/2) < 10, 0.5, 1)", "0.75"},
       {"select(abs(i - nx/2) < 10 and abs(j - ny/2) < 10, 0.25, 0) + 0.01*noise()", "0.25"}}));
  double u = 0.75, v = 0.25;
  for (int sweep = 0; sweep < 30; ++sweep) {
    const double reaction = u * v * v, old = u;
    u += -reaction + 0.035 * (1 - old);
    v += reaction - (0.035 + 0.06) * v;
  }
  dish.sweep(30);
  EXPECT_NEAR(dish.at(3, 2, 0, 0), u, 1e-13);
  EXPECT_NEAR(dish.at(0, 4, 0, 1), v, 1e-13);
}

TEST(Shelf, GrayScottSpreadsEachSpeciesByItsDiffusivity) {
  Domain dish(shelf("gray_scott", {.cells = {16, 3}, .parameters = {{"F", 0}, {"k", 0}}},
                    {{"select(abs(i - nx/2) < 10 and abs(j - ny/2) < 10, 0.5, 1)", "0"},
                     {"select(abs(i - nx/2) < 10 and abs(j - ny/2) < 10, 0.25, 0) + 0.01*noise()",
                      "cos(2*pi*i/nx)"}}));
  dish.sweep(20);
  const double factor = std::pow(1 - 0.08 * square(2 * std::sin(pi / 16)), 20);
  EXPECT_NEAR(dish.at(0, 1, 0, 1), factor, 1e-13);
}

double energy_of_phases(const Domain& domain, double stiffness) {
  double energy = 0;
  const Int3& n = domain.model().cells;
  for (std::int64_t j = 0; j < n.y; ++j)
    for (std::int64_t i = 0; i < n.x; ++i) {
      const double u = domain.at(i, j);
      const double right = domain.at((i + 1) % n.x, j), above = domain.at(i, (j + 1) % n.y);
      energy += square(square(u) - 1) / 4 +
                stiffness / 2 *
                    ((i + 1 < n.x ? square(right - u) : 0) + (j + 1 < n.y ? square(above - u) : 0));
    }
  return energy;
}

TEST(Shelf, AllenCahnLosesEnergyAndComesToItsPhases) {
  Domain domain(shelf("allen_cahn", {.cells = {20, 20}},
                      {{"0.2*(noise() - 0.5)", "0.5*cos(pi*(i + 0.5)/nx)"}}));
  double energy = energy_of_phases(domain, square(1.5));
  for (int step = 0; step < 10; ++step) {
    domain.sweep(20);
    const double now = energy_of_phases(domain, square(1.5));
    EXPECT_LT(now, energy);
    energy = now;
  }
  EXPECT_NEAR(domain.at(0, 0), 1, 0.01);
  EXPECT_NEAR(domain.at(19, 5), -1, 0.01);
}

TEST(Shelf, CahnHilliardKeepsItsMassAndGrowsTheModesThatItsEquationSays) {
  Domain still(shelf("cahn_hilliard", {.cells = {24, 20}}));
  const double mass = still.sum();
  still.sweep(300);
  EXPECT_NEAR(still.sum(), mass, 1e-11);
  // A wave so small that its cube is nothing.
  Domain wave(
      shelf("cahn_hilliard", {.cells = {16, 4}}, {{"0.1*(noise() - 0.5)", "1e-9*cos(2*pi*i/nx)"}}));
  wave.sweep(100);
  const double k2 = square(2 * std::sin(pi / 16));
  const double factor = std::pow(1 + 0.01 * k2 * (1 - 0.5 * k2), 100);
  EXPECT_GT(factor, 1);
  EXPECT_NEAR(wave.at(0, 2), 1e-9 * factor, 1e-18);
}

TEST(Shelf, AnisotropicDiffusionHasThreeCoefficients) {
  const Changes constant{{"(along*y^2 + across*x^2 + 1e-30*along)/(x^2 + y^2 + 1e-30)", "0.7"},
                         {"(across - along)*x*y/(x^2 + y^2 + 1e-30)", "0.2"},
                         {"(along*x^2 + across*y^2 + 1e-30*along)/(x^2 + y^2 + 1e-30)", "0.4"},
                         {"exp(-100*((x - 0.5)^2 + y^2))", "cos(2*pi*i/nx + 2*pi*j/ny)"},
                         {"\"reflect\"", "\"periodic\""}};
  Domain wood(shelf("anisotropic", {.cells = {16, 16}}, constant));
  wood.sweep(30);
  const double dx = wood.model().spacing[0], angle = 2 * pi / 16;
  const double second = square(2 * std::sin(angle / 2) / dx), mixed = square(std::sin(angle) / dx);
  const double factor =
      std::pow(1 - *wood.model().dt * (0.7 * second + 2 * 0.2 * mixed + 0.4 * second), 30);
  EXPECT_NEAR(wood.at(0, 0), factor, 1e-13);
}

TEST(Shelf, AnisotropicDiffusionHasNoDirectionInTheMiddle) {
  Domain wood(shelf("anisotropic", {.cells = {5, 5}}));
  wood.sweep(3);
  EXPECT_TRUE(std::isfinite(wood.at(2, 2))) << wood.at(2, 2);
}

TEST(Shelf, FitzHughNagumoIsExcitedAsItsEquationsSay) {
  Domain tissue(shelf("fitzhugh_nagumo", {.cells = {4, 4}},
                      {{"select(i < nx/2 and j < ny/2, 2, -1.2)", "0.5"},
                       {"select(j < ny/2 - 8, -0.6, 0.6)", "-0.25"}}));
  double u = 0.5, v = -0.25;
  for (int sweep = 0; sweep < 100; ++sweep) {
    const double old = u;
    u += 0.1 * (u - u * u * u / 3 - v);
    v += 0.1 * 0.08 * (old + 0.7 - 0.5 * v);
  }
  tissue.sweep(100);
  EXPECT_NEAR(tissue.at(1, 2), u, 1e-12);
  EXPECT_NEAR(tissue.at(3, 0, 0, 1), v, 1e-12);
}

TEST(Shelf, ShallowWaterKeepsItsVolumeAndTheFrequencyOfItsDifferences) {
  Domain lake(shelf("shallow_water", {.cells = {20, 6}},
                    {{"exp(-((x - 400)^2 + (y - 500)^2)/(2*50^2))", "1 + cos(2*pi*i/nx)"}}));
  lake.sweep(80);
  EXPECT_NEAR(lake.sum(), 120, 1e-10);
  // Velocities begin at zero, so the first sweep leaves the height as it is: cos((n - 1/2) angle).
  const double dx = lake.model().spacing[0], dt = *lake.model().dt;
  const double step = 9.81 * 10 * square(dt * std::sin(2 * pi / 20) / dx);
  const double angle = std::acos(1 - step / 2);
  EXPECT_NEAR(lake.at(0, 3), 1 + std::cos(79.5 * angle) / std::cos(angle / 2), 1e-11);
}

TEST(Shelf, PoissonConvergesAsTheModeOfItsSource) {
  Domain square_of_15(shelf("poisson", {.cells = {15, 15}}));
  square_of_15.sweep(40);
  const double dx = 1.0 / 16, rate = std::cos(pi * dx);
  const double solution = square(dx) / (4 * (1 - rate));  // times the source's mode
  EXPECT_NEAR(square_of_15.at(7, 7), solution * (1 - std::pow(rate, 40)), 1e-15);
}

TEST(Shelf, ASmootherDampsWavesByTheirProductOfCosines) {
  Domain box(shelf("smoother27", {.cells = {12, 8, 10}},
                   {{"noise()", "cos(2*pi*i/nx)*cos(4*pi*j/ny)*cos(6*pi*k/nz)"}}));
  box.sweep(3);
  const double factor = std::pow(
      square(std::cos(pi / 12)) * square(std::cos(2 * pi / 8)) * square(std::cos(3 * pi / 10)), 3);
  EXPECT_NEAR(box.at(0, 0, 0), factor, 1e-15);
  EXPECT_NEAR(box.at(6, 4, 0), -factor, 1e-15);
}

/// The factor by which a sweep of a weighted average multiplies cos(kx i) cos(ky j) cos(kz k), from
/// the weights of its cells by their offsets.
double factor_of(int radius, const std::array<double, 3>& waves,
                 const std::function<double(std::array<int, 3>)>& weight) {
  double sum = 0;
  for (int x = -radius; x <= radius; ++x)
    for (int y = -radius; y <= radius; ++y)
      for (int z = -radius; z <= radius; ++z)
        sum += weight({std::abs(x), std::abs(y), std::abs(z)}) * std::cos(x * waves[0]) *
               std::cos(y * waves[1]) * std::cos(z * waves[2]);
  return sum;
}

TEST(Shelf, StarsAndBoxesWeighEachCellByItsDistances) {
  const auto in_stars = [](const std::vector<double>& weights) {
    return [weights](std::array<int, 3> at) {
      std::sort(at.begin(), at.end());
      return at[1] > 0 ? 0 : weights[static_cast<std::size_t>(at[2])];
    };
  };
  const auto in_boxes = [](const std::map<std::array<int, 3>, double>& weights) {
    return [weights](std::array<int, 3> at) {
      std::sort(at.begin(), at.end());
      return weights.at(at);
    };
  };
  struct Problem {
    const char* name;
    int radius;
    std::function<double(std::array<int, 3>)> weight;
  };
  const Problem problems[] = {
      {"star13", 2, in_stars({0.4, 0.08, 0.02})},
      {"star25", 4, in_stars({0.4, 0.04, 0.03, 0.02, 0.01})},
      {"box27", 1,
       in_boxes({{{0, 0, 0}, 0.2}, {{0, 0, 1}, 0.06}, {{0, 1, 1}, 0.025}, {{1, 1, 1}, 0.0175}})},
      {"box125", 2,
       in_boxes({{{0, 0, 0}, 0.1},
                 {{0, 0, 1}, 0.02},
                 {{0, 1, 1}, 0.015},
                 {{1, 1, 1}, 0.01},
                 {{0, 0, 2}, 0.01},
                 {{0, 1, 2}, 0.006},
                 {{1, 1, 2}, 0.005},
                 {{0, 2, 2}, 0.004},
                 {{1, 2, 2}, 0.004},
                 {{2, 2, 2}, 0.0065}})}};
  const std::array<double, 3> waves{2 * pi / 12, 4 * pi / 9, 6 * pi / 10};
  for (const Problem& problem : problems) {
    SCOPED_TRACE(problem.name);
    EXPECT_NEAR(factor_of(problem.radius, {}, problem.weight), 1, 1e-14);
    Domain cells(shelf(problem.name, {.cells = {12, 9, 10}},
                       {{"noise()", "cos(2*pi*i/nx)*cos(4*pi*j/ny)*cos(6*pi*k/nz)"}}));
    cells.sweep(2);
    const double factor = factor_of(problem.radius, waves, problem.weight);
    EXPECT_NEAR(cells.at(0, 0, 0), factor * factor, 1e-15);
    EXPECT_NEAR(cells.at(6, 0, 5), factor * factor, 1e-15);  // cos(pi) cos(3 pi)
  }
}

TEST(Shelf, AGliderOfLifeMovesOneCellDownwardsAndToTheRight) {
  const std::string glider =
      "select((i == 2 and j == 1) or (i == 3 and j == 2) or (j == 3 and i >= 1 and i <= 3), 1, 0)";
  Domain life(shelf("life", {.cells = {12, 12}}, {{"select(noise() < 0.3, 1, 0)", glider}}));
  life.sweep(4 * 12);  // once around, in 12 times 4 sweeps
  for (const auto& [i, j] : {std::pair(2, 1), {3, 2}, {1, 3}, {2, 3}, {3, 3}})
    EXPECT_EQ(life.at(i, j), 1);
  EXPECT_EQ(life.sum(), 5);
  life.sweep(4);
  EXPECT_EQ(life.at(3, 2), 1);
  EXPECT_EQ(life.at(4, 4), 1);
}

}  // namespace
}  // namespace halocline::test

// SPDX-License-Identifier: Apache-2.0
// Passes over memory by several sweeps: the bits, norms and ends of sweeps one by one.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/solver.hpp>

#include "grid/text.hpp"
#include "solver/trial_of_passes.hpp"
#include "stencil/cpu/tile_walk.hpp"
#include "support/caught.hpp"
#include "support/exchange_cases.hpp"
#include "support/memories.hpp"
#include "support/random.hpp"
#include "support/ranks.hpp"
#include "support/set_variable.hpp"
#include "support/small_solve.hpp"
#include "support/turns.hpp"

namespace halocline::test {
namespace {

// The spacing is given, and `far` reads no place along its periodic axis: kernels have the spacing
// and the cells of such an axis in their text, and grids of all sizes are to share kernels.

// Reaches of two and one, a coefficient with farther neighbours, the place, the time, and sides of
// two kinds.
constexpr const char* far_text = R"toml(
axes = 2
cells = [40, 40]
[parameters]
dx = 0.025
dy = 0.025
dt = 0.01
[fields.u]
initial = "noise()"
boundary = { x = "periodic", y = { outside = 0.25 } }
[coefficients]
c = { value = "0.1 + 0.05*sin(20*x)*y" }
[update]
u = "0.4*u + c[1,0]*(u[-2,0] + u[1,0]) + c[0,-2]*(u[0,-1] + u[0,2]) + 0.01*t*y"
[stop]
sweeps = 40
norm = "max"
)toml";

// A field that follows another, read at the cell alone, and a coefficient.
constexpr const char* wave_text = R"toml(
axes = 2
cells = [40, 40]
[parameters]
dx = 0.025
dy = 0.025
[fields.u]
initial = "noise()"
boundary = { outside = 0 }
[fields.u_old]
initial = "noise()"
[coefficients]
c = { value = "0.1 + 0.3*x*y/(1 + x*y)" }
[update]
u = "2*u - u_old + c*(u[-1,0] + u[1,0] + u[0,-1] + u[0,1] - 4*u)"
u_old = "u"
[stop]
sweeps = 40
norm = "max"
)toml";

// Sides whose ghosts change, of every kind: with the place, with the time, and of a field that
// another follows.
constexpr const char* sides_text = R"toml(
axes = 2
cells = [40, 40]
[parameters]
dx = 0.025
dy = 0.025
dt = 0.01
[fields.u]
initial = "noise()"
[fields.u.boundary]
"x-" = { value = "0.3 + sin(7*y)" }
"x+" = "reflect"
"y-" = { derivative = "0.1*cos(t) + x" }
"y+" = { mixed = { a = 1, b = 0.5, c = "0.2 + x" } }
[fields.u_old]
initial = "noise()"
[update]
u = "1.2*u - 0.2*u_old + 0.1*(u[-2,1] + u[1,0] + u[0,-2] + u[1,2] - 4*u)"
u_old = "u"
[stop]
sweeps = 40
norm = "max"
)toml";

// Periodic along x, and with ghosts far apart in time.
constexpr const char* tide_text = R"toml(
axes = 2
cells = [40, 40]
[parameters]
dx = 0.025
dy = 0.025
dt = 0.01
[fields.u]
initial = "noise()"
boundary = { x = "periodic", "y-" = { outside = "sin(t)*x + y" }, "y+" = { derivative = 0.2 } }
[update]
u = "0.5*u + 0.1*(u[-1,0] + u[1,0] + u[0,-1] + u[1,1])"
[stop]
sweeps = 40
norm = "max"
)toml";

// In three axes: the same, of reaches one and two, at the cell's rows and columns and off them.

constexpr const char* solid_text = R"toml(
axes = 3
cells = [40, 40, 40]
[parameters]
dx = 0.025
dy = 0.025
dz = 0.025
dt = 0.01
[fields.u]
initial = "noise()"
[fields.u.boundary]
"x-" = { value = "0.3 + sin(7*y)*z" }
"x+" = "reflect"
"y-" = { derivative = "0.1*cos(t) + x" }
"y+" = { mixed = { a = 1, b = 0.5, c = "0.2 + x*z" } }
"z-" = { value = "sin(t)*x + y" }
"z+" = { derivative = 0.2 }
[fields.u_old]
initial = "noise()"
[update]
u = "1.2*u - 0.2*u_old + 0.1*(u[-2,0,0] + u[1,0,0] + u[0,-1,0] + u[0,2,0] + u[0,0,-1] + u[1,0,2] - 6*u)"
u_old = "u"
[stop]
sweeps = 40
norm = "max"
)toml";

// Cells off along y and z, at sides of y that change and at sides of z that do.
constexpr const char* off_y_text = R"toml(
axes = 3
cells = [40, 40, 40]
[parameters]
dx = 0.025
dy = 0.025
dz = 0.025
dt = 0.01
[fields.u]
initial = "noise()"
[fields.u.boundary]
x = "periodic"
"y-" = { derivative = "0.1*cos(t) + z" }
"y+" = { mixed = { a = 1, b = 0.5, c = "0.2 + z" } }
z = { outside = 0.25 }
[update]
u = "0.5*u + 0.1*(u[-1,1,1] + u[1,-1,0] + u[1,1,-1] + u[0,-1,1])"
[stop]
sweeps = 40
norm = "max"
)toml";

constexpr const char* off_z_text = R"toml(
axes = 3
cells = [40, 40, 40]
[parameters]
dx = 0.025
dy = 0.025
dz = 0.025
dt = 0.01
[fields.u]
initial = "noise()"
[fields.u.boundary]
x = "reflect"
y = { outside = 0.3 }
"z-" = { value = "cos(t)*y" }
"z+" = { derivative = "x*y" }
[update]
u = "0.5*u + 0.1*(u[-1,1,1] + u[1,-1,0] + u[1,1,-1] + u[0,-1,1])"
[stop]
sweeps = 40
norm = "max"
)toml";

constexpr const char* ground_text = R"toml(
axes = 3
cells = [40, 40, 40]
[parameters]
dx = 0.025
dy = 0.025
dz = 0.025
dt = 0.01
[fields.u]
initial = "noise()"
boundary = { x = { outside = 0 }, y = "periodic", z = { outside = 0.25 } }
[coefficients]
c = { value = "0.1 + 0.05*sin(20*x)*z" }
[update]
u = "0.4*u + c[1,0,0]*(u[-1,0,0] + u[1,0,0]) + c[0,-1,2]*(u[0,-1,0] + u[0,1,0]) + c*u[0,0,-2] + 0.01*t*z"
[stop]
sweeps = 40
norm = "max"
)toml";

constexpr const char* pair_text = R"toml(
axes = 3
cells = [40, 40, 40]
[parameters]
dx = 0.025
dy = 0.025
dz = 0.025
[fields.u]
initial = "noise()"
boundary = { x = "periodic", y = { outside = 0.1 }, z = { outside = 0 } }
[fields.v]
initial = "noise()"
boundary = { x = "periodic", y = "reflect", z = "reflect" }
[update]
u = "0.4*u + 0.1*(u[-1,0,0] + u[1,0,0] + u[0,-1,0] + u[0,1,0] + u[0,0,1] + u[0,0,-1]) - 0.01*u*v*v"
v = "0.4*v + 0.1*(v[-1,0,0] + v[1,0,0] + v[0,-1,0] + v[0,1,0] + v[0,0,1] + v[0,0,-1]) + 0.01*u*v*v"
[stop]
sweeps = 40
norm = "max"
)toml";

// No neighbours at all.
constexpr const char* alone_text = R"toml(
axes = 2
cells = [40, 40]
[fields.u]
initial = "noise()"
boundary = "periodic"
[update]
u = "0.5*u + 0.1"
[stop]
sweeps = 40
norm = "max"
)toml";

struct Course {
  const char* name;
  const char* problem;  ///< a name, or a text
  std::int64_t sweeps_per_pass;
  Precision precision = Precision::f32;
  int axes = 2;

  /// So many cells along the axes that there are, and what parts of `ranks` ranks need.
  Extents cells(std::int64_t x, std::int64_t y, std::int64_t z) const {
    const std::int64_t parts = least() * ranks();
    if (axes == 1) return {parts + x};
    return axes == 2 ? Extents{parts + x, parts + y} : Extents{parts + x, parts + y, parts + z};
  }
  std::int64_t least() const { return 2 * sweeps_per_pass; }

  SolveOptions options(const Extents& cells, std::int64_t sweeps) const {
    const std::string text = problem;
    SolveOptions made = small("laplace", cells, sweeps);
    if (text.find('\n') == std::string::npos)
      made.problem = text;
    else
      made.problem = Problem::from_text(text);
    made.precision = precision;
    made.norm = Norm::max;
    return made;
  }
};

SolveResult solved_one_by_one(SolveOptions options) {
  options.backend = "cpu";
  options.transport = options.schedule = "auto";
  options.graph = SolveOptions::Graphs::automatic;
  options.sweeps_per_pass = 1;
  return solve(world(), options);
}

std::vector<std::pair<std::int64_t, std::vector<double>>> rows_of(const SolveResult& result) {
  std::vector<std::pair<std::int64_t, std::vector<double>>> rows;
  if (result.series)
    for (const auto& row : result.series->rows) rows.emplace_back(row.sweeps, row.values);
  return rows;
}

/// Expects of a run by passes what one by single sweeps on the host gives.
SolveResult expect_the_same(const SolveOptions& options, const Communicator& on = world()) {
  const SolveResult expected = solved_one_by_one(options), result = solve(on, options);
  EXPECT_EQ(result.sweeps, expected.sweeps);
  EXPECT_EQ(result.converged, expected.converged);
  EXPECT_EQ(result.norm_history, expected.norm_history);
  EXPECT_EQ(rows_of(result), rows_of(expected));
  for (std::size_t f = 0; f < expected.fields.size(); ++f)
    EXPECT_EQ(result.fields[f].checksum, expected.fields[f].checksum) << expected.fields[f].name;
  return result;
}

/// Process grids of which no part is thinner than `least` cells.
std::vector<Extents> process_grids_for(const Extents& cells, std::int64_t least) {
  std::vector<Extents> all;
  const auto fits = [&](int axis, std::int64_t parts) { return cells[axis] / parts >= least; };
  if (cells.axes() == 1) return fits(0, ranks()) ? std::vector{Extents{ranks()}} : all;
  for (std::int64_t x = 1; x <= ranks(); ++x)
    for (std::int64_t y = 1; x * y <= ranks(); ++y) {
      const std::int64_t z = ranks() / (x * y);
      if (x * y * z != ranks() || (cells.axes() == 2 && z > 1) || !fits(0, x) || !fits(1, y))
        continue;
      if (cells.axes() == 2)
        all.push_back({x, y});
      else if (fits(2, z))
        all.push_back({x, y, z});
    }
  return all;
}

class Passes : public testing::TestWithParam<Course> {
 protected:
  void SetUp() override { NEED_GPU(); }
};

const std::vector<Course> courses{{"laplace", "laplace", 8},
                                  {"wave", wave_text, 3},
                                  {"sides", sides_text, 2},
                                  {"tide", tide_text, 4, Precision::f64},
                                  {"reactions", "gray_scott", 2},
                                  {"far", far_text, 2},
                                  {"heat", "heat", 3, Precision::f64},
                                  {"star", "laplace", 4, Precision::f32, 3},
                                  {"solid", solid_text, 2, Precision::f64, 3},
                                  {"off_y", off_y_text, 2, Precision::f32, 3},
                                  {"off_z", off_z_text, 3, Precision::f64, 3},
                                  {"ground", ground_text, 2, Precision::f32, 3},
                                  {"pair", pair_text, 2, Precision::f32, 3},
                                  {"far_star", "star13", 2, Precision::f64, 3}};

INSTANTIATE_TEST_SUITE_P(Problems, Passes, testing::ValuesIn(those_with_turn(courses)),
                         [](const auto& of) { return std::string(of.param.name); });

// Columns that fill strips and vectors or do not, intervals of norms that do and do not divide
// passes, numbers of sweeps that leave some over, all in graphs or not.
TEST_P(Passes, HaveTheBitsOfSingleSweeps) {
  const Course& course = GetParam();
  const bool has_nccl =
      ranks() > 1 && !not_testable(transport::find_transport("nccl"), Memory::device);
  Random random(1);
  for (int trial = 0; trial < (course.axes == 2 ? 5 : 2); ++trial) {
    const bool is_flat = course.axes == 2;
    // In 3-D the domain may end between lanes or not.
    const std::int64_t lane_cells = is_flat || trial % 2 == 0 ? 1 : 4;
    const Extents cells =
        course.cells(random.between(0, is_flat ? 260 : 150) / lane_cells * lane_cells,
                     random.between(is_flat ? 0 : 25, 60), random.between(0, 8));
    SolveOptions options = course.options(cells, random.between(1, is_flat ? 120 : 12));
    options.backend = "cuda";
    options.sweeps_per_pass = course.sweeps_per_pass;
    options.schedule = random.once_in(2) ? "sequential" : "overlap";
    options.graph = random.once_in(2) ? SolveOptions::Graphs::off : SolveOptions::Graphs::automatic;
    options.norm_every = random.once_in(3) ? 1 : random.between(1, 20);
    // Some exchanges are for two passes.
    auto grids = process_grids_for(cells, 2 * course.least());
    if (grids.empty() || random.once_in(2))
      grids = process_grids_for(cells, course.least());
    else
      options.halo_depth = 2 * course.sweeps_per_pass;
    options.process_grid = grids[static_cast<std::size_t>(
        random.between(0, static_cast<std::int64_t>(grids.size()) - 1))];
    if (ranks() > 1) options.transport = random.once_in(2) ? "peer" : "staged";
    const bool is_between_nodes = has_nccl && random.once_in(3);
    if (is_between_nodes) options.transport = "nccl";
    SCOPED_TRACE(fmt::format("cells {}, {} sweeps, norm every {}, process grid {}, depth {}, {} {}",
                             grid::text_of(cells), *options.sweeps, *options.norm_every,
                             grid::text_of(options.process_grid), options.halo_depth,
                             options.schedule, options.transport));
    // NaN in halos that no exchange has filled and between rows, in each second run.
    const SetVariable check("HALOCLINE_CHECK_HALOS", trial % 2 == 0 ? "0" : "1");
    const SolveResult result = expect_the_same(
        options, is_between_nodes
                     ? communicator_with({.wait_limit = wait_limit, .ranks_per_node = 1})
                     : world());
    if (options.transport != "staged" && *options.sweeps > course.sweeps_per_pass) {
      EXPECT_GT(result.sweeps_in_passes, 0);
    }
    if (!all_well()) return;
  }
}

// Each sweep of a pass is the last one once.
void expect_stops_after_any_sweep(const Course& course, const std::string& backend) {
  SolveOptions options = course.options(course.cells(30, 11, 3), course.axes == 3 ? 30 : 60);
  options.backend = backend;
  options.sweeps_per_pass = course.sweeps_per_pass;
  options.tolerance = 0;
  const auto history = solved_one_by_one(options).norm_history;
  for (std::int64_t sweep = 20; sweep < 21 + course.sweeps_per_pass; ++sweep) {
    options.tolerance = history[static_cast<std::size_t>(sweep)].second;
    SCOPED_TRACE(fmt::format("a norm of {}", *options.tolerance));
    expect_the_same(options);
    if (!all_well()) return;
  }
}

TEST_P(Passes, StopAfterAnySweep) { expect_stops_after_any_sweep(GetParam(), "cuda"); }

// Spot checks repeat as many sweeps as a pass has. They pause at the end of a batch, too.
TEST(PassesOfAll, AreCheckedWhole) {
  NEED_GPU();
  SolveOptions options = Course{"", "laplace", 8}.options({130, 120}, 203);
  options.backend = "cuda";
  if (ranks() > 1) options.transport = "peer";
  options.sweeps_per_pass = 8;
  options.verify_every = 40;
  const SolveResult result = solve(world(), options);
  EXPECT_EQ(result.sweeps_in_passes, 200);
  ASSERT_TRUE(result.spot_checks.has_value());
  EXPECT_EQ(result.spot_checks->sweeps, 40);
  EXPECT_GT(result.spot_checks->cells, 0);
  EXPECT_EQ(result.spot_checks->wrong, "");
}

// The first run compiles the kernels, unless they are at hand, the second one finds them. Fields
// move to deeper halos on several ranks, and to more levels where a field follows another. Files
// and checks are due within all parts of the run.
void expect_tried_during_a_run(const Course& course, const std::string& backend) {
  const std::int64_t least = 32;
  SolveOptions options = course.options({least * ranks() + 30, least * ranks() + 11}, 150);
  options.backend = backend;
  if (ranks() > 1 && backend == "cuda") options.transport = "peer";
  options.sweeps_per_pass = SolveOptions::automatic_sweeps_per_pass;
  options.tuning_seconds = 1e-4;
  options.norm_every = 7;
  options.tolerance = 0;
  options.verify_every = 40;
  solver::TrialRules& rules = solver::TrialOfPasses::rules;
  const solver::TrialRules before =
      std::exchange(rules, {.worth_a_trial = 0, .before_compiling = 0, .worth_compiling = 0});
  options.sums = {solve(world(), options).fields[0].name};
  options.series_every = 100;
  options.sweeps = 330;
  for (const bool passes : {true, false}) {
    SCOPED_TRACE(passes);
    rules.prefers_passes =
        passes ? [](double, double) { return true; } : [](double, double) { return false; };
    const SolveResult result = expect_the_same(options);
    const auto& tried = result.choice.tried;
    ASSERT_GE(tried.size(), 2u) << testing::PrintToString(result.notes);
    EXPECT_EQ(tried[tried.size() - 2].sweeps_per_pass, 1);
    EXPECT_GT(tried.back().sweeps_per_pass, 1);
    EXPECT_EQ(result.sweeps_per_pass, passes ? tried.back().sweeps_per_pass : 1);
    EXPECT_EQ(result.choice.seconds_per_sweep,
              tried[tried.size() - (passes ? 1 : 2)].seconds_per_sweep);
    EXPECT_GT(result.sweeps_in_passes, 0);
    EXPECT_EQ(result.spot_checks->wrong, "");
    EXPECT_GT(result.spot_checks->cells, 0);
  }
  rules = before;
}

bool has_trial(const std::string& name) {
  return name == "laplace" || name == "wave" || name == "tide";
}

TEST_P(Passes, AreTriedDuringARun) {
  if (!has_trial(GetParam().name)) GTEST_SKIP() << "as the others";
  expect_tried_during_a_run(GetParam(), "cuda");
}

TEST(PassesOfAll, AreNotedWhereTheyEndEarly) {
  NEED_GPU();
  SolveOptions options = Course{"", "laplace", 8}.options({130, 120}, 50);
  options.backend = "cuda";
  if (ranks() > 1) options.transport = "peer";
  options.sweeps_per_pass = 8;
  options.sums = {"u"};
  options.series_every = 12;
  options.verify_every = 16;
  const auto is_noted = testing::Contains(testing::HasSubstr("ends passes over memory early"));
  const SolveResult result = expect_the_same(options);
  EXPECT_THAT(result.notes, testing::Contains(testing::HasSubstr(
                                "a row of the series after every 12 sweeps ends passes")));
  options.series_every = 24;
  EXPECT_THAT(solve(world(), options).notes, testing::Not(is_noted));
}

TEST(PassesOfAll, KnowPlacesBeyondThePeriodicSide) {
  NEED_GPU();
  constexpr const char* text = R"toml(
axes = 2
cells = [40, 40]
[fields.u]
initial = "noise()"
boundary = "periodic"
[update]
u = "0.5*u + 0.2*(u[-1,0] + u[0,1]) + 0.001*x"
[stop]
sweeps = 11
)toml";
  SolveOptions options = Course{"", text, 2}.options({70, 40}, 11);
  options.backend = "cuda";
  if (ranks() > 1) options.transport = "peer";
  options.sweeps_per_pass = 2;
  EXPECT_GT(expect_the_same(options).sweeps_in_passes, 0);
}

TEST(PassesOfAll, AreRefusedWithTheReason) {
  NEED_GPU();
  const auto refused = [](const char* problem, const Extents& cells) {
    SolveOptions options = Course{"", problem, 4}.options(cells, 10);
    options.backend = "cuda";
    options.sweeps_per_pass = 4;
    return caught([&] { solve(world(), options); });
  };
  EXPECT_THAT(refused("heat", {320}), says(ErrorKind::unavailable, "the grid has one axis"));
  std::string text = off_z_text;
  text.replace(text.find("{ outside = 0.3 }"), 17, R"("reflect")");
  EXPECT_THAT(refused(text.c_str(), {32, 32, 32}),
              says(ErrorKind::unavailable, "sides of field 'u' of y and of z change"));
}

class HostPasses : public testing::TestWithParam<Course> {
 protected:
  void TearDown() override { stencil::cpu::TileWalk::most_bytes = 0; }
};

INSTANTIATE_TEST_SUITE_P(Problems, HostPasses, testing::ValuesIn(those_with_turn([] {
                           std::vector<Course> all = courses;
                           all.push_back({"alone", alone_text, 4});
                           all.push_back({"line", "heat", 5, Precision::f64, 1});
                           all.push_back({"far_line", "advection", 7, Precision::f32, 1});
                           return all;
                         }())),
                         [](const auto& of) { return std::string(of.param.name); });

// Tiles as wide as the part or as narrow as they may be, rows that fill vectors or do not, threads,
// vectors of each width, and all that the same test of GPUs varies.
TEST_P(HostPasses, HaveTheBitsOfSingleSweeps) {
  const Course& course = GetParam();
  const std::vector<std::string> levels = stencil::simd_levels();
  Random random(2);
  for (int trial = 0; trial < (course.axes == 3 ? 3 : 6); ++trial) {
    const bool is_large = course.axes == 2 && trial == 0;  // enough for threads
    const Extents cells =
        course.cells(random.between(0, 150),
                     random.between(is_large ? 250 : 0, is_large ? 260 : 60), random.between(0, 8));
    SolveOptions options = course.options(cells, random.between(1, is_large ? 25 : 60));
    options.backend = "cpu";
    options.sweeps_per_pass = random.between(2, course.sweeps_per_pass);
    options.schedule = random.once_in(2) ? "sequential" : "overlap";
    options.threads = static_cast<int>(random.between(1, 3));
    options.simd = levels[static_cast<std::size_t>(
        random.between(0, static_cast<std::int64_t>(levels.size()) - 1))];
    options.norm_every = random.once_in(3) ? 1 : random.between(1, 20);
    stencil::cpu::TileWalk::most_bytes = random.once_in(3) ? 0 : random.between(1, 200'000);
    auto grids = process_grids_for(cells, 2 * course.least());
    if (grids.empty() || random.once_in(2))
      grids = process_grids_for(cells, course.least());
    else
      options.halo_depth = 2 * course.sweeps_per_pass;
    options.process_grid = grids[static_cast<std::size_t>(
        random.between(0, static_cast<std::int64_t>(grids.size()) - 1))];
    if (ranks() > 1) options.transport = random.once_in(2) ? "shared" : "mpi";
    SCOPED_TRACE(fmt::format(
        "cells {}, {} sweeps by {}, norm every {}, process grid {}, depth {}, {} {}, {} threads, "
        "{}, "
        "tiles of {} bytes",
        grid::text_of(cells), *options.sweeps, options.sweeps_per_pass, *options.norm_every,
        grid::text_of(options.process_grid), options.halo_depth, options.schedule,
        options.transport, options.threads, options.simd, stencil::cpu::TileWalk::most_bytes));
    const SetVariable check("HALOCLINE_CHECK_HALOS", trial % 2 == 0 ? "0" : "1");
    const SolveResult result = expect_the_same(options);
    if (*options.sweeps > 2 * options.sweeps_per_pass) {
      EXPECT_GT(result.sweeps_in_passes, 0);
    }
    if (!all_well()) return;
  }
}

TEST_P(HostPasses, StopAfterAnySweep) { expect_stops_after_any_sweep(GetParam(), "cpu"); }

TEST_P(HostPasses, AreTriedDuringARun) {
  if (!has_trial(GetParam().name)) GTEST_SKIP() << "as the others";
  expect_tried_during_a_run(GetParam(), "cpu");
}

// Tiles add up squares in an order of their own.
TEST(HostPassesOfAll, HaveL2NormsWithinRounding) {
  SolveOptions options = Course{"", "laplace", 8}.options({150, 130}, 40);
  options.backend = "cpu";
  options.norm = Norm::l2;
  options.sweeps_per_pass = 1;
  const SolveResult expected = solve(world(), options);
  options.sweeps_per_pass = 8;
  stencil::cpu::TileWalk::most_bytes = 50'000;
  const SolveResult result = solve(world(), options);
  stencil::cpu::TileWalk::most_bytes = 0;
  ASSERT_EQ(result.norm_history.size(), expected.norm_history.size());
  for (std::size_t i = 0; i < expected.norm_history.size(); ++i)
    EXPECT_NEAR(result.norm_history[i].second, expected.norm_history[i].second,
                1e-6 * expected.norm_history[i].second);
  EXPECT_EQ(result.checksum, expected.checksum);
}

TEST(HostPassesOfAll, AreRefusedWithTheReason) {
  SolveOptions options = small("laplace", {40, 40}, 10);
  options.sweeps_per_pass = 4;
  options.backend = "reference";
  EXPECT_THAT(caught([&] { solve(world(), options); }),
              says(ErrorKind::unavailable, "backend reference makes one sweep at a time"));
  options.backend = "cpu";
  options.sweeps_per_pass = 17;
  EXPECT_THAT(caught([&] { solve(world(), options); }), says(ErrorKind::usage, "1 to 16"));
}

}  // namespace
}  // namespace halocline::test

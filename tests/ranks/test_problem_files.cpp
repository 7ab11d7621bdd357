// SPDX-License-Identifier: Apache-2.0
// Problem files on some ranks, against all cells in one process.

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/solver.hpp>

#include "support/caught.hpp"
#include "support/memories.hpp"
#include "support/models.hpp"
#include "support/ranks.hpp"
#include "support/small_solve.hpp"
#include "support/whole_domain.hpp"

namespace halocline::test {
namespace {

using testing::HasSubstr;
using testing::Not;

// Sides of every kind, in time and at corners; offsets that are not symmetric.
constexpr const char* every_side = R"toml(
axes = 2
cells = [19, 23]
lower = [0, -1]
upper = [2, 1]
parameters.dt = 0.01
[fields.u]
initial = "noise()"
[fields.u.boundary]
"x-" = { value = "y*t + 0.25" }
"x+" = { derivative = "t - 0.5" }
"y-" = "reflect"
"y+" = { mixed = { a = 2, b = 0.5, c = "x" } }
[fields.v]
initial = "noise(1)"
[fields.v.boundary]
x = { outside = "x + t" }
y = { outside = 0.5 }
[update]
u = "0.5*u + 0.1*(u[-2,0] + u[1,1]) + 0.1*(u[0,-1] + u[1,-1]) + 0.05*u[0,2] + 0.01*v"
v = "0.25*(v + v[1,0] + v[0,-1] + v[-1,1]) + 0.001*u[-1,0]"
[stop]
sweeps = 11
norm = "max"
)toml";

// Levels handed on, coefficients read at neighbours, a periodic axis.
constexpr const char* waves = R"toml(
axes = 2
cells = [24, 17]
precision = "f32"
parameters.dt = 0.1
[fields.u]
initial = "noise()"
boundary = { x = "periodic", y = { outside = 0 } }
[fields.u_old]
initial = "0.5*noise(3)"
boundary = { x = "periodic", y = { outside = 0.125 } }
[fields.u_older]
initial = 0.25
[coefficients]
c = { value = "0.1 + 0.01*i - 0.02*j" }
[update]
u = "0.5*u + 0.3*u_old[0,1] + 0.1*u_older + c[1,0]*(u[-1,0] - u[0,-1])"
u_old = "u"
u_older = "u_old"
[stop]
sweeps = 14
norm = { of = "u_old", kind = "max" }
)toml";

// Levels handed on that are read at the cell itself alone: their memory keeps the ghosts of u.
constexpr const char* handed_on = R"toml(
axes = 2
cells = [22, 19]
[fields.u]
initial = "noise()"
boundary = { outside = "1 + 0.1*j" }
[fields.u_old]
initial = "0.5*noise(3)"
[fields.u_older]
initial = 0.25
[update]
u = "0.2*(u[-1,0] + u[1,0] + u[0,2]) + 0.2*u_old - 0.1*u_older"
u_old = "u"
u_older = "u_old"
[stop]
sweeps = 9
norm = "max"
)toml";

// Three axes, a reach of four cells, functions.
constexpr const char* far = R"toml(
axes = 3
cells = [18, 11, 13]
[fields.u]
initial = "noise()"
boundary = { z = "periodic", "*" = { value = 0.5 } }
[update]
u = "0.6*u + 0.05*(u[4,0,0] + u[-3,0,0]) + 0.1*sin(u[0,2,0]) + 0.1*u[0,0,-2]*exp(-u)"
[stop]
sweeps = 7
)toml";

// Parts that are the same at several layers, one of them made of others; a coefficient, two fields.
constexpr const char* rings = R"toml(
axes = 3
cells = [20, 13, 17]
[fields.u]
initial = "noise()"
boundary = { x = "periodic", y = "reflect", z = { value = 0.5 } }
[fields.v]
initial = "noise(1)"
boundary = { x = "periodic", "*" = "reflect" }
[coefficients]
D = { value = "0.1 + 0.02*sin(i + 2*j + 3*k)" }
[locals]
pair = "u[-1,0,0] + u[1,0,0]"
ring = "pair + (u[0,-1,0] + u[0,1,0])"
root = "sqrt(1 + ring[0,0,-1] + ring[0,0,1])"
[update]
u = "0.4*u + 0.02*(root[0,0,-1] + root[0,0,1]) + 0.01*D*(pair[0,1,-1] - ring) + 0.01*v[0,0,1]"
v = "0.5*v + D*(v[0,1,0]/(1 + v[1,0,0]) + v[0,1,-1]/(1 + v[1,0,-1]))"
[stop]
sweeps = 6
norm = { of = "v", kind = "max" }
)toml";

// More cells than a block of a GPU has in its tile, along x and y, and axes that wrap around there.
constexpr const char* tiles = R"toml(
axes = 3
cells = [136, 37, 11]
precision = "f32"
[fields.u]
initial = "noise()"
boundary = "periodic"
[coefficients]
c = { value = "0.1 + 0.001*i - 0.002*j + 0.003*k" }
[update]
u = """0.3*u + 0.05*(u[-3,0,0] + u[2,0,0]) + 0.05*(u[0,-2,0] + u[0,1,0]) + c*(u[0,0,-3] - u[0,0,1]) +
       0.1*u[1,-1,2]"""
[stop]
sweeps = 5
norm = "max"
)toml";

// Two axes, and parts that are the same at several rows.
constexpr const char* pairs = R"toml(
axes = 2
cells = [24, 19]
[fields.u]
initial = "noise()"
boundary = { x = "periodic", y = { value = 0.25 } }
[locals]
pair = "u[-1,0] + u[1,0]"
root = "sqrt(2 + pair[0,-1] + pair[0,1])"
[update]
u = "0.5*u + 0.05*(root[0,-1] + root[0,1]) + 0.05*pair"
[stop]
sweeps = 6
norm = "max"
)toml";

struct Way {
  std::int64_t halo_depth;
  const char* schedule;
  const char* backend;
};

template <class Real>
std::vector<std::uint64_t> expected_checksums(const problem::Model& model, double& norm) {
  problem::WholeDomain<Real> domain(model);
  for (std::int64_t sweep = 0; sweep < model.sweeps; ++sweep) domain.sweep();
  norm = domain.norm();
  std::vector<std::uint64_t> all;
  for (std::size_t f = 0; f < model.fields.size(); ++f)
    all.push_back(problem::checksum_of(domain.field(f)));
  return all;
}

void expect_as_one_process(const char* text, const Way& way) {
  SCOPED_TRACE(testing::Message() << "depth " << way.halo_depth << ", " << way.schedule << ", "
                                  << way.backend);
  const problem::Model model = model_of_text(text);
  double norm = 0;
  const std::vector<std::uint64_t> expected = model.precision == Precision::f32
                                                  ? expected_checksums<float>(model, norm)
                                                  : expected_checksums<double>(model, norm);
  SolveOptions options;
  options.problem = Problem::from_text(text);
  options.halo_depth = way.halo_depth;
  options.schedule = way.schedule;
  options.backend = way.backend;
  options.threads = 1;
  options.tuning_seconds = 0;
  const SolveResult result = solve(world(), options);
  ASSERT_EQ(result.fields.size(), expected.size());
  for (std::size_t f = 0; f < expected.size(); ++f)
    EXPECT_EQ(result.fields[f].checksum, expected[f]) << "field " << result.fields[f].name;
  if (!result.norm_history.empty()) {
    EXPECT_EQ(result.norm_history.back().second, norm);
  }
}

std::string name_of_text(std::size_t index) {
  constexpr const char* names[] = {"EverySide", "Waves", "HandedOn", "Far",
                                   "Rings",     "Tiles", "Pairs"};
  return names[index];
}

class ProblemFiles : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Texts, ProblemFiles,
                         testing::Values(every_side, waves, handed_on, far, rings, tiles, pairs),
                         [](const auto& of) { return name_of_text(of.index); });

TEST_P(ProblemFiles, GiveTheBitsOfOneProcess) {
  for (const Way& way :
       {Way{1, "sequential", "cpu"}, Way{1, "overlap", "cpu"}, Way{1, "sequential", "reference"}})
    expect_as_one_process(GetParam(), way);
}

TEST_P(ProblemFiles, GiveTheBitsOfOneProcessWithDeepHalos) {
  // Parts of more ranks are thinner than the halo.
  if (ranks() > 4) GTEST_SKIP() << "for up to four ranks";
  for (const Way& way : {Way{2, "sequential", "cpu"}, Way{2, "overlap", "cpu"}})
    expect_as_one_process(GetParam(), way);
}

TEST_P(ProblemFiles, GiveTheBitsOfOneProcessOnGpus) {
  NEED_GPU();
  expect_as_one_process(GetParam(), {1, "sequential", "cuda"});
  expect_as_one_process(GetParam(), {1, "overlap", "cuda"});
  if (ranks() <= 4) expect_as_one_process(GetParam(), {2, "overlap", "cuda"});
}

// What sweeps store into neighbours' halos themselves, with ghosts that depend on time.
constexpr const char* nearest = R"toml(
axes = 2
cells = [34, 40]
precision = "f32"
parameters.dt = 0.25
[fields.u]
initial = "noise()"
boundary = { "x-" = { value = "sin(y*t)" }, "x+" = "reflect", y = { outside = "t" } }
[coefficients]
c = { value = "0.1 + 0.001*i" }
[update]
u = "0.5*u + c[0,1]*(u[-1,0] + u[1,0]) + 0.2*(u[0,-1] + u[0,1])"
[stop]
sweeps = 12
norm = "l2"
)toml";

TEST(ProblemFiles, StoreHalosInTheirSweeps) {
  NEED_GPU();
  if (ranks() != 2 || !each_has_a_gpu()) GTEST_SKIP() << "for two ranks, each with its own GPU";
  expect_as_one_process(nearest, {1, "fused", "cuda"});
}

// Its ghosts stay; it reads on one side alone, and where and when a cell is.
std::string upwind(const std::string& precision, const Int3& cells, std::int64_t sweeps) {
  return fmt::format(R"toml(
axes = 2
cells = [{}, {}]
precision = "{}"
parameters.dt = 0.25
[fields.u]
initial = "noise()"
boundary = {{ x = "periodic", "y-" = {{ outside = "0.01*i" }} }}
[update]
u = "0.5*u + (0.2 + 0.001*sin(t))*u[-1,0] + 0.25*u[0,-1] + 0.0001*x*t + 0.001*j"
[stop]
sweeps = {}
norm = "max"
)toml",
                     cells.x, cells.y, precision, sweeps);
}

SolveOptions persistent_options(const std::string& text) {
  SolveOptions options;
  options.problem = Problem::from_text(text);
  options.backend = "cuda";
  options.schedule = "persistent";
  options.transport = ranks() > 1 ? "peer" : "auto";
  options.process_grid = Extents({1, ranks(), 1}, 2);
  return options;
}

/// The same run on the host.
SolveResult on_host(SolveOptions options) {
  options.backend = "cpu";
  options.schedule = options.transport = "auto";
  options.threads = 1;
  return solve(world(), options);
}

TEST(ProblemFiles, StayInRegisters) {
  NEED_GPU_EACH();
  for (const auto& [precision, cells] :
       {std::pair{"f32", Int3{140, 41, 1}}, std::pair{"f64", Int3{18, 33, 1}}}) {
    const std::string text = upwind(precision, cells, 150);
    const SolveOptions options = persistent_options(text);
    const SolveResult result = solve(world(), options), expected = on_host(options);
    EXPECT_EQ(result.schedule, "persistent");
    EXPECT_GT(result.compile_seconds, 0);
    EXPECT_EQ(result.checksum, expected.checksum) << precision;
    EXPECT_EQ(result.norm_history, expected.norm_history) << precision;
  }
}

// Halos at one end alone, of a field that is not the first one.
TEST(ProblemFiles, SendHalosOfOneSide) {
  NEED_GPU_EACH();
  if (ranks() == 1) GTEST_SKIP() << "for several ranks";
  for (const std::string reads :
       {"u[0,-1] + u[0,-2]", "u[0,3] + u[1,2]", "u[0,-1] + u[0,1]", "u[-1,-2] + u[2,1]"}) {
    SolveOptions options;
    options.problem = Problem::from_text(R"toml(
axes = 2
cells = [141, 37]
precision = "f32"
[fields.sum]
initial = 0
[fields.u]
initial = "noise()"
boundary = { outside = 0.5 }
[update]
sum = "0.5*sum + u"
u = "0.4*u + 0.25*()toml" + reads + ")\"\n[stop]\nsweeps = 60\n");
    options.process_grid = Extents({1, ranks(), 1}, 2);
    options.backend = "cuda";
    options.transport = "peer";
    options.schedule = "fused";
    SCOPED_TRACE(reads);
    const SolveResult result = solve(world(), options), expected = on_host(options);
    EXPECT_EQ(result.checksum, expected.checksum);
    ASSERT_EQ(result.fields.size(), 2u);
    EXPECT_EQ(result.fields[1].checksum, expected.fields[1].checksum);
  }
}

// Rows end within a vector, whose other places hold the boundary value: it is not part of the norm.
TEST(ProblemFiles, TakeNormsInRegistersOfCellsAlone) {
  NEED_GPU_EACH();
  for (const std::string norm : {"max", "l2"}) {
    const SolveOptions options = persistent_options(R"toml(
axes = 2
cells = [13, 41]
precision = "f32"
[fields.u]
initial = "noise()"
boundary = { outside = "exp(1000)" }
[update]
u = "min(u, min(u[-1,0], u[1,0]) + 0.25)"
[stop]
sweeps = 20
norm = ")toml" + norm + "\"\n");
    const SolveResult result = solve(world(), options), expected = on_host(options);
    EXPECT_EQ(result.checksum, expected.checksum);
    ASSERT_EQ(result.norm_history.size(), expected.norm_history.size());
    for (std::size_t i = 0; i < result.norm_history.size(); ++i)
      EXPECT_NEAR(result.norm_history[i].second, expected.norm_history[i].second, 1e-6)
          << norm << " of sweep " << result.norm_history[i].first;
  }
}

// A rank that has one row more may need higher tiles, so another kernel. On this number of rows it
// does where CUDA runs on the CPU.
TEST(ProblemFiles, StayInRegistersInTilesOfDifferentHeights) {
  NEED_GPU();
  if (ranks() == 1 || !each_has_a_gpu()) GTEST_SKIP() << "for several ranks, each with its own GPU";
  // The first rank's cells need higher tiles than the others', of which the second is read beyond.
  const std::string text = upwind("f32", {8, 96 * ranks() + 1, 1}, 5);
  const SolveOptions options = persistent_options(text);
  EXPECT_EQ(solve(world(), options).checksum, on_host(options).checksum);
}

TEST(ProblemFiles, AreCompiledForRegistersInLongRunsAlone) {
  NEED_GPU_EACH();
  for (const bool is_long : {false, true}) {
    std::string text = upwind("f32", {32, 40, 1}, is_long ? 1'000'000 : 100);
    text += "tolerance = 1e30\n";  // met at once
    SolveOptions options = persistent_options(text);
    options.schedule = "auto";
    options.tuning_seconds = 0;
    const SolveResult result = solve(world(), options);
    EXPECT_EQ(result.schedule == "persistent", is_long);
  }
}

/// Fields that come to rest soon, and late.
SolveResult solved_fast_and_slow(const std::string& norm, const char* backend) {
  SolveOptions options;
  options.problem = Problem::from_text(
      "axes = 2\ncells = [12, 16]\n[fields.fast]\ninitial = \"1 + i\"\n[fields.slow]\ninitial = 0\n"
      "[update]\nfast = \"0.1*fast\"\nslow = \"slow + 0.125*(5 - slow)\"\n"
      "[stop]\nsweeps = 200\ntolerance = 0.01\nnorm = " +
      norm + "\n");
  options.backend = backend;
  options.threads = 1;
  return solve(world(), options);
}

void expect_an_end_of_all_fields(const char* backend) {
  SCOPED_TRACE(backend);
  const SolveResult all = solved_fast_and_slow("\"max\"", backend);
  // 5/8 * 0.875^n <= 0.01 from n = 31 on.
  EXPECT_EQ(all.sweeps, 32);
  EXPECT_TRUE(all.converged);
  EXPECT_EQ(all.norm_of, (std::vector<std::string>{"fast", "slow"}));
  EXPECT_EQ(all.norm_history[0].second, 12 - 0.1 * 12) << "of fast";
  EXPECT_EQ(all.norm_history[2].second, 0.625 * 0.875 * 0.875) << "of slow";
  EXPECT_THAT(text_of(all), HasSubstr("converged: max norm of fast, slow 0.00995"));
  const SolveResult one = solved_fast_and_slow("{ of = \"fast\" }", backend);
  EXPECT_EQ(one.sweeps, 5);
  EXPECT_EQ(one.norm_of, (std::vector<std::string>{"fast"}));
  const SolveResult both =
      solved_fast_and_slow("{ of = [\"slow\", \"fast\"], kind = \"l2\" }", backend);
  double squares = 0;
  for (int i = 1; i <= 12; ++i) squares += 16 * (0.81 * i * i + 0.625 * 0.625);
  EXPECT_NEAR(both.norm_history[0].second, std::sqrt(squares), 1e-11);
}

TEST(ProblemFiles, EndWhenAllFieldsAreAtRest) {
  for (const char* backend : {"reference", "cpu"}) expect_an_end_of_all_fields(backend);
}

TEST(ProblemFiles, EndWhenAllFieldsAreAtRestOnGpus) {
  NEED_GPU();
  expect_an_end_of_all_fields("cuda");
}

/// At rest until a side, which depends on time, has moved.
std::string from_rest(const std::string& wall) {
  return "axes = 2\ncells = [12, 16]\nparameters.dt = 0.05\n[fields.u]\ninitial = 0\n"
         "boundary = { x = { value = \"" +
         wall +
         "\" }, y = \"reflect\" }\n[update]\n"
         "u = \"u + 0.2*(u[1,0] - 2*u + u[-1,0])\"\n[stop]\nsweeps = 20\ntolerance = 1e-9\n";
}

SolveResult solved_from_rest(const std::string& wall, const char* backend) {
  SolveOptions options;
  options.problem = Problem::from_text(from_rest(wall));
  options.backend = backend;
  options.threads = 1;
  return solve(world(), options);
}

TEST(ProblemFiles, DoNotEndBeforeAnythingMoves) {
  const SolveResult moved = solved_from_rest("sin(2*pi*t)", "cpu");
  EXPECT_EQ(moved.sweeps, 20);
  EXPECT_FALSE(moved.converged);
  ASSERT_EQ(moved.norm_history.size(), 20u);
  EXPECT_EQ(moved.norm_history[0].second, 0);
  EXPECT_GT(moved.norm_history[1].second, 0.01);
  const SolveResult at_rest = solved_from_rest("0", "cpu");
  EXPECT_EQ(at_rest.sweeps, 1);
  EXPECT_TRUE(at_rest.converged);
}

TEST(ProblemFiles, DoNotEndBeforeAnythingMovesOnGpus) {
  NEED_GPU();
  const SolveResult expected = solved_from_rest("sin(2*pi*t)", "cpu"),
                    moved = solved_from_rest("sin(2*pi*t)", "cuda");
  EXPECT_EQ(moved.norm_history, expected.norm_history);
  EXPECT_EQ(moved.checksum, expected.checksum);
  EXPECT_EQ(solved_from_rest("0", "cuda").sweeps, 1);
}

TEST(ProblemFiles, DependOnTimeInGraphs) {
  NEED_GPU_EACH();
  std::string text = nearest;
  text.replace(text.find("0.5*u"), 5, "(0.5 + 0.01*cos(t))*u");
  text.replace(text.find("sweeps = 12"), 11, "sweeps = 450");
  text.replace(text.find("\"l2\""), 4, "\"max\"");
  SolveOptions options;
  options.problem = Problem::from_text(text);
  options.backend = "cpu";
  options.threads = 1;
  options.process_grid = Extents({1, ranks(), 1}, 2);
  const SolveResult expected = solve(world(), options);
  options.backend = "cuda";
  options.graph = SolveOptions::Graphs::on;
  for (const char* schedule : {"sequential", "overlap", "fused"}) {
    if (ranks() == 1 && schedule == std::string("fused")) continue;
    options.transport = ranks() > 1 ? "peer" : "auto";
    options.schedule = schedule;
    const SolveResult result = solve(world(), options);
    EXPECT_GE(result.sweeps_in_graphs, 256) << schedule;
    EXPECT_EQ(result.checksum, expected.checksum) << schedule;
    EXPECT_EQ(result.norm_history, expected.norm_history) << schedule;
  }
}

TEST(ProblemFiles, TellOfGrowthUnlessTheyHaveAConditionForIt) {
  const auto notes = [](const std::string& factor, const std::string& more) {
    SolveOptions options;
    options.problem = Problem::from_text("axes = 2\ncells = 12\nparameters.a = " + factor + more +
                                         "\n[fields.u]\ninitial = 1\n[update]\nu = \"a*u\"\n"
                                         "[stop]\nsweeps = 15\nnorm = \"max\"\n");
    options.threads = 1;
    std::string all;
    for (const std::string& note : solve(world(), options).notes) all += note + "\n";
    return all;
  };
  EXPECT_THAT(notes("3", ""), HasSubstr("has grown from 2 to 9.57e+06"));
  EXPECT_THAT(notes("2", ""), Not(HasSubstr("has grown")));
  EXPECT_THAT(notes("3", "\nrequire = { \"a < 5\" = \"too large\" }"), Not(HasSubstr("has grown")));
}

TEST(ProblemTexts, TellMistakesUnderTheirName) {
  SolveOptions options;
  options.problem = Problem::from_text("axes = 2\ncolour = 1\n", "mine");
  EXPECT_THAT(caught([&] { solve(world(), options); }), says(ErrorKind::usage, "mine:2"));
  options.problem = Problem::from_text("");
  EXPECT_EQ(caught([&] { solve(world(), options); }).kind, ErrorKind::usage);
  options.problem = Problem::from_file("no_such_problem");
  EXPECT_THAT(caught([&] { solve(world(), options); }).text,
              testing::HasSubstr("./no_such_problem"));
}

TEST(ProblemTexts, AreTheSameOnEveryRank) {
  if (ranks() == 1) GTEST_SKIP() << "one rank agrees with itself";
  SolveOptions options;
  std::string text = far;
  if (rank() == 1) text.replace(text.find("0.6*u"), 5, "0.7*u");
  options.problem = Problem::from_text(text);
  EXPECT_THAT(caught([&] { solve(world(), options); }), says(ErrorKind::usage, "0.7*u"));
}

}  // namespace
}  // namespace halocline::test

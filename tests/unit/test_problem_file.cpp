// SPDX-License-Identifier: Apache-2.0
// Problem files: what their keys mean, and where a mistake is shown.

#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "problem/model.hpp"
#include "support/caught.hpp"

namespace halocline::test {
namespace {

using problem::BoundaryKind;
using problem::Choices;
using problem::Model;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

Model model(const std::string& text, const Choices& choices = {}) {
  return problem::model_of(problem::read_text("p.toml", text), choices);
}

/// A whole file around the lines of one field.
std::string with_field(const std::string& lines, const std::string& update = "u") {
  return "axes = 2\ncells = [8, 6]\n[fields.u]\n" + lines + "\n[update]\nu = \"" + update +
         "\"\n[stop]\nsweeps = 1\n";
}

const std::string plain = "initial = 0\nboundary = \"periodic\"";

Caught caught_in(const std::string& text, const Choices& choices = {}) {
  return caught([&] { model(text, choices); });
}

TEST(ProblemFile, NamesNoLargestValueWhereAParameterIsNoNumber) {
  const std::string text =
      "parameters.H = -2\nparameters.dt = \"0.5/sqrt(H)\"\nrequire = { \"dt <= 1\" = \"dt {dt} is "
      "too large; the largest is {largest dt}\" }\n" +
      with_field(plain);
  EXPECT_THAT(caught_in(text).text, HasSubstr("the largest is unknown"));
}

TEST(ProblemFile, EvaluatesParametersInTheirOrder) {
  const std::string text = R"(
axes = 2
cells = [10, 20]
lower = [-1, 0]
upper = [1, "2*pi"]
[parameters]
zeta = 3
alpha = { value = "zeta * dx", help = "diffusivity" }
dt = "dx^2 / alpha / nx"
[fields.u]
initial = "x"
boundary = "periodic"
[update]
u = "u"
[stop]
time = 1
)";
  const Model made = model(text);
  ASSERT_EQ(made.parameters.size(), 3U);
  EXPECT_EQ(made.parameters[0].name, "zeta");
  EXPECT_EQ(made.parameters[1].value, 3 * (2.0 / 10));
  EXPECT_EQ(made.parameters[1].help, "diffusivity");
  const double dx = 2.0 / 10;
  EXPECT_EQ(made.dt, dx * dx / (3 * dx) / 10);
  EXPECT_EQ(made.spacing[1], 2 * M_PI / 20);
  EXPECT_EQ(made.sweeps, static_cast<std::int64_t>(std::ceil(1 / *made.dt * (1 - 1e-12))));
  const Model other = model(text, {.cells = {20, 20}, .parameters = {{"zeta", 1.0}}});
  EXPECT_EQ(other.parameters[1].value, 2.0 / 20);
}

TEST(ProblemFile, TakesTheSpacingFromAParameterWithoutUpper) {
  const Model made = model(
      "axes = 1\ncells = 9\n[parameters]\ndx = 0.1\nr = \"2/dx^2\"\n"
      "[fields.u]\ninitial = \"x\"\nboundary = { outside = 0 }\n"
      "[update]\nu = \"u[-1] + r*u[1]\"\n[stop]\nsweeps = 3\n");
  EXPECT_EQ(made.spacing[0], 0.1);
  EXPECT_EQ(made.parameters[1].value, 2 / (0.1 * 0.1));
  EXPECT_EQ(made.upper[0], 9 * 0.1);
  EXPECT_THAT(caught_in("axes = 1\ncells = 9\n[parameters]\nr = \"2/dx\"\ndx = 0.1\n"
                        "[fields.u]\ninitial = 0\n[update]\nu = \"u\"\n[stop]\nsweeps = 1\n")
                  .text,
              HasSubstr("further down"));
  EXPECT_EQ(model(with_field(plain)).spacing[0], 1);
}

TEST(ProblemFile, DependsOnTheNumberOfAxes) {
  const std::string text = R"(
axes = [2, 3]
cells = { 2 = [8, 6], 3 = [4, 5, 6] }
[fields.u]
initial = { 2 = "x", 3 = "z" }
boundary = "reflect"
[update]
u = { 2 = "u[1,0]", 3 = """
  u[0,0,1]""" }
[stop]
sweeps = 2
)";
  EXPECT_EQ(model(text).axes, 2);
  EXPECT_EQ(model(text).cells.y, 6);
  const Model deep = model(text, {.axes = 3});
  EXPECT_EQ(deep.cells.z, 6);
  EXPECT_EQ(deep.fields[0].reach.upper[2], 1);
  EXPECT_EQ(model(text, {.cells = {4, 4, 4}}).axes, 3);
  EXPECT_THAT(caught_in(text, {.axes = 1}).text, HasSubstr("2 to 3 axes, not 1"));
}

TEST(ProblemFile, KnowsEveryBoundary) {
  const Model made = model(R"toml(
axes = 2
cells = [8, 6]
[parameters]
dt = 0.1
[fields.u]
initial = 0
boundary = { "x-" = { value = "sin(y)" }, "x+" = { derivative = "t" }, "*" = { mixed = { a = 1, b = 2, c = "x" } } }
[fields.v]
initial = 0
boundary = "reflect"
[fields.u_old]
initial = 1
[update]
u = "u[-1,0] + u[1,0] + u[0,1] + u[0,-1] + v[1,0] - u_old"
v = "v"
u_old = "u"
[stop]
sweeps = 1
)toml");
  const auto& sides = made.fields[0].sides;
  EXPECT_EQ(sides[0]->kind, BoundaryKind::value);
  EXPECT_FALSE(sides[0]->depends_on_time);
  EXPECT_EQ(sides[1]->kind, BoundaryKind::derivative);
  EXPECT_TRUE(sides[1]->depends_on_time);
  EXPECT_EQ(sides[2]->kind, BoundaryKind::mixed);
  EXPECT_EQ(sides[3]->kind, BoundaryKind::mixed);
  EXPECT_EQ(made.fields[1].sides[0]->kind, BoundaryKind::reflect);
  EXPECT_EQ(made.fields[2].follows, std::optional<std::size_t>(0));
  EXPECT_FALSE(made.fields[2].reach.has_neighbours());
  EXPECT_EQ(made.updates().size(), 2U);
}

TEST(ProblemFile, ShowsWhereAMistakeIs) {
  const Caught name = caught_in(with_field(plain, "u + alfa * u[1,0]"));
  EXPECT_EQ(name.kind, ErrorKind::usage);
  EXPECT_EQ(name.text,
            "p.toml:7:10: nothing is named 'alfa'\n"
            "    u = \"u + alfa * u[1,0]\"\n"
            "             ^~~~");
  EXPECT_THAT(
      caught_in("axes = 2\ncells = [8, 6]\n[fields.u]\ninitial = \"\"\"\n\n  1 + bad\"\"\"\n").text,
      StartsWith("p.toml:6:7: nothing is named 'bad'"));
  // Written with an escape: the value is shown as it reads.
  EXPECT_THAT(caught_in(with_field("initial = \"1 + \\u0062ad\"\nboundary = \"periodic\"")).text,
              AllOf(StartsWith("p.toml:4:11: "), HasSubstr("the value reads"),
                    HasSubstr("    1 + bad\n        ^~~")));
}

TEST(ProblemFile, RefusesWhatItDoesNotKnow) {
  const auto expect = [](const std::string& text, const std::string& words) {
    const Caught error = caught_in(text);
    EXPECT_EQ(error.kind, ErrorKind::usage) << text;
    EXPECT_THAT(error.text, AllOf(StartsWith("p.toml"), HasSubstr(words))) << text;
  };
  expect("axis = 2\n", "do you mean 'axes'?");
  expect("axes = 4\n", "1, 2 or 3 axes");
  expect("axes = [2, 2]\n", "twice");
  expect("axes = 2\ncells = [8, -6]\n", "whole number from 1");
  expect("axes = 2\ncells = [8]\n[fields.u]\n", "1 numbers of cells for 2 axes");
  expect("axes = 2\ncells = [8, 6]\n", "no fields");
  expect("axes = 2\ncells = [8, 6]\n[fields.u]\n", "no 'initial' value");
  expect("axes = \"two\"\n", "whole number");
  expect("precision = \"f16\"\n", "there are: f32, f64");
  expect("[parameters]\npi = 3\n", "has a meaning already");
  expect("[parameters]\nu = 1\n[fields.u]\n", "something else in this file");
  expect("[parameters]\nu = { help = \"none\" }\n", "has no value");
  expect("[fields.u]\ninital = 0\n", "do you mean 'initial'?");
  expect(with_field("initial = 0", "u[1,0]"), "no 'boundary'");
  expect(with_field("initial = 0\nboundary = \"perodic\""), "there is no boundary 'perodic'");
  expect(with_field("initial = 0\nboundary = { X = \"reflect\" }"), "'X'");
  expect(with_field("initial = 0\nboundary = { x = \"reflect\", \"x-\" = \"reflect\" }"), "twice");
  expect(with_field("initial = 0\nboundary = { x = \"reflect\", \"y-\" = \"periodic\", "
                    "\"y+\" = \"reflect\" }"),
         "on both sides");
  expect(with_field("initial = 0\nboundary = { mixed = { a = 1, b = 1 } }"), "'c' is missing");
  expect(with_field("initial = 0\nboundary = { mixed = { a = 2, b = -1, c = 0 } }", "u[1,0]"),
         "divides by zero");
  expect(with_field("initial = 0\nboundary = \"reflect\"", "u[8,0] + u[0,8]"),
         "as many cells along y");
  expect(with_field(plain, "u[1,0]") + "[parameters]\ndt = 1\n[fields.w]\ninitial = 0\n",
         "[coefficients.w]");
  expect(with_field(plain) + "time = 2\n", "not both");
  expect("axes = 2\ncells = [8, 6]\n[fields.u]\ninitial = 0\n[update]\nu = \"u\"\n",
         "when to stop");
  expect("axes = 2\ncells = [8, 6]\n[fields.u]\ninitial = 0\n[update]\nu = \"u\"\n[stop]\ntime=1",
         "named dt");
  expect("a = \n", "p.toml:1:");
  expect(std::string(1 << 20, '#') + "#", "bytes are more");
}

TEST(ProblemFile, RefusesParametersThatARequirementExcludes) {
  const std::string text =
      "axes = 1\ncells = 8\n[parameters]\ndt = 0.1\nr = \"2*dt\"\n[require]\n"
      "\"r <= 1\" = \"r is {r}, so dt may be at most {1/2}\"\n[fields.u]\n"
      "initial = 0\n[update]\nu = \"u\"\n[stop]\nsweeps = 1\n";
  EXPECT_EQ(model(text).parameters[1].value, 0.2);
  EXPECT_EQ(caught_in(text, {.parameters = {{"dt", 0.75}}}).text,
            "r is 1.5, so dt may be at most 0.5");
  EXPECT_THAT(caught_in(text, {.parameters = {{"dx", 1.0}}}).text, HasSubstr("do you mean 'dt'?"));
}

}  // namespace
}  // namespace halocline::test

// SPDX-License-Identifier: Apache-2.0
// Problem files: what their keys mean, and where a mistake is shown.

#include <cmath>
#include <string>

#include <fmt/format.h>
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
using testing::Not;
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

TEST(ProblemFile, RefusesParametersThatAreNotFinite) {
  const auto refused = [](const std::string& value) {
    return caught_in("parameters.a = \"" + value + "\"\n" + with_field(plain)).text;
  };
  EXPECT_EQ(refused("1/0"),
            "p.toml:1:17: parameter 'a' is inf; it must be a finite number\n"
            "    parameters.a = \"1/0\"\n"
            "                    ^~~");
  EXPECT_THAT(refused("-1/0"), HasSubstr("'a' is -inf;"));
  for (const char* const value : {"0/0", "sqrt(-1)", "0*log(0)"})
    EXPECT_THAT(refused(value), StartsWith("p.toml:1:17: parameter 'a' is nan;")) << value;
  // By another's value. Of requirements only those about other parameters are looked at before.
  const auto text = [](const std::string& requirement) {
    return "parameters.H = 2\nparameters.dt = \"0.5/sqrt(H)\"\nparameters.r = \"2*dt\"\nrequire = "
           "{ "
           "\"dt <= 1\" = \"dt {dt} is too large; the largest is {largest dt}\"" +
           requirement + " }\n" + with_field(plain);
  };
  const Choices below{.parameters = {{"H", -2.0}}};
  EXPECT_EQ(caught_in(text("")).text, "no error");
  EXPECT_THAT(
      caught_in(text(""), below).text,
      StartsWith("p.toml:2:18: parameter 'dt' is nan; it must be a finite number: H is -2\n"));
  EXPECT_EQ(caught_in(text(", \"H > 0\" = \"a depth of {H}\""), below).text, "a depth of -2");
  EXPECT_EQ(
      caught_in("parameters.a = \"0/0\"\nparameters.b = 1\nrequire = { \"b < 0.5\" = \"at most "
                "{largest a}\" }\n" +
                with_field(plain))
          .text,
      "at most unknown");
}

TEST(ProblemFile, DoesNotKnowSpacingsInItsCorners) {
  EXPECT_THAT(caught_in("lower = \"-dx\"\nparameters.dx = 0.1\n" + with_field(plain)).text,
              HasSubstr("'dx' is set further down"));
  EXPECT_THAT(caught_in("upper = \"dx\"\n" + with_field(plain)).text,
              HasSubstr("'dx' comes from 'lower' and 'upper' of x"));
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

TEST(ProblemFile, TakesASingleNumberForAllAxes) {
  const Model square = model("cells = 8\nlower = -1\nupper = \"2 - 1\"\naxes = 3\n[fields.u]\n" +
                             plain + "\n[update]\nu = \"u\"\n[stop]\nsweeps = 1\n");
  EXPECT_EQ(square.cells, (Int3{8, 8, 8}));
  EXPECT_EQ(square.lower, (std::array<double, 3>{-1, -1, -1}));
  EXPECT_EQ(square.upper, (std::array<double, 3>{1, 1, 1}));
  EXPECT_EQ(square.spacing, (std::array<double, 3>{0.25, 0.25, 0.25}));
  const auto spacing = [](const std::string& parameters) {
    return model(with_field(plain) + "[parameters]\n" + parameters).spacing;
  };
  EXPECT_EQ(spacing("dx = 0.1\nr = \"1/dy\"\n"), (std::array<double, 3>{0.1, 0.1, 1}));
  EXPECT_EQ(spacing("dx = 0.1\ndy = 0.2\n"), (std::array<double, 3>{0.1, 0.2, 1}));
  EXPECT_THAT(caught([&] { spacing("r = \"1/dy\"\ndx = 0.1\n"); }).text,
              HasSubstr("'dx' is set further down"));
}

TEST(ProblemFile, DependsOnTheNumberOfAxes) {
  const std::string text = R"(
axes = [2, 3]
cells = { 2 = [8, 6], 3 = [4, 5, 6] }
upper = { 2 = [4, 6], 3 = 1 }
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
  EXPECT_EQ(model(text).spacing[0], 0.5);
  const Model deep = model(text, {.axes = 3});
  EXPECT_EQ(deep.cells.z, 6);
  EXPECT_EQ(deep.spacing[1], 0.2);
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

TEST(ProblemFile, TakesTheNormOfAllFieldsThatAreComputed) {
  const auto of = [](const std::string& norm) {
    return model(
               "axes = 1\ncells = 8\n[fields.u_old]\ninitial = 0\n[fields.u]\ninitial = 0\n"
               "[fields.v]\ninitial = 0\n[update]\nu_old = \"u\"\nu = \"u + v\"\nv = \"0.5*v\"\n"
               "[stop]\nsweeps = 1\nnorm = " +
               norm)
        .norm_of;
  };
  using Fields = std::vector<std::size_t>;
  EXPECT_EQ(of("\"max\""), (Fields{1, 2})) << "u_old has the change of u, a sweep later";
  EXPECT_EQ(of("{ kind = \"l2\" }"), (Fields{1, 2}));
  EXPECT_EQ(of("{ of = \"u_old\" }"), (Fields{0}));
  EXPECT_EQ(of("{ of = [\"v\", \"u\"] }"), (Fields{1, 2}));
  for (const auto& [norm, words] : {std::pair("{ of = \"w\" }", "no field 'w'"),
                                    {"{ of = [\"u\", \"w\"] }", "no field 'w'"},
                                    {"{ of = [\"u\", \"u\"] }", "'u' stands here twice"},
                                    {"{ of = [] }", "must be a list"}})
    EXPECT_THAT(caught([&, text = norm] { of(text); }).text, HasSubstr(words)) << norm;
}

TEST(ProblemFile, HasAToleranceOfItsParameters) {
  const auto tolerance = [](const std::string& text) {
    return model(with_field(plain) + "tolerance = " + text + "\n[parameters]\ndt = 0.5\n")
        .tolerance;
  };
  EXPECT_EQ(tolerance("1e-3"), 1e-3);
  EXPECT_EQ(tolerance("\"dt/8\""), 0.0625);
  EXPECT_THAT(caught([&] { tolerance("-1"); }).text,
              HasSubstr("the tolerance is -1; use a finite number from 0"));
}

TEST(ProblemFile, CountsColumnsFromTheBeginningOfTheLine) {
  EXPECT_EQ(caught_in(with_field(plain, "u*(2 u)")).text,
            "p.toml:7:11: write * before 'u' to multiply, or ')' for the '(' at column 8\n"
            "    u = \"u*(2 u)\"\n"
            "              ^");
  EXPECT_THAT(
      caught_in(with_field("initial = \"\"\"\n  (1 +\n  2\"\"\"\nboundary = \"periodic\"")).text,
      StartsWith("p.toml:6:4: ')' is expected, for the '(' at column 3 of line 5\n"));
  EXPECT_THAT(
      caught_in(with_field("initial = { file = \"\u00e9\" }\nboundary = { value = \"(1\" }")).text,
      StartsWith("p.toml:5:25: ')' is expected, for the '(' at column 23\n"));
  // Written with an escape: the file has no such column.
  EXPECT_THAT(caught_in(with_field("initial = \"(\\u0031\"\nboundary = \"periodic\"")).text,
              StartsWith("p.toml:4:11: ')' is expected, for the '('\n"));
}

TEST(ProblemFile, SaysWhatStandsInQuotes) {
  const auto expect = [](const std::string& line, const std::string& error) {
    EXPECT_THAT(caught_in("axes = 2\n" + line + "\n").text,
                AllOf(StartsWith("p.toml:2:"), HasSubstr(error)))
        << line;
  };
  expect("u = u + 1", "2:5: formulas and words stand in quotes: \"u + 1\"");
  expect("u = max(u, 0)  # a comment", "2:5: formulas and words stand in quotes: \"max(u, 0)\"");
  expect("dt = 1/2", "2:6: formulas and words stand in quotes: \"1/2\"");
  expect("dt = -dx", "2:6: formulas and words stand in quotes: \"-dx\"");
  expect("norm = max", "2:8: formulas and words stand in quotes: \"max\"");
  expect("lower = [0, pi]", "2:13: formulas and words stand in quotes: \"pi\"");
  expect("b = { value = max(x, y), help = \"a\" }",
         "2:15: formulas and words stand in quotes: \"max(x, y)\"");
  expect("dt = .5", "2:6: TOML writes numbers as 0.5");
  expect("b = { x+ = \"reflect\" }", "2:8: a key with this sign stands in quotes: \"x+\"");
  // What was pasted.
  expect("u = \u201cu + 1\u201d",
         "2:5: there is a '\u201c' (U+201C) outside of quotes; write \" or '");
  expect("dt = \u22121", "2:6: there is a '\u2212' (U+2212) outside of quotes; write -");
  expect("dt\u00a0= oops", "2:3: there is a space that is not plain (U+00A0) outside of quotes");
  expect("\u03b1 = 1", "2:1: there is a '\u03b1' (U+03B1) outside of quotes; write alpha");
  expect("a = \"\u00e9\" \u00e9", "2:9: there is a '\u00e9' (U+00E9) outside of quotes");
  // Nothing is known to be meant: what stands there is right by itself.
  for (const char* line : {"dt = 0.1\ndt = 0.1", "time step = 0.1", "dt == 0.1",
                           "a = true\na = true", "title = \"W\u00e4rme"})
    EXPECT_THAT(caught_in(std::string("axes = 2\n") + line + "\n").text,
                AllOf(Not(HasSubstr("TOML writes")), Not(HasSubstr("quotes:")),
                      Not(HasSubstr("outside of quotes"))))
        << line;
  EXPECT_THAT(caught_in("a = [1, 2\n").text, Not(HasSubstr("quotes")));
  EXPECT_THAT(caught_in("a = \"b\" c\n").text, Not(HasSubstr("stand in quotes")));
  EXPECT_THAT(caught_in("a = \"\"\"\n\u00e9 = \\q\"\"\"\n").text, Not(HasSubstr("quotes")));
}

TEST(ProblemFile, RefusesTextsInUtf16) {
  for (const std::string& text :
       {std::string("\xff\xfe") + std::string("a\0", 2),
        std::string("\xfe\xff") + std::string("\0a", 2), std::string("a\0=\0", 4),
        std::string("\0a\0=", 4), std::string("\xff\xfe\0\0", 4)})
    EXPECT_EQ(caught_in(text).text,
              "p.toml: the file is UTF-16, as PowerShell's > writes it; save it as UTF-8");
  EXPECT_THAT(caught_in("axes = 2\ntitle = \"caf\xe9\"\n").text,
              StartsWith("p.toml:2:13: byte 0xe9 is not UTF-8; save the file as UTF-8\n"));
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
  expect("axes = 2\ncells = [8]\n[fields.u]\n", "'cells' has 1 number for 2 axes");
  expect("axes = 2\ncells = 8\nlower = [0]\n", "'lower' has 1 number for 2 axes");
  expect("axes = 2\ncells = 8\nupper = [1, 1, 1]\n", "'upper' has 3 numbers for 2 axes");
  expect("axes = 2\ncells = 8\nupper = { 3 = 1 }\n", "no 'upper' for 2 axes");
  expect("axes = 2\ncells = [8, 6]\n", "no fields");
  expect("axes = 2\ncells = [8, 6]\n[fields.u]\n", "no 'initial' value");
  expect("axes = \"two\"\n", "whole number");
  expect("precision = \"f16\"\n", "there are: f32, f64");
  expect("[parameters]\npi = 3\n", "has a meaning already");
  expect("[parameters]\nu = 1\n[fields.u]\n", "something else in this file");
  expect("[parameters]\nu = { help = \"none\" }\n", "has no value");
  expect("[fields.u]\ninital = 0\n", "do you mean 'initial'?");
  expect(with_field("initial = 0", "u[1,0]"), "no 'boundary'");
  for (const char* dt : {"-0.1", "0"})
    expect(std::string("axes = 2\ncells = [8, 6]\nparameters.dt = \"") + dt +
               "\"\n[fields.u]\ninitial = 0\n[update]\nu = \"u + dt\"\n[stop]\ntime = 1\n",
           "it must be a positive number");
  expect(with_field("initial = 0\nboundary = \"perodic\""),
         "there is no boundary 'perodic'; do you mean \"periodic\"?");
  expect(with_field("initial = 0\nboundary = \"open\""),
         "there is no boundary 'open'; there are: ");
  expect(with_field("initial = 0\nboundary = \"dirichlet\""), "write { value = v }");
  expect(with_field("initial = 0\nboundary = \"no-flux\""), "write \"reflect\"");
  expect(with_field("initial = 0\nboundary = { neumann = 0 }"), "write { derivative = g }");
  expect(with_field("initial = 0\nboundary = { x = { robin = 0 } }"), "write { mixed = ");
  expect(with_field("initial = 0\nboundary = { left = \"reflect\" }"), "write \"x-\"");
  expect(with_field("initial = 0\nboundary = { vlaue = 0 }"), "do you mean 'value'?");
  expect(with_field("initial = 0\nboundary = 0.5"),
         "write { value = 0.5 } for a value at the wall");
  expect(with_field("initial = 0\nboundary = { x = true }"), "write { value = v } for");
  expect(with_field("initial = 0\nboundary = { \"*\" = \"reflect\", \"z+\" = \"reflect\" }"),
         "no side along z: 'axes' is 2");
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
  EXPECT_THAT(caught_in(text, {.parameters = {{"Dt", 1.0}}}).text, HasSubstr("do you mean 'dt'?"));
  EXPECT_THAT(caught_in(text, {.parameters = {{"dx", 1.0}}}).text,
              AllOf(HasSubstr("has no parameter 'dx'; it has: dt, r"), Not(HasSubstr("mean"))));
}

TEST(ProblemFile, ChecksTheMessagesOfRequirementsThatAreMet) {
  const auto message = [](const std::string& text) {
    return caught_in("parameters.dt = 1\nrequire = { \"dt < 2\" = \"" + text + "\" }\n" +
                     with_field(plain))
        .text;
  };
  EXPECT_EQ(message("dt {dt}, at most {largest dt}, } {2*dt} {"), "no error");
  EXPECT_THAT(message("{td}"), HasSubstr("nothing is named 'td'"));
  EXPECT_THAT(message("{}"), HasSubstr("ends where a value is expected"));
  EXPECT_THAT(message("{largest td}"), HasSubstr("'largest td' in the message names no parameter"));
}

// ---- hostile texts ----

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

/// What `make` gives for 0, 1, ..., in one text.
template <class Make>
std::string numbered(int count, const Make& make) {
  std::string all;
  for (int i = 0; i < count; ++i) all += make(i);
  return all;
}

/// Their sum, as deep as the logarithm of their number.
template <class Make>
std::string balanced(int begin, int end, const Make& make) {
  if (end - begin == 1) return make(begin);
  const int middle = (begin + end) / 2;
  return "(" + balanced(begin, middle, make) + "+" + balanced(middle, end, make) + ")";
}

TEST(ProblemFile, RefusesKeysOfManyParts) {
  const std::string parts = repeated("a.", 400'000) + "a";
  const std::string begins[] = {"",
                                "[",
                                "x = { ",
                                "# \"\n",
                                "\"#\".",
                                "x = { b = \"\"\"a\"\"\"\", ",
                                "x = { b = '''a\\''''', ",
                                "x = { b = \"\\\"\", ",
                                "x = { b = '\\', "};
  for (const std::string& begin : begins)
    EXPECT_THAT(caught_in(begin + parts + " = 1\n").text, HasSubstr("a key has at most 16 parts"))
        << begin;
  EXPECT_THAT(caught_in(repeated("a.", 16) + "a = 1\n").text,
              AllOf(StartsWith("p.toml:1:32: "), HasSubstr("16 parts")));
  // No parts of keys.
  const std::string dots(100, '.');
  const Model made =
      model("# " + dots + "\ntitle = \"\"\"\n\\\"" + dots + "\"\"\"\n" + with_field(plain));
  EXPECT_EQ(made.title, "\"" + dots);
}

TEST(ProblemFile, RefusesLocalsThatTogetherAreTooDeep) {
  const auto chain = [](const std::string& before) {
    return "\n[locals]\nl200 = \"u\"\n" +
           numbered(200, [&](int i) { return fmt::format("l{} = \"{}l{}\"\n", i, before, i + 1); });
  };
  EXPECT_THAT(caught_in(with_field(plain, "l0") + chain(std::string(250, '-'))).text,
              HasSubstr("more than 1024 levels deep"));
  // Each needs two of the next.
  const std::string twice =
      numbered(200, [](int i) { return fmt::format("l{} = \"l{}*l{}\"\n", i, i + 1, i + 1); });
  const Model made = model(with_field(plain, "l0") + "[locals]\nl200 = \"u\"\n" + twice);
  EXPECT_LT(made.tree.size(), 1000U);
}

TEST(ProblemFile, NamesTheLocalThatHasAMistake) {
  const std::string chain =
      numbered(50, [](int i) { return fmt::format("l{} = \"l{}\"\n", i, i + 1); });
  EXPECT_THAT(
      caught_in(with_field(plain, "l0") + "[locals]\n" + chain + "l50 = \"ddx(noise())\"\n").text,
      AllOf(HasSubstr(": in 'l50' of [locals]: "), Not(HasSubstr("'l0'"))));
}

TEST(ProblemFile, ShowsLittleOfLongTexts) {
  const std::string name(1'000'000, 'q');
  for (const std::string& text :
       {name + " = 1\n", "[fields.\"" + name + "*\"]\n", "precision = \"" + name + "\"\n",
        with_field(plain, name), with_field(plain, name + "(1)"),
        with_field("initial = 0\nboundary = \"" + name + "\""),
        "require = { \"1 < 0\" = \"" + name + "\" }\n" + with_field(plain)}) {
    const Caught error = caught_in(text);
    EXPECT_EQ(error.kind, ErrorKind::usage);
    EXPECT_THAT(error.text, HasSubstr("qqq ... qqq"));
    EXPECT_LT(error.text.size(), 1500U) << error.text;
  }
  EXPECT_THAT(caught_in("[fields." + std::string(65, 'q') + "]\n").text,
              HasSubstr("at most 64 letters, not 65"));
}

// Where time grows with the square of the text, these take minutes.
TEST(ProblemFile, ReadsTextsOfAMegabyte) {
  const std::string line = numbered(80'000, [](int i) { return fmt::format("l{}=1,", i); });
  EXPECT_NO_THROW(model("locals = {" + line + "l=1}\n" + with_field(plain)));
  const std::string lines = numbered(80'000, [](int i) { return fmt::format("l{}=1\n", i); });
  EXPECT_NO_THROW(model(with_field(plain) + "[locals]\n" + lines));
  const std::string large = balanced(0, 20'000, [](int i) { return fmt::format("y*{}", i); });
  const std::string many = balanced(0, 15'000, [](int i) { return fmt::format("ddx(l+{})", i); });
  EXPECT_THAT(caught_in(with_field(plain, many) + "[locals]\nl = \"" + large + "\"\n").text,
              HasSubstr("more than 100000 operations"));
  EXPECT_THAT(caught_in("parameters.dt = 1\nrequire = { \"dt < 0\" = \"" +
                        repeated("{largest dt}", 60'000) + "\" }\n" + with_field(plain))
                  .text,
              StartsWith("0000"));
}

TEST(ProblemFile, RefusesOffsetsBeyondAllLimits) {
  for (const char* const offset :
       {"9223372036854775808", "-9223372036854775808", "99999999999999999999"})
    EXPECT_THAT(caught_in(with_field(plain, fmt::format("u[{},0]", offset))).text,
                HasSubstr("does not fit 64 bits"));
  for (const char* const offset : {"9223372036854775807", "-9223372036854775807", "9", "-9"})
    EXPECT_THAT(caught_in(with_field(plain, fmt::format("u[{},0]", offset))).text,
                HasSubstr(fmt::format("{} cells far along x; 8 are the most", offset)));
}

TEST(ProblemFile, RefusesMoreCoefficientsThanATreeHasSymbols) {
  const std::string many =
      numbered(129, [](int i) { return fmt::format("[coefficients.c{}]\nvalue = 1\n", i); });
  EXPECT_THAT(caught_in(with_field(plain) + many).text, HasSubstr("at most 128 coefficients"));
}

TEST(ProblemFile, RefusesUnknownNamesInWhatNothingUses) {
  const auto locals = [](const std::string& line) {
    return caught_in(with_field(plain) + "[locals]\nknown = \"u[1,0] + i + nz + dz + pi\"\n" +
                     line);
  };
  EXPECT_EQ(locals("").text, "no error");
  EXPECT_EQ(locals("a = \"sin(known) + u[0,0,1]\"").text, "no error");
  EXPECT_EQ(locals("a = \"1 + knwn\"").text,
            "p.toml:12:10: nothing is named 'knwn'; do you mean 'known'?\n"
            "    a = \"1 + knwn\"\n"
            "             ^~~~");
  EXPECT_THAT(locals("a = \"sim(1)\"").text, HasSubstr("do you mean 'sin'?"));
  EXPECT_THAT(locals("a = { 3 = \"1 + bad[0,0,1]\" }").text, HasSubstr("nothing is named 'bad'"));
}

TEST(ProblemFile, ReadsBehindAByteOrderMark) {
  const std::string mark = "\xef\xbb\xbf";
  EXPECT_EQ(model(mark + "lower = [12, 345]\n" + with_field(plain)).lower[1], 345);
  EXPECT_THAT(caught_in(mark + "lower = [1, bad]\n").text,
              AllOf(StartsWith("p.toml:1:13: "), HasSubstr("\n    lower = [1, bad]\n")));
}

TEST(ProblemFile, ShowsNothingThatATerminalObeys) {
  EXPECT_THAT(caught_in("precision = \"\\u001b[2J\\u009b\\u202e\\n\\u0000\\u00e9\"").text,
              HasSubstr("'\\x1b[2J\\x9b\\u202e\\x0a\\x00\xc3\xa9'; there are"));
  EXPECT_THAT(caught_in("precision = \"\xc2\x9b\xe2\x80\xae\xc3\xa9\"").text,
              HasSubstr("\n    precision = \"??\xc3\xa9\"\n"));
  EXPECT_THAT(caught_in("axes = 1\ncells = 4\n[fields.u]\ninitial = 0\nboundary = \"\tperiodic\"\n"
                        "[update]\nu = \"u[1]\"\n[stop]\nsweeps = 1\n")
                  .text,
              HasSubstr("there is no boundary '\\x09periodic'"));
  EXPECT_THAT(caught_in("title = \"\xff\x1b\xc0\x80\xe2\x82").text,
              HasSubstr("\n    title = \"????\n"));
  EXPECT_THAT(caught_in("axes = x\r\n").text, HasSubstr("\n    axes = x\n"));
  EXPECT_EQ(
      caught_in("require = { \"1 < 0\" = \"two\\nlines\\u001b[2J\" }\n" + with_field(plain)).text,
      "two\nlines\\x1b[2J");
  EXPECT_EQ(model("title = \"\\u001b[2J\"\n" + with_field(plain)).title, "\\x1b[2J");
  EXPECT_THAT(caught_in(with_field("initial = { file = \"\\u0000\" }")).text,
              HasSubstr("without control characters"));
}

}  // namespace
}  // namespace halocline::test

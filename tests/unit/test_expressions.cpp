// SPDX-License-Identifier: Apache-2.0
// Expressions of problem files: what they mean, and what is said of mistakes.

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "problem/meaning.hpp"
#include "problem/other_languages.hpp"
#include "problem/syntax.hpp"
#include "problem/tree.hpp"

namespace halocline::test {
namespace {

using problem::Mistake;
using problem::Names;
using problem::Op;
using problem::Ref;
using problem::Tree;
using problem::Use;
using testing::HasSubstr;
using testing::Not;

/// A tree as text with all parentheses: "(u[-1,0,0] + 2)".
std::string written(const Tree& tree, Ref node) {
  const problem::Node& n = tree[node];
  const auto part = [&](std::size_t i) { return written(tree, n.operands[i]); };
  const std::string at = fmt::format("[{},{},{}]", n.offset[0], n.offset[1], n.offset[2]);
  switch (n.op) {
    case Op::constant:
      return n.is_truth ? (n.value != 0 ? "true" : "false") : fmt::format("{}", n.value);
    case Op::access:
      return fmt::format("{}{}", "uvD"[n.symbol], at);
    case Op::coordinate:
      return fmt::format("{}{}", "xyz"[n.symbol], at);
    case Op::index:
      return fmt::format("{}{}", "ijk"[n.symbol], at);
    case Op::time:
      return "t";
    case Op::noise:
      return fmt::format("noise({})", n.value);
    default:
      break;
  }
  std::string text = fmt::format("{}(", problem::name_of(n.op));
  for (int i = 0; i < problem::operands_of(n.op); ++i)
    text += (i > 0 ? ", " : "") + part(static_cast<std::size_t>(i));
  return text + ")";
}

Names names_of_two_fields() {
  Names names{.axes = 2, .fields = {"u", "v"}, .coefficients = {"D"}};
  names.numbers = {{"dx", 0.5}, {"dy", 0.25}, {"dt", 0.1}, {"alpha", 2.0}, {"nx", 8.0}};
  names.locals.emplace("twice", problem::parse("u + u"));
  return names;
}

std::string meaning(const std::string& text, Use use = Use::update) {
  Tree tree;
  return written(tree, meaning_of(tree, problem::parse(text), names_of_two_fields(), use));
}

struct Found {
  std::size_t at = 0;
  std::string what = {};
};

Found mistake_in(const std::string& text, Use use = Use::update) {
  try {
    meaning(text, use);
  } catch (const Mistake& mistake) {
    return {mistake.at(), mistake.what()};
  }
  return {std::string::npos, "no mistake"};
}

TEST(Expressions, KeepTheOrderInWhichTheyAreWritten) {
  EXPECT_EQ(meaning("u + v * D - v"),
            "subtract(add(u[0,0,0], multiply(v[0,0,0], D[0,0,0])), v[0,0,0])");
  EXPECT_EQ(meaning("u / v / D"), "divide(divide(u[0,0,0], v[0,0,0]), D[0,0,0])");
  EXPECT_EQ(meaning("u - (v - D)"), "subtract(u[0,0,0], subtract(v[0,0,0], D[0,0,0]))");
  EXPECT_EQ(meaning("-u^2"), "negate(multiply(u[0,0,0], u[0,0,0]))");
  EXPECT_EQ(meaning("2*-u"), "multiply(2, negate(u[0,0,0]))");
  EXPECT_EQ(meaning("select(not u < v and v > 0 or u == 1, u, v)"),
            "select(or(and(not(less(u[0,0,0], v[0,0,0])), greater(v[0,0,0], 0)), equal(u[0,0,0], "
            "1)), u[0,0,0], v[0,0,0])");
}

TEST(Expressions, MultiplyWholePowersOut) {
  EXPECT_EQ(meaning("u^3"), "multiply(multiply(u[0,0,0], u[0,0,0]), u[0,0,0])");
  EXPECT_EQ(meaning("u^-2"), "divide(1, multiply(u[0,0,0], u[0,0,0]))");
  EXPECT_EQ(meaning("u^0"), "1");
  EXPECT_EQ(meaning("u^1"), "u[0,0,0]");
  EXPECT_EQ(meaning("u^17"), "pow(u[0,0,0], 17)");
  EXPECT_EQ(meaning("u^0.5"), "pow(u[0,0,0], 0.5)");
  EXPECT_EQ(meaning("2^3^2"), "512");
  EXPECT_EQ(meaning("u^alpha"), "pow(u[0,0,0], 2)");
}

TEST(Expressions, EvaluateNumbersInDoublePrecisionAsWritten) {
  EXPECT_EQ(meaning("1/6*u"), fmt::format("multiply({}, u[0,0,0])", 1.0 / 6));
  EXPECT_EQ(meaning("alpha*dt/dx^2"), fmt::format("{}", 2.0 * 0.1 / (0.5 * 0.5)));
  EXPECT_EQ(meaning("0.1 + 0.2 + 0.3"), fmt::format("{}", 0.1 + 0.2 + 0.3));
  EXPECT_EQ(meaning("u + 1 + 2"), "add(add(u[0,0,0], 1), 2)");
  EXPECT_EQ(meaning("sin(pi/4)"), fmt::format("{}", std::sin(3.141592653589793 / 4)));
  EXPECT_EQ(meaning("select(nx > 4, u, v)"), "select(true, u[0,0,0], v[0,0,0])");
  EXPECT_EQ(meaning("select(nx > 4, 1, 2)"), "1");
}

TEST(Expressions, TakeTheSecondOfEqualExtremesNever) {
  EXPECT_EQ(meaning("min(u, v)"), "select(less(v[0,0,0], u[0,0,0]), v[0,0,0], u[0,0,0])");
  EXPECT_EQ(meaning("max(u, v)"), "select(less(u[0,0,0], v[0,0,0]), v[0,0,0], u[0,0,0])");
}

TEST(Expressions, WriteDifferencesOut) {
  EXPECT_EQ(meaning("ddx(u)"), "multiply(1, subtract(u[1,0,0], u[-1,0,0]))");
  EXPECT_EQ(meaning("d2dy2(u)"),
            "add(multiply(-32, u[0,0,0]), multiply(16, add(u[0,-1,0], u[0,1,0])))");
  EXPECT_EQ(meaning("laplace(u)"),
            "add(add(multiply(-8, u[0,0,0]), multiply(4, add(u[-1,0,0], u[1,0,0]))), "
            "add(multiply(-32, u[0,0,0]), multiply(16, add(u[0,-1,0], u[0,1,0]))))");
  EXPECT_EQ(meaning("ddx(u[0,1] * x)"),
            "multiply(1, subtract(multiply(u[1,1,0], x[1,0,0]), multiply(u[-1,1,0], x[-1,0,0])))");
  EXPECT_EQ(meaning("ddy(x)"), "multiply(2, subtract(x[0,0,0], x[0,0,0]))");
}

TEST(Expressions, AddUpOffsetsOfNestedDifferences) {
  Tree tree;
  const Ref node = meaning_of(tree, problem::parse("laplace(u^3 - u - laplace(u)) + v[0,-3]"),
                              names_of_two_fields(), Use::update);
  const Ref formulas[] = {node};
  const auto reach = problem::reach_of(tree, formulas, 3);
  EXPECT_EQ(reach[0].lower, (std::array{2, 2, 0}));
  EXPECT_EQ(reach[0].upper, (std::array{2, 2, 0}));
  EXPECT_EQ(reach[1].lower, (std::array{0, 3, 0}));
  EXPECT_EQ(reach[1].upper, (std::array{0, 0, 0}));
  EXPECT_FALSE(reach[2].is_read);
}

/// The value at 0 of an expression of `a` = x^p y^q z^r, with spacings of 1.
double at_zero(const std::string& text, const std::array<int, 3>& powers) {
  Tree tree;
  Names names{.axes = 3, .fields = {"a"}};
  names.numbers = {{"dx", 1.0}, {"dy", 1.0}, {"dz", 1.0}};
  const Ref node = meaning_of(tree, problem::parse(text), names, Use::update);
  const Ref formulas[] = {node};
  std::map<Ref, double> values;
  for (const Ref at : nodes_of(tree, formulas)) {
    const problem::Node& one = tree[at];
    const auto operand = [&](std::size_t i) { return values.at(one.operands[i]); };
    double value = 1;
    for (std::size_t axis = 0; axis < 3; ++axis) value *= std::pow(one.offset[axis], powers[axis]);
    values[at] = one.op == Op::constant   ? one.value
                 : one.op == Op::access   ? value
                 : one.op == Op::add      ? operand(0) + operand(1)
                 : one.op == Op::subtract ? operand(0) - operand(1)
                                          : operand(0) * operand(1);
  }
  return values.at(node);
}

TEST(Expressions, HaveDifferencesOfTheirOrder) {
  for (const int order : {2, 4, 6, 8})
    for (int n = 0; n <= order; ++n) {
      const auto value = [&](const char* macro) {  // exact up to the order
        return at_zero(fmt::format("{}(a, {})", macro, order), {n, 0, 0});
      };
      EXPECT_NEAR(value("ddx"), n == 1 ? 1 : 0, 1e-10) << order << ' ' << n;
      EXPECT_NEAR(value("d2dx2"), n == 2 ? 2 : 0, 1e-9) << order << ' ' << n;
    }
}

TEST(Expressions, ShareEqualParts) {
  Tree tree;
  const Names names = names_of_two_fields();
  const Ref one = meaning_of(tree, problem::parse("(u*v + 1) / (u*v + 1)"), names, Use::update);
  EXPECT_EQ(tree[one].operands[0], tree[one].operands[1]);
  const std::size_t size = tree.size();
  EXPECT_EQ(
      meaning_of(tree, problem::parse("(u*v + 1) / (v*0 + u*v + 1)"), names, Use::update) == one,
      false);
  EXPECT_GT(tree.size(), size);
  EXPECT_NE(meaning_of(tree, problem::parse("u + 0"), names, Use::update),
            meaning_of(tree, problem::parse("u - 0"), names, Use::update));
}

TEST(Expressions, KnowWhatTheyMayUse) {
  EXPECT_EQ(meaning("twice * v"), "multiply(add(u[0,0,0], u[0,0,0]), v[0,0,0])");
  EXPECT_EQ(meaning("noise(3) + x", Use::initial), "add(noise(3), x[0,0,0])");
  EXPECT_EQ(meaning("sin(t + j)", Use::boundary), "sin(add(t, j[0,0,0]))");
  EXPECT_THAT(mistake_in("noise()").what, HasSubstr("initial values only"));
  EXPECT_THAT(mistake_in("u", Use::initial).what, HasSubstr("updates only"));
  EXPECT_THAT(mistake_in("twice", Use::boundary).what, HasSubstr("updates only"));
  EXPECT_THAT(mistake_in("t", Use::initial).what, HasSubstr("updates and boundaries"));
  EXPECT_THAT(mistake_in("x", Use::number).what, HasSubstr("one number"));
  EXPECT_THAT(mistake_in("z").what, HasSubstr("2 axes"));
  EXPECT_THAT(mistake_in("ddz(u)").what, HasSubstr("2 axes"));
}

void expect_mistake(const std::string& text, std::size_t at, const std::string& words) {
  const Found found = mistake_in(text);
  EXPECT_EQ(found.at, at) << text << ": " << found.what;
  EXPECT_THAT(found.what, HasSubstr(words)) << text;
}

TEST(Expressions, SayWhereTheMistakeIs) {
  expect_mistake("u + alfa", 4, "do you mean 'alpha'?");
  expect_mistake("u + lapalce(u)", 4, "do you mean 'laplace'?");
  expect_mistake("u + qqqq", 4, "nothing is named 'qqqq'");
  expect_mistake("u +", 3, "ends where a value");
  expect_mistake("(u + v", 6, "')' is expected, for the '('");
  expect_mistake("sin(u", 5, "')' is expected, for the '('");
  expect_mistake("u[1,0", 5, "']' is expected, for the '['");
  expect_mistake("u v", 2, "an operator or the end");
  expect_mistake("2u", 1, "write *");
  expect_mistake("1.2.3", 3, "a number ends here");
  expect_mistake("1e999", 0, "does not fit");
  expect_mistake("u && v", 2, "write 'and'");
  expect_mistake("u ** 2", 2, "write ^ for powers");
  expect_mistake("u = v", 2, "==");
  expect_mistake("u # v", 2, "no '#'");
  expect_mistake("u[1]", 0, "1 offset here; the problem has 2 axes");
  expect_mistake("u[1.5,0]", 2, "whole number");
  expect_mistake("u[9,0]", 0, "9 cells far");
  expect_mistake("laplace(u[8,0])", 0, "9 cells far");
  expect_mistake("twice[1]", 0, "1 offset here; the problem has 2 axes");
  expect_mistake("alpha[1,0]", 0, "no field, no coefficient and none of [locals]");
  expect_mistake("laplace(u, 3)", 11, "2, 4, 6 or 8");
  expect_mistake("x[1,0]", 0, "no neighbours");
  expect_mistake("i[1,0]", 0, "no neighbours");
  expect_mistake("sin(u, v)", 0, "takes 1 argument, not 2");
  expect_mistake("u > v", 2, "select(condition, 1, 0)");
  expect_mistake("select(u, 1, 0)", 7, "compare it");
  expect_mistake("(u < v) + 1", 3, "a number is expected");
  expect_mistake("u < v < 1", 2, "a number is expected");
  expect_mistake("sin", 0, "is a function");
  expect_mistake("", 0, "ends where a value");
  expect_mistake("\x01", 0, "0x01");
}

TEST(Expressions, SayWhatToWriteInstead) {
  // Other languages.
  expect_mistake("1.5d-3*u", 3, "write e for the exponent: 1.5e-3");
  expect_mistake("2D4", 1, "2e4");
  expect_mistake("2d", 1, "write * between");
  expect_mistake("2d2u", 1, "write * between");
  expect_mistake("1.5f*u", 3, "write it without the f: 1.5");
  expect_mistake("1_000", 1, "without _");
  expect_mistake("0x10", 1, "decimal");
  expect_mistake("u // 2", 2, "for floor(a) write a + C - C");
  expect_mistake("u <> v", 2, "write !=");
  expect_mistake("u => v", 2, "write >=");
  expect_mistake("i % 2", 2, "for mod(a, b) write a - b*(");
  expect_mistake("u > 0 ? u : v", 6, "write select(condition, a, b)");
  expect_mistake("u if u > 0 else v", 2, "write select(condition, a, b)");
  expect_mistake("(u if u > 0 else v)", 3, "write select(condition, a, b)");
  expect_mistake("if u > 0 then u", 0, "write select(condition, a, b)");
  expect_mistake("if(u > 0, u, v)", 0, "write select(condition, a, b)");
  expect_mistake("|u|", 0, "abs(...)");
  // Products.
  expect_mistake("3(u + v)", 1, "write * to multiply");
  expect_mistake("2 u", 2, "not 'u'; write * to multiply");
  expect_mistake("dt*(2 u)", 6, "write * before 'u' to multiply, or ')' for the '('");
  expect_mistake("sin(2 u)", 6, "write * before 'u' to multiply");
  expect_mistake("dt(u + v)", 0, "'dt' is no function: write dt*(...) to multiply");
  expect_mistake("dx(u)", 0, "write dx*(...) to multiply, ddx for the derivative");
  // Neighbours.
  expect_mistake("u(1,0)", 0, "write u[1,0] for a neighbour");
  expect_mistake("u(i-1, j+2)", 0, "write u[-1,2] for a neighbour");
  expect_mistake("twice(x)", 0, "write twice[1,0] for a neighbour, twice*(...) to multiply");
  expect_mistake("u[i+1,j]", 2, "write u[1,0] for u[i+1,j]");
  // Names.
  expect_mistake("nz", 0, "there is no 'nz': the problem has 2 axes");
  expect_mistake("dz", 0, "there is no 'dz': the problem has 2 axes");
  expect_mistake("Nx*u", 0, "do you mean 'nx'?");
  expect_mistake("e^u", 0, "write exp(1)");
  expect_mistake("twoce[1,0]", 0, "do you mean 'twice'?");
  expect_mistake("alfa[1,0]", 0, "nothing is named 'alfa'");
  EXPECT_EQ(mistake_in("alfa[1,0]").what, "nothing is named 'alfa'") << "alpha has no neighbours";
  EXPECT_EQ(mistake_in("twoce", Use::initial).what, "nothing is named 'twoce'");
  // Functions that are near in letters are others.
  for (const char* name : {"tan", "sinh", "cosh", "sgn", "cot", "log10", "cbrt", "mean", "d3dx3",
                           "dxx", "sinc", "fmod", "besselj", "mix"})
    EXPECT_THAT(mistake_in(fmt::format("{}(u)", name)).what, Not(HasSubstr("do you mean"))) << name;
}

TEST(Expressions, NameCharactersThatWerePasted) {
  const std::pair<const char*, const char*> cases[] = {
      {"u \u2212 v", "no '\u2212' (U+2212); write -"},
      {"u \u00d7 v", "no '\u00d7' (U+00D7); write *"},
      {"u \u00b7 v", "'\u00b7' (U+00B7); write *"},
      {"u\u00b2", "'\u00b2' (U+00B2); write ^2"},
      {"2*\u03c0", "'\u03c0' (U+03C0); write pi"},
      {"\u221au", "'\u221a' (U+221A); write sqrt(...)"},
      {"\u2019u", "'\u2019' (U+2019); write \" or '"},
      {"\u201cu", "'\u201c' (U+201C); write \" or '"},
      {"u\u00a0+ v", "no space that is not plain (U+00A0); write a plain space"},
      {"u\u200b+ v", "no invisible character (U+200B); leave it out"},
      {"u \u2264 v", "write <="},
      {"\uff08u", "'\uff08' (U+FF08); write ("},
      {"\u00e9", "an expression has no '\u00e9' (U+00E9)"},
      {"\xe9", "an expression has no byte 0xe9"},
  };
  for (const auto& [text, words] : cases)
    EXPECT_THAT(mistake_in(text).what, HasSubstr(words)) << text;
}

TEST(Expressions, EndWithAMistakeHoweverDeepTheyAre) {
  for (const std::string unit : {"(", "-", "not ", "sin(", "2^", "u[0,0]+", "u*(", "select("})
    for (const std::size_t times : {300UL, 100'000UL}) {
      std::string text;
      for (std::size_t i = 0; i < times; ++i) text += unit;
      EXPECT_THAT(mistake_in(text + "u").what,
                  testing::AnyOf(HasSubstr("levels deep"), HasSubstr("is expected")))
          << unit;
    }
}

// Each local uses the one before twice: written out it would have 2^100 nodes.
TEST(Expressions, GrowNoFasterThanTheirText) {
  Names names{.axes = 1, .fields = {"u"}};
  names.locals.emplace("a0", problem::parse("u + 1"));
  for (int i = 1; i < 100; ++i)
    names.locals.emplace(fmt::format("a{}", i), problem::parse(fmt::format("a{0} * a{0}", i - 1)));
  Tree tree;
  meaning_of(tree, problem::parse("a99"), names, Use::update);
  EXPECT_LT(tree.size(), 200U);
  names.locals.emplace("b0", problem::parse("u"));
  for (int i = 1; i < 100'000; ++i)
    names.locals.emplace(fmt::format("b{}", i), problem::parse(fmt::format("b{}", i - 1)));
  EXPECT_THROW(meaning_of(tree, problem::parse("b99999"), names, Use::update), Mistake);
  names.locals.emplace("loop", problem::parse("1 + loop"));
  EXPECT_THROW(meaning_of(tree, problem::parse("loop"), names, Use::update), Mistake);
}

// ---- functions of other languages ----

/// The proposal for a function, ready to compute values.
class Proposal {
 public:
  explicit Proposal(const problem::ForeignFunction& function) {
    std::string text = function.text;
    const auto replace = [&](std::string_view word, std::string_view by) {
      text = std::regex_replace(text, std::regex(fmt::format("\\b{}\\b", word)),
                                fmt::format("({})", by));
    };
    // Later letters stand in the meanings of earlier ones.
    for (const auto& [letter, meaning] : function.letters) replace(letter, meaning);
    replace("condition", "a > 0");
    syntax_ = problem::parse(text);
    const bool is_operation = syntax_.kind == problem::Syntax::Kind::operation;
    is_truth_ = is_operation && (syntax_.name == "!=" || syntax_.name == "==");
  }

  double operator()(double a, double b = 0, double c = 0) const {
    Names names{.axes = 1};
    names.numbers = {{"a", a}, {"b", b}, {"c", c}};
    Tree tree;
    return tree[is_truth_ ? condition_of(tree, syntax_, names, Use::number)
                          : meaning_of(tree, syntax_, names, Use::number)]
        .value;
  }

 private:
  problem::Syntax syntax_;
  bool is_truth_ = false;
};

using Right = std::function<double(double, double, double)>;

/// What functions are, by the C library or by their definition.
const std::map<std::string_view, Right>& right_values() {
  const auto one = [](double (*function)(double)) {
    return [function](double a, double, double) { return function(a); };
  };
  const auto two = [](double (*function)(double, double)) {
    return [function](double a, double b, double) { return function(a, b); };
  };
  constexpr double degree = 3.141592653589793 / 180;
  static const std::map<std::string_view, Right> all{
      {"tan", one(std::tan)},
      {"cot", [](double a, double, double) { return 1 / std::tan(a); }},
      {"sec", [](double a, double, double) { return 1 / std::cos(a); }},
      {"csc", [](double a, double, double) { return 1 / std::sin(a); }},
      {"sinh", one(std::sinh)},
      {"cosh", one(std::cosh)},
      {"coth", [](double a, double, double) { return 1 / std::tanh(a); }},
      {"sech", [](double a, double, double) { return 1 / std::cosh(a); }},
      {"csch", [](double a, double, double) { return 1 / std::sinh(a); }},
      {"asinh", one(std::asinh)},
      {"acosh", one(std::acosh)},
      {"atanh", one(std::atanh)},
      {"atan", one(std::atan)},
      {"asin", one(std::asin)},
      {"acos", one(std::acos)},
      {"atan2", two(std::atan2)},
      {"sind", [](double a, double, double) { return std::sin(a * degree); }},
      {"cosd", [](double a, double, double) { return std::cos(a * degree); }},
      {"tand", [](double a, double, double) { return std::tan(a * degree); }},
      {"sinpi", [](double a, double, double) { return std::sin(a * 180 * degree); }},
      {"cospi", [](double a, double, double) { return std::cos(a * 180 * degree); }},
      {"sinc", [](double a, double, double) { return a == 0 ? 1 : std::sin(a) / a; }},
      {"radians", [](double a, double, double) { return a * degree; }},
      {"degrees", [](double a, double, double) { return a / degree; }},
      {"ln", one(std::log)},
      {"log10", one(std::log10)},
      {"log2", one(std::log2)},
      {"log1p", one(std::log1p)},
      {"expm1", one(std::expm1)},
      {"exp2", one(std::exp2)},
      {"exp10", [](double a, double, double) { return std::pow(10, a); }},
      {"power", two(std::pow)},
      {"square", [](double a, double, double) { return a * a; }},
      {"cube", [](double a, double, double) { return a * a * a; }},
      {"cbrt", one(std::cbrt)},
      {"rsqrt", [](double a, double, double) { return 1 / std::sqrt(a); }},
      {"hypot", two(std::hypot)},
      {"erf", one(std::erf)},
      {"erfc", one(std::erfc)},
      {"sigmoid", [](double a, double, double) { return 1 / (1 + std::exp(-a)); }},
      {"fabs", one(std::fabs)},
      {"sign", [](double a, double, double) { return static_cast<double>((a > 0) - (a < 0)); }},
      {"copysign", two(std::copysign)},
      {"heaviside", [](double a, double, double) { return a < 0 ? 0.0 : 1.0; }},
      {"relu", [](double a, double, double) { return a < 0 ? 0.0 : a; }},
      {"fmin", two(std::fmin)},
      {"fmax", two(std::fmax)},
      {"mean", [](double a, double b, double) { return (a + b) / 2; }},
      {"clamp",
       [](double a, double b, double c) { return b > c ? std::nan("") : std::clamp(a, b, c); }},
      {"lerp", [](double a, double b, double c) { return std::lerp(a, b, c); }},
      {"mad", [](double a, double b, double c) { return a * b + c; }},
      {"if", [](double a, double b, double) { return a > 0 ? a : b; }},
      {"merge", [](double a, double b, double) { return a > 0 ? a : b; }},
      {"isnan", [](double a, double, double) { return std::isnan(a) ? 1.0 : 0.0; }},
      {"isfinite", [](double a, double, double) { return std::isfinite(a) ? 1.0 : 0.0; }},
      {"round", one(std::nearbyint)},
      {"floor", one(std::floor)},
      {"ceil", one(std::ceil)},
      {"trunc", one(std::trunc)},
      {"frac", [](double a, double, double) { return a - std::floor(a); }},
      {"mod", [](double a, double b, double) { return a - b * std::floor(a / b); }},
      {"fmod", two(std::fmod)},
  };
  return all;
}

bool is_derivative(const problem::ForeignFunction& function) {
  return function.text.starts_with("dd") || function.text.starts_with("d2") ||
         function.text.starts_with("laplace");
}

TEST(OtherLanguages, ProposesTheRightValues) {
  // Quotients are exact, so that functions that jump are told by them.
  const std::vector<double> numbers{-1e6, -7, -2.5, -1, -0.75, -0.125, 0,  0.125,
                                    0.5,  1,  1.5,  2,  3.25,  6,      1e6};
  for (const problem::ForeignFunction& function : problem::foreign_functions()) {
    if (is_derivative(function)) continue;
    const auto right = right_values().find(function.names[0]);
    ASSERT_NE(right, right_values().end()) << function.names[0];
    const Proposal proposal(function);
    // Arguments that it does not have stay 0.
    const auto values = [&](char letter) {
      return function.arguments.find(letter) == std::string_view::npos ? std::vector{0.0} : numbers;
    };
    int tried = 0;
    for (const double a : values('a'))
      for (const double b : values('b'))
        for (const double c : {-1.0, 0.5, 2.0}) {
          const double wanted = right->second(a, b, c);
          if (!std::isfinite(wanted) || std::fabs(wanted) > 1e9) continue;
          const double error = function.accuracy.empty()
                                   ? 1e-9 * std::max(1.0, std::fabs(wanted))
                                   : std::stod(std::string(function.accuracy));
          EXPECT_NEAR(proposal(a, b, c), wanted, error)
              << function.names[0] << ' ' << a << ' ' << b << ' ' << c;
          ++tried;
        }
    EXPECT_GE(tried, 15) << function.names[0];
  }
  const auto named = [](std::string_view name) {
    const auto all = problem::foreign_functions();
    return Proposal(*std::find_if(all.begin(), all.end(), [&](const problem::ForeignFunction& one) {
      return one.names[0] == name;
    }));
  };
  EXPECT_EQ(named("isnan")(std::nan("")), 1);
  EXPECT_EQ(named("isfinite")(std::nan("")), 0);
  EXPECT_EQ(named("isfinite")(HUGE_VAL), 0);
}

TEST(OtherLanguages, ProposesTheRightDerivatives) {
  const auto expect = [](std::string_view name, const std::array<int, 3>& powers, double wanted) {
    for (const problem::ForeignFunction& one : problem::foreign_functions())
      if (std::find(one.names.begin(), one.names.end(), name) != one.names.end()) {
        EXPECT_EQ(at_zero(one.text, powers), wanted) << name;
        return;
      }
    ADD_FAILURE() << name;
  };
  expect("dxx", {2, 0, 0}, 2);
  expect("dyy", {0, 2, 0}, 2);
  expect("dzz", {0, 0, 2}, 2);
  expect("d3dx3", {3, 0, 0}, 6);
  expect("d3dy3", {0, 3, 0}, 6);
  expect("d3dz3", {0, 0, 3}, 6);
  expect("d4dx4", {4, 0, 0}, 24);
  expect("d4dy4", {0, 4, 0}, 24);
  expect("d4dz4", {0, 0, 4}, 24);
  expect("d2dxdy", {1, 1, 0}, 1);
  expect("d2dxdz", {1, 0, 1}, 1);
  expect("d2dydz", {0, 1, 1}, 1);
  expect("laplacian", {0, 2, 0}, 2);
  expect("biharmonic", {2, 2, 0}, 8);
  expect("biharmonic", {0, 0, 4}, 24);
}

TEST(OtherLanguages, SaysHowToWriteWhatHasLettersOfItsOwn) {
  EXPECT_EQ(problem::advice_on_function("tan"), "for tan(a) write sin(a)/cos(a)");
  EXPECT_EQ(problem::advice_on_function("rint"),
            "for rint(a) write a + C - C, where C is 1.5*2^52 (1.5*2^23 in updates of precision "
            "f32)");
  EXPECT_THAT(problem::advice_on_function("erf"), HasSubstr(", where q is abs(a); right to 3e-7"));
  EXPECT_EQ(problem::advice_on_function("besselj"), "");
  EXPECT_EQ(problem::advice_on_boundary("Zero-Gradient"), "write \"reflect\"");
}

}  // namespace
}  // namespace halocline::test

// SPDX-License-Identifier: Apache-2.0
// Expressions of problem files: what they mean, and what is said of mistakes.

#include <cmath>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "problem/meaning.hpp"
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

/// The value of a derivative of x^n at the cell whose centre is 0, spacing 1: exact up to the
/// order.
double derivative_of_power(const std::string& macro, int order, int n) {
  Tree tree;
  Names names{.axes = 1, .fields = {"u"}};
  names.numbers = {{"dx", 1.0}};
  const Ref node =
      meaning_of(tree, problem::parse(fmt::format("{}(u, {})", macro, order)), names, Use::update);
  const Ref formulas[] = {node};
  std::map<Ref, double> values;
  for (const Ref at : nodes_of(tree, formulas)) {
    const problem::Node& one = tree[at];
    const auto operand = [&](std::size_t i) { return values.at(one.operands[i]); };
    values[at] = one.op == Op::constant   ? one.value
                 : one.op == Op::access   ? std::pow(one.offset[0], n)
                 : one.op == Op::add      ? operand(0) + operand(1)
                 : one.op == Op::subtract ? operand(0) - operand(1)
                                          : operand(0) * operand(1);
  }
  return values.at(node);
}

TEST(Expressions, HaveDifferencesOfTheirOrder) {
  for (const int order : {2, 4, 6, 8})
    for (int n = 0; n <= order; ++n) {
      EXPECT_NEAR(derivative_of_power("ddx", order, n), n == 1 ? 1 : 0, 1e-10) << order << ' ' << n;
      EXPECT_NEAR(derivative_of_power("d2dx2", order, n), n == 2 ? 2 : 0, 1e-9)
          << order << ' ' << n;
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

TEST(Expressions, SayWhereTheMistakeIs) {
  const auto expect = [](const std::string& text, std::size_t at, const std::string& words) {
    const Found found = mistake_in(text);
    EXPECT_EQ(found.at, at) << text << ": " << found.what;
    EXPECT_THAT(found.what, HasSubstr(words)) << text;
  };
  expect("u + alfa", 4, "do you mean 'alpha'?");
  expect("u + lapalce(u)", 4, "do you mean 'laplace'?");
  expect("u + qqqq", 4, "nothing is named 'qqqq'");
  expect("u +", 3, "ends where a value");
  expect("(u + v", 6, "')' is expected, for the '(' at column 1");
  expect("u v", 2, "an operator or the end");
  expect("2u", 1, "write *");
  expect("1.2.3", 3, "a number ends here");
  expect("1e999", 0, "does not fit");
  expect("u && v", 2, "write 'and'");
  expect("u ** 2", 2, "write ^ for powers");
  expect("u = v", 2, "==");
  expect("u # v", 2, "no '#'");
  expect("u[1]", 0, "1 offsets here; the problem has 2 axes");
  expect("u[1.5,0]", 2, "whole number");
  expect("u[9,0]", 0, "9 cells far");
  expect("laplace(u[8,0])", 0, "9 cells far");
  expect("twice[1]", 0, "1 offsets here; the problem has 2 axes");
  expect("alpha[1,0]", 0, "no field, no coefficient and none of [locals]");
  expect("laplace(u, 3)", 11, "2, 4, 6 or 8");
  expect("x[1,0]", 0, "no neighbours");
  expect("i[1,0]", 0, "no neighbours");
  expect("sin(u, v)", 0, "takes 1 argument, not 2");
  expect("u > v", 2, "select(condition, 1, 0)");
  expect("select(u, 1, 0)", 7, "compare it");
  expect("(u < v) + 1", 3, "a number is expected");
  expect("u < v < 1", 2, "a number is expected");
  expect("sin", 0, "is a function");
  expect("", 0, "ends where a value");
  expect("\x01", 0, "0x01");
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

}  // namespace
}  // namespace halocline::test

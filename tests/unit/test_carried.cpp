// SPDX-License-Identifier: Apache-2.0
// Formulas computed step by step along an axis, with parts kept from earlier steps, against the
// formulas as they are written.

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "problem/meaning.hpp"
#include "problem/syntax.hpp"
#include "stencil/carried.hpp"
#include "support/models.hpp"

namespace halocline::test {
namespace {

using problem::Node;
using problem::Op;
using problem::Ref;
using problem::Tree;
using stencil::Carried;
using stencil::carried_along;

/// A number for every cell and every operation: equal only where the same is computed of the same.
std::uint64_t scrambled(std::uint64_t value) {
  value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9;
  value = (value ^ value >> 27) * 0x94D049BB133111EB;
  return value ^ value >> 31;
}

std::uint64_t of_leaf(const Node& node, int layer, std::size_t axis) {
  std::uint64_t value = scrambled(static_cast<std::uint64_t>(node.op) + 1000 * node.symbol);
  for (std::size_t i = 0; i < 3; ++i)
    value = scrambled(
        value + static_cast<std::uint64_t>(
                    node.offset[i] +
                    (i == axis && node.op != Op::constant && node.op != Op::time ? layer : 0)));
  return scrambled(value ^ static_cast<std::uint64_t>(1e6 * node.value));
}

template <class Operand>
std::uint64_t of_operation(const Node& node, const Operand& operand) {
  std::uint64_t value = scrambled(static_cast<std::uint64_t>(node.op));
  for (int i = 0; i < problem::operands_of(node.op); ++i)
    value = scrambled(value + operand(node.operands[static_cast<std::size_t>(i)]));
  return value;
}

std::uint64_t as_written(const Tree& tree, Ref formula, int layer, std::size_t axis) {
  const Node& node = tree[formula];
  if (problem::operands_of(node.op) == 0) return of_leaf(node, layer, axis);
  return of_operation(node, [&](Ref operand) { return as_written(tree, operand, layer, axis); });
}

/// Walks over layers 0 to 9 and expects of each formula what it is as written.
void expect_same(const Tree& tree, const std::vector<Ref>& formulas, int axis,
                 const Carried& carried) {
  const auto a = static_cast<std::size_t>(axis);
  std::vector<std::uint64_t> kept(static_cast<std::size_t>(carried.slots), 0);
  for (int layer = -carried.steps_before; layer < 10; ++layer) {
    std::map<Ref, std::uint64_t> values;
    for (const auto& [node, slot] : carried.kept)
      values[node] = kept[static_cast<std::size_t>(slot)];
    for (const Ref node : carried.computed)
      values[node] = problem::operands_of(tree[node].op) == 0
                         ? of_leaf(tree[node], layer, a)
                         : of_operation(tree[node], [&](Ref one) { return values.at(one); });
    for (const stencil::CarriedValue& value : carried.values)
      for (int step = value.steps - 1; step >= 0; --step) {
        const std::size_t slot =
            static_cast<std::size_t>(value.first_slot) + static_cast<std::size_t>(step);
        kept[slot] = step > 0 ? kept[slot - 1] : values.at(value.leading);
      }
    if (layer < 0) continue;
    for (const Ref formula : formulas)
      EXPECT_EQ(values.at(formula), as_written(tree, formula, layer, a)) << "layer " << layer;
  }
}

Carried of_problem(const std::string& name) {
  const problem::Model model = built_in(name, {}, {});
  const std::vector<Ref> updates = model.updates();
  const Carried carried = carried_along(model.tree, updates, model.axes - 1);
  expect_same(model.tree, updates, model.axes - 1, carried);
  return carried;
}

Carried of_formula(const std::string& text, int axis) {
  Tree tree;
  problem::Names names{.axes = 2, .fields = {"u", "v"}, .coefficients = {"D"}};
  names.numbers = {{"dx", 1.0}, {"dy", 1.0}, {"dt", 0.1}};
  const std::vector<Ref> formulas{
      problem::meaning_of(tree, problem::parse(text), names, problem::Use::update)};
  const Carried carried = carried_along(tree, formulas, axis);
  expect_same(tree, formulas, axis, carried);
  return carried;
}

TEST(Carried, RingsOfABoxAreAddedUpOnce) {
  const Carried box27 = of_problem("box27");
  EXPECT_EQ(box27.slots, 4);  // two rings of two layers
  EXPECT_EQ(box27.steps_before, 2);
  const Carried box125 = of_problem("box125");
  EXPECT_EQ(box125.slots, 20);  // five rings of four layers
  EXPECT_EQ(box125.steps_before, 4);
}

TEST(Carried, EveryProblemIsComputedAsItIsWritten) {
  for (const problem::BuiltIn& one : problem::built_in_problems()) {
    SCOPED_TRACE(one.name);
    of_problem(std::string(one.name));
  }
}

TEST(Carried, NothingIsWhereNothingRepeats) {
  for (const char* name : {"laplace", "star7", "star25", "gray_scott"})
    EXPECT_EQ(of_problem(name).slots, 0) << name;
}

TEST(Carried, CheapPartsAreComputedAgain) {
  EXPECT_EQ(of_formula("u*v + u[0,-1]*v[0,-1]", 1).slots, 0);
  EXPECT_EQ(of_formula("u/v + u[0,-1]/v[0,-1]", 1).slots, 1);
  EXPECT_EQ(of_formula("(u + u[1,0]) * (u[0,-2] + u[1,-2])", 1).slots, 2);
}

TEST(Carried, PartsThatNeedOthersOfEarlierSteps) {
  const Carried chain = of_formula("laplace(laplace(laplace(u)))", 1);
  EXPECT_GE(chain.steps_before, 4);
  of_formula("laplace(exp(laplace(u)) * D)", 1);
  of_formula("laplace(exp(laplace(u)) * D)", 0);
  of_formula("ddy(sin(y) * (u[1,0] - u)) + cos(t) * ddy(u*u[1,1])", 1);
  of_formula("d2dy2(u, 8) + d2dy2(d2dx2(u, 4), 6)", 1);
}

/// A formula that is itself another one, a layer behind.
TEST(Carried, AFormulaMayBeKeptWhole) {
  Tree tree;
  const problem::Names names{.axes = 2, .fields = {"u"}};
  std::vector<Ref> formulas;
  for (const char* text : {"u[1,0] + u[-1,0]", "u[1,2] + u[-1,2]"})
    formulas.push_back(
        problem::meaning_of(tree, problem::parse(text), names, problem::Use::update));
  const Carried carried = carried_along(tree, formulas, 1);
  EXPECT_EQ(carried.slots, 2);
  EXPECT_EQ(carried.steps_before, 2);
  expect_same(tree, formulas, 1, carried);
}

}  // namespace
}  // namespace halocline::test

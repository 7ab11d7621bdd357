// SPDX-License-Identifier: Apache-2.0
#include "problem/tree.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <set>
#include <stdexcept>
#include <tuple>

#include <fmt/format.h>

#include "problem/operations.hpp"
#include "problem/syntax.hpp"

namespace halocline::problem {
namespace {

constexpr std::array<OpFacts, 30> facts{{
    {"constant", 0},
    {"access", 0},
    {"coordinate", 0},
    {"index", 0},
    {"time", 0},
    {"noise", 0},
    {"negate", 1, false, "-", 7},
    {"abs", 1},
    {"sqrt", 1},
    {"exp", 1},
    {"log", 1},
    {"sin", 1},
    {"cos", 1},
    {"tanh", 1},
    {"not", 1, true, "not", 3},
    {"add", 2, false, "+", 5},
    {"subtract", 2, false, "-", 5},
    {"multiply", 2, false, "*", 6},
    {"divide", 2, false, "/", 6},
    {"pow", 2},
    {"less", 2, true, "<", 4},
    {"less_equal", 2, true, "<=", 4},
    {"greater", 2, true, ">", 4},
    {"greater_equal", 2, true, ">=", 4},
    {"equal", 2, true, "==", 4},
    {"not_equal", 2, true, "!=", 4},
    {"and", 2, true, "and", 2},
    {"or", 2, true, "or", 1},
    {"fma", 3},
    {"select", 3},
}};
static_assert(facts.size() == static_cast<std::size_t>(Op::select) + 1);

template <class Is>
std::optional<Op> op_that(Is is) {
  const auto found = std::find_if(facts.begin(), facts.end(), is);
  if (found == facts.end()) return std::nullopt;
  return static_cast<Op>(found - facts.begin());
}

/// All that makes two nodes differ. Numbers by their bits: -0.0 is not 0.0.
auto key_of(const Node& node) {
  return std::tuple(node.op, node.is_truth, node.symbol, node.offset, node.operands,
                    std::bit_cast<std::uint64_t>(node.value));
}

/// The nodes that those waiting need, operands first, without known ones and their operands.
template <class IsKnown>
std::vector<Ref> nodes_below(const Tree& tree, std::vector<Ref> waiting, const IsKnown& is_known) {
  std::set<Ref> needed;
  while (!waiting.empty()) {
    const Ref node = waiting.back();
    waiting.pop_back();
    if (is_known(node) || !needed.insert(node).second) continue;
    const std::span<const Ref> operands = operands_of(tree[node]);
    waiting.insert(waiting.end(), operands.begin(), operands.end());
  }
  return {needed.begin(), needed.end()};
}

}  // namespace

const OpFacts& facts_of(Op op) { return facts[static_cast<std::size_t>(op)]; }

std::optional<Op> function_of(std::string_view name) {
  return op_that(
      [&](const OpFacts& one) { return one.name == name && one.operands > 0 && one.sign.empty(); });
}

std::optional<Op> operator_of(std::string_view sign) {
  return op_that([&](const OpFacts& one) { return one.sign == sign && one.operands == 2; });
}

bool Tree::Less::operator()(const Node& a, const Node& b) const { return key_of(a) < key_of(b); }

Ref Tree::add(Node node) {
  const auto found = known_.find(node);
  if (found != known_.end()) return found->second;
  if (nodes_.size() >= most_nodes)
    throw std::length_error(fmt::format("the formulas have more than {} operations", most_nodes));
  const Ref added = static_cast<Ref>(nodes_.size());
  nodes_.push_back(node);
  known_.emplace(node, added);
  return added;
}

Ref Tree::constant(double value) { return add({.value = value}); }
Ref Tree::truth(bool value) { return add({.is_truth = true, .value = value ? 1.0 : 0.0}); }
Ref Tree::time() { return add({.op = Op::time}); }
Ref Tree::noise(double number) { return add({.op = Op::noise, .value = number}); }

Ref Tree::access(int symbol, std::array<int, 3> offset) {
  Node node{.op = Op::access, .symbol = static_cast<std::uint8_t>(symbol)};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (std::abs(offset[axis]) > farthest)
      throw std::length_error(fmt::format("a formula reads {} cells far along {}; {} are the most",
                                          offset[axis], "xyz"[axis], farthest));
    node.offset[axis] = static_cast<std::int8_t>(offset[axis]);
  }
  return add(node);
}

Ref Tree::coordinate(int axis) {
  return add({.op = Op::coordinate, .symbol = static_cast<std::uint8_t>(axis)});
}
Ref Tree::index(int axis) {
  return add({.op = Op::index, .symbol = static_cast<std::uint8_t>(axis)});
}

Ref Tree::operation(Op op, std::array<Ref, 3> operands) {
  Node node{.op = op, .is_truth = problem::is_truth(op), .operands = operands};
  bool all_constant = true;
  std::array<double, 3> values{};
  for (std::size_t i = 0; i < operands_of(node).size(); ++i) {
    const Node& operand = nodes_[operands[i]];
    all_constant &= operand.op == Op::constant;
    values[i] = operand.value;
    node.depth = std::max<std::uint16_t>(node.depth, operand.depth + 1);
  }
  if (all_constant) {
    const double value = evaluated<double>(op, values[0], values[1], values[2]);
    return node.is_truth ? truth(value != 0) : constant(value);
  }
  if (node.depth > deepest)
    throw std::length_error(
        fmt::format("a formula, written out, is more than {} levels deep", deepest));
  return add(node);
}

Ref Tree::power(Ref a, int times) {
  Ref product = a;
  for (int i = 1; i < times; ++i) product = operation(Op::multiply, product, a);
  return product;
}

/// Returns a leaf as the cell at a distance has it.
Node Tree::moved_leaf(Node leaf, const std::array<int, 3>& by) {
  if (leaf.op != Op::access && leaf.op != Op::coordinate && leaf.op != Op::index) return leaf;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    // A coordinate depends on its own axis alone.
    if (leaf.op != Op::access && axis != leaf.symbol) continue;
    const int offset = leaf.offset[axis] + by[axis];
    if (std::abs(offset) > farthest)
      throw std::length_error(
          fmt::format("a formula, written out, reads {} cells far along {}; {} "
                      "are the most",
                      offset, "xyz"[axis], farthest));
    leaf.offset[axis] = static_cast<std::int8_t>(offset);
  }
  return leaf;
}

Ref Tree::shifted(Ref node, std::array<int, 3> by) {
  // Operands come first, so each has been moved when its user is.
  const auto is_known = [&](Ref at) { return shifted_.contains({at, by}); };
  for (const Ref at : nodes_below(*this, {node}, is_known)) {
    const Node old = nodes_[at];
    const auto count = static_cast<std::size_t>(operands_of(old.op));
    std::array<Ref, 3> operands{};
    for (std::size_t i = 0; i < count; ++i) operands[i] = shifted_.at({old.operands[i], by});
    shifted_[{at, by}] = count == 0 ? add(moved_leaf(old, by)) : operation(old.op, operands);
  }
  return shifted_.at({node, by});
}

std::vector<Ref> nodes_of(const Tree& tree, std::span<const Ref> formulas) {
  return nodes_below(tree, {formulas.begin(), formulas.end()}, [](Ref) { return false; });
}

bool Reach::has_neighbours() const {
  return std::any_of(lower.begin(), lower.end(), [](int cells) { return cells > 0; }) ||
         std::any_of(upper.begin(), upper.end(), [](int cells) { return cells > 0; });
}

void Reach::include(const std::array<std::int8_t, 3>& offset) {
  is_read = true;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    lower[axis] = std::max(lower[axis], -static_cast<int>(offset[axis]));
    upper[axis] = std::max(upper[axis], static_cast<int>(offset[axis]));
  }
}

std::vector<Reach> reach_of(const Tree& tree, std::span<const Ref> formulas, std::size_t symbols) {
  std::vector<Reach> reach(symbols);
  for (const Ref node : nodes_of(tree, formulas))
    if (tree[node].op == Op::access) reach[tree[node].symbol].include(tree[node].offset);
  return reach;
}

}  // namespace halocline::problem

// SPDX-License-Identifier: Apache-2.0
#include "stencil/compiled.hpp"

#include <bit>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

namespace halocline::stencil {
namespace {

using problem::Node;
using problem::Op;
using problem::Ref;
using problem::Tree;

/// A value that notes the operations on it in a tree.
struct Symbol {
  Tree* tree;
  Ref node;
  friend Symbol operator+(Symbol a, Symbol b) { return a.with(Op::add, b); }
  friend Symbol operator-(Symbol a, Symbol b) { return a.with(Op::subtract, b); }
  friend Symbol operator*(Symbol a, Symbol b) { return a.with(Op::multiply, b); }
  Symbol with(Op op, Symbol b) const { return {tree, tree->operation(op, node, b.node)}; }
};

/// A constant by its number, in place of a coefficient of a formula.
struct Slot {
  int number = 0;
};

/// The argument of a formula that returns its tree. Field 0 is the formula's, the others are slots.
struct SymbolicCells {
  Tree* tree;
  Symbol at(int x, int y, int z) const { return {tree, tree->access(0, {x, y, z})}; }
  Symbol c() const { return at(0, 0, 0); }
  Symbol w() const { return at(-1, 0, 0); }
  Symbol e() const { return at(1, 0, 0); }
  Symbol s() const { return at(0, -1, 0); }
  Symbol n() const { return at(0, 1, 0); }
  Symbol d() const { return at(0, 0, -1); }
  Symbol t() const { return at(0, 0, 1); }
  Symbol constant(Slot slot) const { return {tree, tree->access(1 + slot.number, {0, 0, 0})}; }
};

/// Compares a formula with an update, and finds the values of its slots.
class Matching {
 public:
  Matching(const Tree& formula, const Tree& update) : formula_(formula), update_(update) {}

  bool matches(Ref formula, Ref update) {
    const Node &wanted = formula_[formula], &found = update_[update];
    if (wanted.op == Op::access && wanted.symbol > 0)
      return found.op == Op::constant && !found.is_truth &&
             fits(static_cast<std::size_t>(wanted.symbol - 1), found.value);
    if (wanted.op != found.op || wanted.symbol != found.symbol || wanted.offset != found.offset)
      return false;
    for (std::size_t i = 0; i < operands_of(wanted).size(); ++i)
      if (!matches(wanted.operands[i], found.operands[i])) return false;
    return true;
  }

  const std::array<double, 4>& constants() const { return constants_; }

 private:
  bool fits(std::size_t slot, double value) {
    const bool is_new = !std::exchange(is_known_[slot], true);
    if (is_new) constants_[slot] = value;
    return std::bit_cast<std::uint64_t>(constants_[slot]) == std::bit_cast<std::uint64_t>(value);
  }

  const Tree &formula_, &update_;
  std::array<double, 4> constants_{};
  std::array<bool, 4> is_known_{};
};

template <class Row, int... slot>
bool equals(const problem::Model& model, Compiled& compiled, std::integer_sequence<int, slot...>) {
  if (model.axes != Row::axes) return false;
  Tree tree;
  const typename Row::template For<Slot> formula{Slot{slot}...};
  Matching matching(tree, model.tree);
  const bool result = matching.matches(formula(SymbolicCells{&tree}).node, model.fields[0].update);
  compiled.constants = matching.constants();
  return result;
}

template <class... Rows>
std::optional<Compiled> find(const problem::Model& model, problem::List<Rows...>) {
  Compiled compiled;
  const auto is_row = [&]<class Row>() {
    const bool found =
        equals<Row>(model, compiled, std::make_integer_sequence<int, Row::constants>());
    if (!found) ++compiled.row;
    return found;
  };
  if ((is_row.template operator()<Rows>() || ...)) return compiled;
  return std::nullopt;
}

}  // namespace

std::optional<Compiled> compiled_formula_of(const problem::Model& model) {
  if (model.fields.size() != 1 || model.fields[0].follows) return std::nullopt;
  return find(model, problem::CompiledFormulas{});
}

std::optional<std::string> cannot_be_compiled_because(const problem::Model& model) {
  // NVRTC takes some seconds for this number.
  constexpr std::size_t most_operations = 2000;
  const std::vector<Ref> updates = model.updates();
  const std::size_t operations = nodes_of(model.tree, updates).size();
  if (operations > most_operations)
    return fmt::format("its updates have {} operations, and at most {} are compiled for GPUs",
                       operations, most_operations);
  const std::size_t arrays = model.fields.size() + model.coefficients.size();
  if (arrays > most_inputs)
    return fmt::format("it has {} fields and coefficients, and kernels read at most {}", arrays,
                       most_inputs);
  return std::nullopt;
}

}  // namespace halocline::stencil

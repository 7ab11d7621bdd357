// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plain evaluation of formulas, one cell and one operation after the other.

#include <cstddef>
#include <span>
#include <vector>

#include "problem/operations.hpp"
#include "problem/tree.hpp"

namespace halocline::problem {

/// Evaluates formulas in one type. The tree must outlive it.
template <class Real>
class Interpreter {
 public:
  Interpreter(const Tree& tree, std::span<const Ref> formulas, Functions functions)
      : tree_(tree), functions_(functions), nodes_(nodes_of(tree, formulas)) {
    values_.resize(nodes_.empty() ? 0 : nodes_.back() + 1);
    for (const Ref node : nodes_)
      if (tree[node].op == Op::constant) values_[node] = static_cast<Real>(tree[node].value);
  }

  /// Evaluates all formulas for a cell; value() returns theirs. `cell` gives the leaves:
  ///   Real access(int symbol, offset), double coordinate(int axis, int offset),
  ///   double index(int axis, int offset), double time(), double noise(double number)
  template <class Cell>
  void evaluate(const Cell& cell) {
    for (const Ref at : nodes_) {
      const Node& node = tree_[at];
      const auto axis = static_cast<std::size_t>(node.symbol);
      switch (node.op) {
        case Op::constant:
          break;
        case Op::access:
          values_[at] = static_cast<Real>(cell.access(node.symbol, node.offset));
          break;
        case Op::coordinate:
          values_[at] = static_cast<Real>(cell.coordinate(node.symbol, node.offset[axis]));
          break;
        case Op::index:
          values_[at] = static_cast<Real>(cell.index(node.symbol, node.offset[axis]));
          break;
        case Op::time:
          values_[at] = static_cast<Real>(cell.time());
          break;
        case Op::noise:
          values_[at] = static_cast<Real>(cell.noise(node.value));
          break;
        default:
          values_[at] = operation(node.op, values_[node.operands[0]], values_[node.operands[1]],
                                  values_[node.operands[2]]);
      }
    }
  }

  Real value(Ref formula) const { return values_[formula]; }

 private:
  Real operation(Op op, Real a, Real b, Real c) const {
    return functions_ == Functions::own && is_function(op) ? own_function(op, a, b)
                                                           : evaluated<Real>(op, a, b, c);
  }

  const Tree& tree_;
  Functions functions_;
  std::vector<Ref> nodes_;
  std::vector<Real> values_;
};

}  // namespace halocline::problem

// SPDX-License-Identifier: Apache-2.0
#include "stencil/carried.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace halocline::stencil {
namespace {

using problem::Node;
using problem::Op;
using problem::Ref;
using problem::Tree;

/// Whether it takes many instructions.
bool is_slow(Op op) {
  return op == Op::divide || op == Op::sqrt || op == Op::exp || op == Op::log || op == Op::sin ||
         op == Op::cos || op == Op::tanh || op == Op::pow;
}

/// Nodes that differ by a shift along the axis are of one kind.
class Kinds {
 public:
  Kinds(const Tree& tree, const std::vector<Ref>& nodes, std::size_t axis) {
    for (const Ref node : nodes) add(tree, node, axis);
  }

  int kind(Ref node) const { return of_.at(node).kind; }
  /// The farthest layer that it reads; nothing if it is the same on all layers.
  std::optional<int> layer(Ref node) const { return of_.at(node).layer; }
  /// Whether it reads two cells or more, or has a division or a function.
  bool is_worth_it(Ref node) const { return of_.at(node).is_worth_it; }

 private:
  struct Found {
    int kind = 0;
    std::optional<int> layer = {};
    bool is_worth_it = false;
    std::optional<std::array<std::int8_t, 3>> cell = {};  ///< the one that it reads, or one of some
  };
  /// A node but for the layer: its operands by their kinds, and how far these lie behind it.
  using Operand = std::pair<int, int>;
  using Shape =
      std::tuple<Op, int, std::array<int, 3>, std::uint64_t, bool, std::array<Operand, 3>>;

  void add(const Tree& tree, Ref at, std::size_t axis) {
    const Node& node = tree[at];
    const bool is_place = node.op == Op::coordinate || node.op == Op::index;
    std::optional<int> layer;
    std::array<int, 3> offset{node.offset[0], node.offset[1], node.offset[2]};
    if (node.op == Op::access || (is_place && node.symbol == axis))
      layer = std::exchange(offset[axis], 0);
    for (const Ref operand : operands_of(node))
      if (const auto of_operand = this->layer(operand))
        layer = std::max(layer.value_or(*of_operand), *of_operand);
    std::array<Operand, 3> operands{};
    for (std::size_t i = 0; i < operands_of(node).size(); ++i) {
      const auto of_operand = this->layer(node.operands[i]);
      operands[i] = {kind(node.operands[i]), of_operand ? *layer - *of_operand : -1};
    }
    const auto bits = std::bit_cast<std::uint64_t>(node.value);
    const Shape shape{node.op, node.symbol, offset, bits, node.is_truth, operands};
    const auto [known, is_new] = kinds_.emplace(shape, static_cast<int>(kinds_.size()));
    Found found{.kind = known->second, .layer = layer, .is_worth_it = is_slow(node.op)};
    if (node.op == Op::access) found.cell = node.offset;
    for (const Ref below : operands_of(node)) {
      const Found& operand = of_.at(below);
      const bool differ = found.cell && operand.cell && found.cell != operand.cell;
      found.is_worth_it = found.is_worth_it || operand.is_worth_it || differ;
      if (!found.cell) found.cell = operand.cell;
    }
    of_.emplace(at, found);
  }

  std::map<Shape, int> kinds_;
  std::map<Ref, Found> of_;
};

class Search {
 public:
  Search(const Tree& tree, std::span<const Ref> formulas, int axis)
      : tree_(tree),
        formulas_(formulas),
        nodes_(nodes_of(tree, formulas)),
        kinds_(tree, nodes_, static_cast<std::size_t>(axis)) {
    for (const Ref node : nodes_)
      if (!operands_of(tree_[node]).empty() && kinds_.layer(node)) find_leading(node);
  }

  Carried found() {
    for (const Ref formula : formulas_) compute(formula);
    Carried carried;
    carried.computed = {computed_.begin(), computed_.end()};
    for (const auto& [kind, steps] : steps_of_) {
      carried.values.push_back({leading_.at(kind), carried.slots, steps});
      carried.slots += steps;
    }
    for (const Ref node : kept_) {
      const auto value = std::find_if(
          carried.values.begin(), carried.values.end(),
          [&](const CarriedValue& one) { return one.leading == leading_.at(kinds_.kind(node)); });
      carried.kept[node] = value->first_slot + behind(node) - 1;
    }
    carried.steps_before = steps_before();
    return carried;
  }

 private:
  void find_leading(Ref node) {
    const auto [known, is_new] = leading_.emplace(kinds_.kind(node), node);
    if (!is_new && *kinds_.layer(node) > *kinds_.layer(known->second)) known->second = node;
  }

  /// How many layers a node lies behind the leading one of its kind; 0 for a leaf.
  int behind(Ref node) const {
    const auto leading = leading_.find(kinds_.kind(node));
    return leading == leading_.end() ? 0 : *kinds_.layer(leading->second) - *kinds_.layer(node);
  }

  bool is_kept(Ref node) const { return behind(node) > 0 && kinds_.is_worth_it(node); }

  /// Computes a node, or keeps it and computes the leading one of its kind.
  void compute(Ref node) {
    if (computed_.contains(node) || kept_.contains(node)) return;
    if (is_kept(node)) {
      kept_.insert(node);
      int& steps = steps_of_[kinds_.kind(node)];
      steps = std::max(steps, behind(node));
      return compute(leading_.at(kinds_.kind(node)));
    }
    for (const Ref operand : operands_of(tree_[node])) compute(operand);
    computed_.insert(node);
  }

  /// The most steps back at which something kept is needed by something that is kept, and so on.
  int steps_before() const {
    std::map<Ref, int> needed;  // steps back
    const auto need = [&](Ref node, int steps) {
      int& known = needed[node];
      return std::exchange(known, std::max(known, steps)) < steps;
    };
    for (const Ref formula : formulas_)
      if (kept_.contains(formula)) need(leading_.at(kinds_.kind(formula)), behind(formula));
    // Operands come before their users, but a leading node may come after them: then once more.
    for (bool once_more = true; std::exchange(once_more, false);)
      for (auto node = computed_.rbegin(); node != computed_.rend(); ++node)
        for (const Ref operand : operands_of(tree_[*node])) {
          if (!kept_.contains(operand))
            need(operand, needed[*node]);
          else if (need(leading_.at(kinds_.kind(operand)), needed[*node] + behind(operand)))
            once_more = true;
        }
    int most = 0;
    for (const auto& [node, steps] : needed) most = std::max(most, steps);
    return most;
  }

  const Tree& tree_;
  std::span<const Ref> formulas_;
  std::vector<Ref> nodes_;
  Kinds kinds_;
  std::map<int, Ref> leading_;  // by kind
  std::set<Ref> computed_, kept_;
  std::map<int, int> steps_of_;  // by kind, of those that are kept
};

}  // namespace

Carried carried_along(const Tree& tree, std::span<const Ref> formulas, int axis) {
  return Search(tree, formulas, axis).found();
}

}  // namespace halocline::stencil

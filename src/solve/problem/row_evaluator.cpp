// SPDX-License-Identifier: Apache-2.0
#include "problem/row_evaluator.hpp"

#include <map>
#include <utility>

#include "problem/cell_position.hpp"
#include "problem/operations.hpp"

namespace halocline::problem {
namespace {

/// The value of a leaf at a cell.
double leaf(const Node& node, const CellPosition& cell) {
  const auto axis = static_cast<std::size_t>(node.symbol);
  switch (node.op) {
    case Op::constant:
      return node.value;
    case Op::coordinate:
      return cell.coordinate(node.symbol, node.offset[axis]);
    case Op::index:
      return cell.index(node.symbol, node.offset[axis]);
    case Op::noise:
      return cell.noise(node.value);
    default:
      return 0;  // time begins at 0
  }
}

using Operand = std::pair<const double*, std::int64_t>;  // values, and the step to the next

/// One loop for each operation, in which the operation is known.
template <Op op>
void compute(std::int64_t count, double* to, const std::array<Operand, 3>& from) {
  for (std::int64_t i = 0; i < count; ++i)
    to[i] = evaluated<double>(op, from[0].first[i * from[0].second],
                              from[1].first[i * from[1].second], from[2].first[i * from[2].second]);
}

using Loop = void (*)(std::int64_t, double*, const std::array<Operand, 3>&);

template <std::size_t... op>
constexpr std::array<Loop, sizeof...(op)> loops_of(std::index_sequence<op...>) {
  return {&compute<static_cast<Op>(op)>...};
}

void compute(Op op, std::int64_t count, double* to, const std::array<Operand, 3>& from) {
  constexpr std::size_t operations = static_cast<std::size_t>(Op::select) + 1;
  static constexpr auto loops = loops_of(std::make_index_sequence<operations>());
  loops[static_cast<std::size_t>(op)](count, to, from);
}

}  // namespace

RowEvaluator::RowEvaluator(const Model& model, Ref expression, std::int64_t lower_x,
                           std::int64_t upper_x)
    : model_(model), lower_x_(lower_x) {
  const Ref formulas[] = {expression};
  std::map<Ref, std::size_t> indices;
  for (const Ref at : nodes_of(model.tree, formulas)) {
    Part part{.node = model.tree[at]};
    const bool is_place = part.node.op == Op::coordinate || part.node.op == Op::index;
    part.on_x = part.node.op == Op::noise || (is_place && part.node.symbol == 0);
    part.on_row = part.node.op == Op::noise || (is_place && part.node.symbol != 0);
    for (const Ref operand : operands_of(model.tree[at])) {
      const std::size_t index = indices.at(operand);
      part.operands.push_back(index);
      part.on_x |= parts_[index].on_x;
      part.on_row |= parts_[index].on_row;
    }
    if (!part.on_row) fill_table(part, upper_x - lower_x);
    indices[at] = parts_.size();
    parts_.push_back(std::move(part));
  }
}

void RowEvaluator::fill_table(Part& part, std::int64_t cells) const {
  part.table.resize(part.on_x ? static_cast<std::size_t>(cells) : 1);
  std::array<Operand, 3> from{};
  from.fill({part.table.data(), 0});
  for (std::size_t i = 0; i < part.operands.size(); ++i) {
    const Part& operand = parts_[part.operands[i]];
    from[i] = {operand.table.data(), operand.on_x ? 1 : 0};
  }
  if (!part.operands.empty())
    return compute(part.node.op, std::ssize(part.table), part.table.data(), from);
  for (std::int64_t i = 0; i < std::ssize(part.table); ++i)
    part.table[static_cast<std::size_t>(i)] = leaf(part.node, {model_, {lower_x_ + i, 0, 0}});
}

void RowEvaluator::evaluate(Int3 first, std::int64_t count, double* values) const {
  // Parts that depend only on y and z have one value in a row.
  std::vector<std::vector<double>> here(parts_.size());
  const auto operand = [&](std::size_t at) -> Operand {
    const Part& part = parts_[at];
    if (part.on_row) return {here[at].data(), part.on_x ? 1 : 0};
    return {part.table.data() + (part.on_x ? first.x - lower_x_ : 0), part.on_x ? 1 : 0};
  };
  for (std::size_t at = 0; at < parts_.size(); ++at) {
    const Part& part = parts_[at];
    if (!part.on_row) continue;
    std::vector<double>& now = here[at];
    now.resize(part.on_x ? static_cast<std::size_t>(count) : 1);
    std::array<Operand, 3> from{};
    from.fill({now.data(), 0});
    for (std::size_t i = 0; i < part.operands.size(); ++i) from[i] = operand(part.operands[i]);
    if (!part.operands.empty())
      compute(part.node.op, std::ssize(now), now.data(), from);
    else if (part.node.op == Op::noise)
      program::noise_row(model_.cells, model_.seed + static_cast<std::uint64_t>(part.node.value),
                         first, count, now.data());
    else
      now[0] = leaf(part.node, {model_, first});
  }
  const auto [from, step] = operand(parts_.size() - 1);
  for (std::int64_t i = 0; i < count; ++i) values[i] = from[i * step];
}

}  // namespace halocline::problem

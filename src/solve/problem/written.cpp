// SPDX-License-Identifier: Apache-2.0
#include "problem/written.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace halocline::problem {
namespace {

class Writer {
 public:
  explicit Writer(const Model& model) : model_(model), tree_(model.tree) {
    const std::vector<Ref> updates = model.updates();
    const std::vector<Ref> nodes = nodes_of(tree_, updates);
    std::map<Ref, int> users;
    for (const Ref node : nodes)
      for (const Ref operand : operands_of(tree_[node])) ++users[operand];
    for (const Ref node : nodes)
      if (operands_of(tree_[node].op) > 0 && users[node] > 1) {
        const std::string text = whole(node);
        names_[node] = fmt::format("p{}", names_.size() + 1);
        lines_.push_back(fmt::format("{} = {}", names_[node], text));
      }
  }

  std::vector<std::string> lines() {
    for (const ModelField& field : model_.fields)
      lines_.push_back(
          fmt::format("{} = {}", field.name,
                      field.follows ? model_.fields[*field.follows].name : part(field.update, 0)));
    return lines_;
  }

 private:
  /// A node as an operand of an operator of some rank.
  std::string part(Ref node, int least_rank) const {
    if (const auto name = names_.find(node); name != names_.end()) return name->second;
    const bool is_negative = tree_[node].op == Op::constant && tree_[node].value < 0;
    const int rank = facts_of(is_negative ? Op::negate : tree_[node].op).rank;
    const std::string text = whole(node);
    return rank < least_rank ? "(" + text + ")" : text;
  }

  std::string whole(Ref at) const {
    const Node& node = tree_[at];
    const std::span<const Ref> operands = operands_of(node);
    const auto& [name, count, is_truth, sign, rank] = facts_of(node.op);
    if (count == 0) return leaf(node);
    if (sign.empty()) {
      std::vector<std::string> parts;
      for (const Ref operand : operands) parts.push_back(part(operand, 0));
      return fmt::format("{}({})", name, fmt::join(parts, ", "));
    }
    if (count == 1)
      return fmt::format("{}{}{}", sign, is_truth ? " " : "", part(operands[0], rank));
    // From left to right: the right operand needs parentheses at equal rank.
    const char* const space = node.op == Op::multiply || node.op == Op::divide ? "" : " ";
    return fmt::format("{0}{2}{1}{2}{3}", part(operands[0], rank), sign, space,
                       part(operands[1], rank + 1));
  }

  std::string leaf(const Node& node) const {
    switch (node.op) {
      case Op::constant:
        return node.is_truth ? (node.value != 0 ? "1 == 1" : "1 == 0")
                             : fmt::format("{}", node.value);
      case Op::access:
        return access(node);
      case Op::coordinate:
      case Op::index: {
        const int offset = node.offset[node.symbol];  // NOLINT: it has a sign
        const std::string name(1, (node.op == Op::index ? "ijk" : "xyz")[node.symbol]);
        return offset == 0 ? name : fmt::format("{}[{:+}]", name, offset);
      }
      case Op::time:
        return "t";
      default:
        return fmt::format("noise({})", node.value);
    }
  }

  std::string access(const Node& node) const {
    const std::size_t fields = model_.fields.size();
    const std::string& name = node.symbol < fields ? model_.fields[node.symbol].name
                                                   : model_.coefficients[node.symbol - fields].name;
    if (node.offset == std::array<std::int8_t, 3>{}) return name;
    std::string offsets;
    for (int axis = 0; axis < model_.axes; ++axis)
      offsets +=
          fmt::format("{}{}", axis > 0 ? "," : "", node.offset[static_cast<std::size_t>(axis)]);
    return fmt::format("{}[{}]", name, offsets);
  }

  const Model& model_;
  const Tree& tree_;
  std::map<Ref, std::string> names_;
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> written_out(const Model& model) { return Writer(model).lines(); }

Effort effort_of(const Model& model) {
  Effort effort;
  for (const Ref node : nodes_of(model.tree, model.updates()))
    effort.operations += operands_of(model.tree[node].op) > 0 ? 1 : 0;
  for (const ModelField& field : model.fields) {
    effort.fields_read += field.reach.is_read ? 1 : 0;
    effort.fields_written += field.follows ? 0 : 1;
  }
  for (const ModelCoefficient& coefficient : model.coefficients)
    effort.coefficients_read += coefficient.reach.is_read ? 1 : 0;
  const int bytes = model.precision == Precision::f32 ? 4 : 8;
  effort.bytes =
      std::int64_t{bytes} * (effort.fields_read + effort.coefficients_read + effort.fields_written);
  return effort;
}

}  // namespace halocline::problem

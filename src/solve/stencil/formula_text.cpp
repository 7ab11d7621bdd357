// SPDX-License-Identifier: Apache-2.0
#include "stencil/formula_text.hpp"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace halocline::stencil {

using problem::Model;
using problem::Node;
using problem::Op;
using problem::Ref;
using problem::Tree;

namespace {

/// Returns the constants that are only added, subtracted and multiplied, in the order of their
/// numbers; none if they are too many for arguments.
std::vector<Ref> constants_of(const Tree& tree, const std::vector<Ref>& formulas,
                              const std::vector<Ref>& nodes) {
  std::set<Ref> others(formulas.begin(), formulas.end());
  for (const Ref at : nodes) {
    const Op op = tree[at].op;
    if (op == Op::add || op == Op::subtract || op == Op::multiply || op == Op::fma) continue;
    for (int i = 0; i < problem::operands_of(op); ++i)
      others.insert(tree[at].operands[static_cast<std::size_t>(i)]);
  }
  std::vector<Ref> constants;
  for (const Ref at : nodes)
    if (tree.is_constant(at) && !others.contains(at)) constants.push_back(at);
  if (constants.size() > most_constants) constants.clear();
  return constants;
}

/// The word of an operation: a function of the headers.
std::string_view word_of(Op op) {
  switch (op) {
    case Op::abs:
      return "absolute";
    case Op::sqrt:
      return "root";
    case Op::fma:
      return "fused";
    case Op::less:
      return "less";
    case Op::less_equal:
      return "less_equal";
    case Op::greater:
      return "greater";
    case Op::greater_equal:
      return "greater_equal";
    case Op::equal:
      return "equal";
    case Op::not_equal:
      return "not_equal";
    case Op::logical_not:
      return "logical_not";
    case Op::logical_and:
      return "logical_and";
    case Op::logical_or:
      return "logical_or";
    default:
      return problem::name_of(op);
  }
}

/// Returns an operation on the variables of its operands.
std::string operation(const Node& node, const Numbers& numbers) {
  const auto v = [&](int operand) {
    return fmt::format("v{}", numbers.at(node.operands[static_cast<std::size_t>(operand)]));
  };
  switch (node.op) {
    case Op::negate:
      return "-" + v(0);
    case Op::add:
    case Op::subtract:
    case Op::multiply:
    case Op::divide:
      return fmt::format("{} {} {}", v(0), problem::facts_of(node.op).sign, v(1));
    default:
      break;
  }
  const std::string_view word = word_of(node.op);
  const int operands = problem::operands_of(node.op);
  return operands == 1   ? fmt::format("{}({})", word, v(0))
         : operands == 2 ? fmt::format("{}({}, {})", word, v(0), v(1))
                         : fmt::format("{}({}, {}, {})", word, v(0), v(1), v(2));
}

}  // namespace

Numbers numbers_of(const Tree& tree, const std::vector<Ref>& formulas) {
  Numbers numbers;
  std::vector<Ref> waiting(formulas.rbegin(), formulas.rend());  // sums of many terms are deep
  while (!waiting.empty()) {
    const Ref at = waiting.back();
    const std::size_t before = waiting.size();
    if (!numbers.contains(at))
      for (int i = problem::operands_of(tree[at].op); i-- > 0;)
        if (const Ref operand = tree[at].operands[static_cast<std::size_t>(i)];
            !numbers.contains(operand))
          waiting.push_back(operand);
    if (waiting.size() > before) continue;
    numbers.emplace(at, static_cast<int>(numbers.size()));
    waiting.pop_back();
  }
  return numbers;
}

std::vector<Ref> in_order(std::vector<Ref> nodes, const Numbers& numbers) {
  std::sort(nodes.begin(), nodes.end(),
            [&](Ref a, Ref b) { return numbers.at(a) < numbers.at(b); });
  return nodes;
}

const char* real_of(const Model& model) {
  return model.precision == Precision::f32 ? "float" : "double";
}

std::string literal(double value, Precision precision) {
  return precision == Precision::f32
             ? fmt::format("of_bits({:#x}u)",
                           std::bit_cast<std::uint32_t>(static_cast<float>(value)))
             : fmt::format("of_bits({:#x}ull)", std::bit_cast<std::uint64_t>(value));
}

namespace {
/// Returns the arguments of a word for an index: the cell's, the offset, and the cells of a
/// periodic axis, or 0.
std::string place_text(const Model& model, const Node& node, const std::string& here) {
  const std::size_t axis = node.symbol;
  return fmt::format("{}, {}, {}", here, int{node.offset[axis]},
                     model.periodic[axis] ? model.cells[static_cast<int>(axis)] : 0);
}
}  // namespace

std::string index_text(const Model& model, const Node& node, const std::string& here) {
  return fmt::format("index_at<Real>({})", place_text(model, node, here));
}

std::string coordinate_text(const Model& model, const Node& node, const std::string& here) {
  const std::size_t axis = node.symbol;
  return fmt::format("coordinate_at<Real>({}, {}, {})", place_text(model, node, here),
                     literal(model.lower[axis], Precision::f64),
                     literal(model.spacing[axis], Precision::f64));
}

std::string statements(const Tree& tree, const std::vector<Ref>& nodes, const Numbers& numbers,
                       const std::function<std::string(Ref)>& leaf) {
  std::string all;
  for (const Ref at : nodes)
    all += fmt::format(
        "    const auto v{} = {};\n", numbers.at(at),
        problem::operands_of(tree[at].op) == 0 ? leaf(at) : operation(tree[at], numbers));
  return all;
}

UpdateText::UpdateText(const Model& model)
    : model_(model),
      numbers_(numbers_of(model.tree, model.updates())),
      nodes_(in_order(nodes_of(model.tree, model.updates()), numbers_)),
      constants_(constants_of(model.tree, model.updates(), nodes_)) {
  find_inputs();
  for (std::size_t f = 0; f < model.fields.size(); ++f)
    if (!model.fields[f].follows) operands_.outputs.push_back(f);
}

std::array<double, most_constants> UpdateText::constants() const {
  std::array<double, most_constants> all{};
  for (std::size_t c = 0; c < constants_.size(); ++c) all[c] = model_.tree[constants_[c]].value;
  return all;
}

std::string UpdateText::variable(Ref node) const { return fmt::format("v{}", numbers_.at(node)); }

std::string UpdateText::computed(const std::vector<Ref>& nodes) const {
  return statements(model_.tree, in_order(nodes, numbers_), numbers_,
                    [this](Ref at) { return leaf(at); });
}

std::string UpdateText::results() const {
  std::string all;
  for (std::size_t o = 0; o < operands_.outputs.size(); ++o)
    all += fmt::format("    put(values[{}], {});\n", o,
                       variable(model_.fields[operands_.outputs[o]].update));
  return all;
}

template <class ValueOf>
std::string UpdateText::each_normed(const ValueOf& value_of) const {
  std::string all;
  for (std::size_t n = 0; n < model_.norm_of.size(); ++n)
    all +=
        fmt::format("    if constexpr (number == {}) return {};\n", n, value_of(model_.norm_of[n]));
  return all;
}

std::string UpdateText::now() const {
  return each_normed([this](std::size_t field) {
    if (const auto& followed = model_.fields[field].follows) return access(*followed);
    return fmt::format("values[{}]", output_of(field));
  });
}

std::string UpdateText::before() const {
  return each_normed([this](std::size_t field) { return access(field); });
}

void UpdateText::find_inputs() {
  std::set<std::size_t> symbols;
  for (const Ref node : nodes_)
    if (const Node& one = model_.tree[node]; one.op == Op::access) symbols.insert(one.symbol);
  // The norm reads them, too.
  for (const std::size_t field : model_.norm_of) {
    symbols.insert(field);
    if (const auto& follows = model_.fields[field].follows) symbols.insert(*follows);
  }
  operands_.inputs = {symbols.begin(), symbols.end()};
}

std::size_t UpdateText::input_of(std::size_t symbol) const {
  return static_cast<std::size_t>(
      std::find(operands_.inputs.begin(), operands_.inputs.end(), symbol) -
      operands_.inputs.begin());
}

int UpdateText::output_of(std::size_t field) const {
  const auto output = std::find(operands_.outputs.begin(), operands_.outputs.end(), field);
  return static_cast<int>(output - operands_.outputs.begin());
}

std::string UpdateText::access(std::size_t symbol, const std::array<std::int8_t, 3>& offset) const {
  return fmt::format("u.template at<{}, {}, {}, {}>()", input_of(symbol), int{offset[0]},
                     int{offset[1]}, int{offset[2]});
}

std::string UpdateText::leaf(Ref at) const {
  const Node& node = model_.tree[at];
  const auto index = [&] { return fmt::format("u.template index<{}>()", node.symbol); };
  const auto argument = std::find(constants_.begin(), constants_.end(), at);
  switch (node.op) {
    case Op::constant:
      return argument != constants_.end()
                 ? fmt::format("constants[{}]", argument - constants_.begin())
                 : literal(node.value, model_.precision);
    case Op::access:
      return access(node.symbol, node.offset);
    case Op::coordinate:
      return coordinate_text(model_, node, index());
    case Op::index:
      return index_text(model_, node, index());
    case Op::time:
      return "static_cast<Real>(u.time())";
    default:
      return "Real()";  // noise, which is for start values only
  }
}

}  // namespace halocline::stencil

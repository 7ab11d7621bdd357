// SPDX-License-Identifier: Apache-2.0
#include "stencil/cuda/text/printed.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stencil/carried.hpp"

namespace halocline::stencil::cuda {
namespace {

using problem::Model;
using problem::Node;
using problem::Op;
using problem::Ref;
using problem::Tree;

/// Reads of nothing.
constexpr Reads no_reads{{}, {}, false, 1, 0};

void include(Reads& reads, const std::array<std::int8_t, 3>& offset, int axes) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    reads.lower[axis] = std::max(reads.lower[axis], -int{offset[axis]});
    reads.upper[axis] = std::max(reads.upper[axis], int{offset[axis]});
  }
  reads.across = reads.across || (offset[1] != 0 && offset[2] != 0);
  const auto last = offset.begin() + (axes - 1);
  if (std::all_of(offset.begin(), last, [](int along) { return along == 0; })) return;
  const bool is_first = !reads.any_beside();
  reads.first_beside = is_first ? *last : std::min(reads.first_beside, int{*last});
  reads.last_beside = is_first ? *last : std::max(reads.last_beside, int{*last});
}

constexpr const char* space = "halocline::stencil::cuda";

// A persistent kernel repeats the update for each of up to 64 cells of a thread, with and without a
// norm; NVRTC takes some seconds for this number: with three functions, 22 on a busy machine.
constexpr int most_operations_of_persist = 100, operations_of_function = 25;

const char* real_of(const Model& model) {
  return model.precision == Precision::f32 ? "float" : "double";
}

/// A number in the source, by its bits.
std::string literal(double value, Precision precision) {
  return precision == Precision::f32
             ? fmt::format("__uint_as_float({:#x}u)",
                           std::bit_cast<std::uint32_t>(static_cast<float>(value)))
             : fmt::format("__longlong_as_double({:#x}ll)", std::bit_cast<std::uint64_t>(value));
}

/// Numbers of nodes, by which a text names them.
using Numbers = std::map<Ref, int>;

/// Numbers nodes as formulas come to them, operands first: the same for formulas that are alike,
/// whatever else their trees hold.
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

/// Returns those nodes in the order of their numbers.
std::vector<Ref> in_order(std::vector<Ref> nodes, const Numbers& numbers) {
  std::sort(nodes.begin(), nodes.end(),
            [&](Ref a, Ref b) { return numbers.at(a) < numbers.at(b); });
  return nodes;
}

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

/// Returns an operation on the variables v0, v1, ... that its operands are.
std::string operation(const Node& node, const Numbers& numbers) {
  const auto v = [&](int operand) {
    return fmt::format("v{}", numbers.at(node.operands[static_cast<std::size_t>(operand)]));
  };
  const auto call = [&](const char* name) {
    return problem::operands_of(node.op) == 1 ? fmt::format("{}({})", name, v(0))
           : problem::operands_of(node.op) == 2
               ? fmt::format("{}({}, {})", name, v(0), v(1))
               : fmt::format("{}({}, {}, {})", name, v(0), v(1), v(2));
  };
  const auto between = [&](const char* sign) { return fmt::format("{} {} {}", v(0), sign, v(1)); };
  const auto truth = [](const std::string& condition) {
    return fmt::format("{} ? Real(1) : Real(0)", condition);
  };
  switch (node.op) {
    case Op::negate:
      return "-" + v(0);
    case Op::abs:
      return call("absolute");
    case Op::sqrt:
      return call("root");
    case Op::exp:
      return call("problem::functions::exp");
    case Op::log:
      return call("problem::functions::log");
    case Op::sin:
      return call("problem::functions::sin");
    case Op::cos:
      return call("problem::functions::cos");
    case Op::tanh:
      return call("problem::functions::tanh");
    case Op::pow:
      return call("problem::functions::pow");
    case Op::logical_not:
      return truth(v(0) + " == 0");
    case Op::add:
      return between("+");
    case Op::subtract:
      return between("-");
    case Op::multiply:
      return between("*");
    case Op::divide:
      return between("/");
    case Op::less:
      return truth(between("<"));
    case Op::less_equal:
      return truth(between("<="));
    case Op::greater:
      return truth(between(">"));
    case Op::greater_equal:
      return truth(between(">="));
    case Op::equal:
      return truth(between("=="));
    case Op::not_equal:
      return truth(between("!="));
    case Op::logical_and:
      return truth(fmt::format("{} != 0 && {} != 0", v(0), v(1)));
    case Op::logical_or:
      return truth(fmt::format("{} != 0 || {} != 0", v(0), v(1)));
    case Op::fma:
      return call("fused");
    case Op::select:
      return fmt::format("{} != 0 ? {} : {}", v(0), v(1), v(2));
    default:
      return {};  // a leaf
  }
}

/// Returns statements that compute nodes, operands first: v0, v1, ... by their numbers.
template <class Leaf>
std::string statements(const Model& model, const std::vector<Ref>& nodes, const Numbers& numbers,
                       const Leaf& leaf) {
  std::string all;
  for (const Ref at : nodes) {
    const Node& node = model.tree[at];
    all += fmt::format("    const Real v{} = {};\n", numbers.at(at),
                       problem::operands_of(node.op) == 0 ? leaf(at) : operation(node, numbers));
  }
  return all;
}

/// Returns the index of the cell at an offset along an axis, as a double; `here` is that of the
/// cell.
std::string index_text(const Model& model, const Node& node, const std::string& here) {
  const std::size_t axis = node.symbol;
  const std::string at = fmt::format("{} + {}", here, int{node.offset[axis]});
  return fmt::format("static_cast<double>({})",
                     model.periodic[axis]
                         ? fmt::format("folded({}, {})", at, model.cells[static_cast<int>(axis)])
                         : at);
}
/// Returns the coordinate at an index, as a double.
std::string coordinate_text(const Model& model, std::size_t axis, const std::string& index) {
  return fmt::format("{} + ({} + 0.5) * {}", literal(model.lower[axis], Precision::f64), index,
                     literal(model.spacing[axis], Precision::f64));
}

class UpdatePrinter {
 public:
  UpdatePrinter(const Model& model, std::optional<std::size_t> pushed)
      : model_(model),
        pushed_(pushed),
        updates_(model.updates()),
        numbers_(numbers_of(model.tree, updates_)),
        nodes_(in_order(nodes_of(model.tree, updates_), numbers_)),
        constants_(constants_of(model.tree, updates_, nodes_)),
        carried_(carried_along(model.tree, updates_, model.axes - 1)) {
    find_inputs();
    for (std::size_t f = 0; f < model.fields.size(); ++f)
      if (!model.fields[f].follows) operands_.outputs.push_back(f);
  }

  PrintedUpdate print() const {
    const bool carries = model_.axes > 1 && carried_.slots > 0;
    std::array<double, most_constants> constants{};
    for (std::size_t c = 0; c < constants_.size(); ++c)
      constants[c] = model_.tree[constants_[c]].value;
    return {
        .source = fmt::format(
            text, fmt::arg("real", real_of(model_)), fmt::arg("inputs", operands_.inputs.size()),
            fmt::arg("outputs", operands_.outputs.size()), fmt::arg("pushed", pushed()),
            fmt::arg("constants", most_constants), fmt::arg("reads", text_of(reads(nodes_))),
            fmt::arg("sources", fmt::join(sources(), ", ")),
            fmt::arg("body", computed(nodes_) + results()),
            fmt::arg("normed", model_.norm_of.size()),
            fmt::arg("now", each_normed([this](std::size_t field) { return now(field); })),
            fmt::arg("before", each_normed([this](std::size_t field) { return access(field); })),
            fmt::arg("carrying", carries ? carrying() : "")),
        .operands = operands_,
        .constants = constants,
        .carried = carries ? carried_.slots : 0,
        .carried_steps = carries ? most_steps() : 0,
        .reads = reads(nodes_),
        .reads_of_step = carries ? reads(carried_.computed) : std::vector<Reads>{},
        .sources = sources()};
  }

 private:
  static constexpr const char* text = R"(#include "stencil/cuda/text/generated.cuh"

namespace halocline::stencil::cuda {{

using Real = {real};

struct Printed {{
  static constexpr int inputs = {inputs}, outputs = {outputs};
  static constexpr int pushed = {pushed}, normed = {normed};
  Real constants[{constants}];
  static __host__ __device__ constexpr Reads reads(int input) {{
    constexpr Reads all[] = {{{reads}}};
    return all[input];
  }}
  static __host__ __device__ constexpr int source(int input) {{
    constexpr int all[] = {{{sources}}};
    return all[input];
  }}
  template <class Cells>
  __device__ void operator()(const Cells& u, Real* values) const {{
{body}  }}
  template <int number, class Cells>
  __device__ static Real now(const Cells& u, const Real* values) {{
{now}  }}
  template <int number, class Cells>
  __device__ static Real before(const Cells& u) {{
{before}  }}
}};
{carrying}
}}  // namespace halocline::stencil::cuda
)";
  static constexpr const char* text_of_carrying = R"(
struct Carrying : Printed {{
  static constexpr int carried = {carried}, steps_before = {steps_before};
  static __host__ __device__ constexpr Reads reads_of_step(int input) {{
    constexpr Reads all[] = {{{reads}}};
    return all[input];
  }}
  template <class Cells>
  __device__ __forceinline__ void step(const Cells& u, Real* values, Real* kept) const {{
{body}  }}
}};
)";

  std::string computed(const std::vector<Ref>& nodes) const {
    return statements(model_, in_order(nodes, numbers_), numbers_,
                      [this](Ref at) { return leaf(at); });
  }
  std::string results() const {
    std::string all;
    for (std::size_t o = 0; o < operands_.outputs.size(); ++o)
      all += fmt::format("    values[{}] = v{};\n", o,
                         numbers_.at(model_.fields[operands_.outputs[o]].update));
    return all;
  }

  int most_steps() const {
    int most = 0;
    for (const CarriedValue& value : carried_.values) most = std::max(most, value.steps);
    return most;
  }
  std::string carrying() const {
    std::string body;
    for (const auto& [node, slot] : carried_.kept)
      body += fmt::format("    const Real v{} = kept[{}];\n", numbers_.at(node), slot);
    body += computed(carried_.computed) + results();
    for (const CarriedValue& value : carried_.values)
      for (int step = value.steps - 1; step >= 0; --step)
        body += step > 0 ? fmt::format("    kept[{}] = kept[{}];\n", value.first_slot + step,
                                       value.first_slot + step - 1)
                         : fmt::format("    kept[{}] = v{};\n", value.first_slot,
                                       numbers_.at(value.leading));
    return fmt::format(text_of_carrying, fmt::arg("carried", carried_.slots),
                       fmt::arg("steps_before", carried_.steps_before),
                       fmt::arg("reads", text_of(reads(carried_.computed))),
                       fmt::arg("body", body));
  }

  void find_inputs() {
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

  std::size_t input_of(std::size_t symbol) const {
    return static_cast<std::size_t>(
        std::find(operands_.inputs.begin(), operands_.inputs.end(), symbol) -
        operands_.inputs.begin());
  }
  std::string access(std::size_t symbol, const std::array<std::int8_t, 3>& offset = {}) const {
    return fmt::format("u.template at<{}, {}, {}, {}>()", input_of(symbol), int{offset[0]},
                       int{offset[1]}, int{offset[2]});
  }
  int output_of(std::size_t field) const {
    const auto output = std::find(operands_.outputs.begin(), operands_.outputs.end(), field);
    return static_cast<int>(output - operands_.outputs.begin());
  }
  /// Returns statements that return a value of the field with that number in the norm.
  template <class ValueOf>
  std::string each_normed(const ValueOf& value_of) const {
    std::string all;
    for (std::size_t n = 0; n < model_.norm_of.size(); ++n)
      all += fmt::format("    if constexpr (number == {}) return {};\n", n,
                         value_of(model_.norm_of[n]));
    return all;
  }
  std::string now(std::size_t field) const {
    if (const auto& followed = model_.fields[field].follows) return access(*followed);
    return fmt::format("values[{}]", output_of(field));
  }
  int pushed() const { return pushed_ ? output_of(*pushed_) : -1; }
  std::vector<int> sources() const {
    std::vector<int> all;
    for (const std::size_t symbol : operands_.inputs) {
      const bool is_field = symbol < model_.fields.size();
      const auto followed_field = is_field ? model_.fields[symbol].follows : std::nullopt;
      all.push_back(!is_field         ? coefficient
                    : !followed_field ? output_of(symbol)
                                      : followed(output_of(*followed_field)));
    }
    return all;
  }

  /// How far nodes read each input.
  std::vector<Reads> reads(const std::vector<Ref>& nodes) const {
    std::vector<Reads> of_inputs(operands_.inputs.size(), no_reads);
    for (const Ref at : nodes)
      if (const Node& node = model_.tree[at]; node.op == Op::access)
        include(of_inputs[input_of(node.symbol)], node.offset, model_.axes);
    return of_inputs;
  }
  static std::string text_of(const std::vector<Reads>& all) {
    std::string list;
    for (const Reads& one : all)
      list +=
          fmt::format("{{{{{}}}, {{{}}}, {}, {}, {}}}, ", fmt::join(one.lower, ", "),
                      fmt::join(one.upper, ", "), one.across, one.first_beside, one.last_beside);
    return list;
  }

  std::string leaf(Ref at) const {
    const Node& node = model_.tree[at];
    const auto index = [&] {
      return index_text(model_, node, fmt::format("u.template index<{}>()", node.symbol));
    };
    const auto argument = std::find(constants_.begin(), constants_.end(), at);
    switch (node.op) {
      case Op::constant:
        return argument != constants_.end()
                   ? fmt::format("constants[{}]", argument - constants_.begin())
                   : literal(node.value, model_.precision);
      case Op::access:
        return access(node.symbol, node.offset);
      case Op::coordinate:
        return fmt::format("static_cast<Real>({})", coordinate_text(model_, node.symbol, index()));
      case Op::index:
        return fmt::format("static_cast<Real>({})", index());
      case Op::time:
        return "static_cast<Real>(u.time())";
      default:
        return "Real()";  // noise, which is for start values only
    }
  }

  const Model& model_;
  std::optional<std::size_t> pushed_;
  std::vector<Ref> updates_;
  Numbers numbers_;
  std::vector<Ref> nodes_, constants_;  // in the order of their numbers
  Carried carried_;
  Operands operands_;
};

/// Prints the values of one rule, at a cell x, y, z and time t.
std::string rule_text(const Model& model, const problem::SideRule& rule, int number) {
  const auto axis = static_cast<std::size_t>(number % 6 / 2);
  const bool is_lower = number % 2 == 0, is_at_face = rule.kind != problem::BoundaryKind::outside;
  const auto leaf = [&](Ref at) -> std::string {
    const Node& node = model.tree[at];
    const double offset = node.offset[node.symbol];
    const bool is_across = is_at_face && node.symbol == axis;
    const std::array<const char*, 3> here{"x", "y", "z"};
    const auto index = [&] { return index_text(model, node, here[node.symbol]); };
    switch (node.op) {
      case Op::constant:
        return literal(node.value, Precision::f64);
      case Op::coordinate:
        return is_across ? literal((is_lower ? model.lower : model.upper)[axis] +
                                       offset * model.spacing[axis],
                                   Precision::f64)
                         : coordinate_text(model, node.symbol, index());
      case Op::index:
        return is_across
                   ? literal((is_lower ? -0.5
                                       : static_cast<double>(model.cells[static_cast<int>(axis)]) -
                                             0.5) +
                                 offset,
                             Precision::f64)
                   : index();
      case Op::time:
        return "t";
      default:
        return "Real()";  // boundaries read no fields and no noise
    }
  };
  const auto count = static_cast<std::size_t>(values_of(rule.kind));
  const std::vector<Ref> values(rule.values.begin(),
                                rule.values.begin() + static_cast<std::ptrdiff_t>(count));
  const Numbers numbers = numbers_of(model.tree, values);
  std::string text = fmt::format("    if (rule == {}) {{\n", number);
  text += statements(model, in_order(nodes_of(model.tree, values), numbers), numbers, leaf);
  for (std::size_t i = 0; i < count; ++i)
    text += fmt::format("    values[{}] = v{};\n", i, numbers.at(values[i]));
  return text + "    }\n";
}

}  // namespace

std::string name_of_march(const Model& model, halocline::Norm kind, const WalkShape& shape,
                          const ArgumentRoom& room) {
  if (shape.by_planes())
    return fmt::format(
        "{0}::march_planes<{0}::Norm::{1}, {0}::PlaneShape<{2}, {3}, {4}, {5}, {6}>, {7}, "
        "{0}::{8}, {9}, {10}>",
        space, halocline::name_of(kind), shape.rows, shape.ahead, shape.steps, shape.blocks,
        shape.in_bricks, real_of(model), shape.carries ? "Carrying" : "Printed", room.inputs,
        room.outputs);
  return fmt::format(
      "{0}::march<{0}::Norm::{1}, {2}, {0}::Shape<{3}, {4}, {5}, {6}, {7}>, {8}, {0}::{9}, {10}, "
      "{11}>",
      space, halocline::name_of(kind), model.axes, shape.ahead, shape.rows, shape.blocks,
      shape.layers, shape.fetched, real_of(model), shape.carries ? "Carrying" : "Printed",
      room.inputs, room.outputs);
}

std::size_t block_bytes_of(const Model& model, const PrintedUpdate& update,
                           const WalkShape& shape) {
  if (!shape.by_planes()) return 0;
  const int cell_bytes = model.precision == Precision::f32 ? 4 : 8;
  int bytes = 0;
  for (const Reads& reads : shape.carries ? update.reads_of_step : update.reads)
    bytes += room_for(reads, shape.rows, shape.ahead, cell_bytes).cells() * cell_bytes;
  return static_cast<std::size_t>(bytes);
}

std::string name_of_per_cell(const Model& model, halocline::Norm kind, const ArgumentRoom& room) {
  return fmt::format("{0}::per_cell<{0}::Norm::{1}, {2}, {0}::Printed, {3}, {4}>", space,
                     halocline::name_of(kind), real_of(model), room.inputs, room.outputs);
}

std::string name_of_persist(const Model& model, halocline::Norm kind, int rows) {
  return fmt::format("{0}::persist<{1}, {2}, {0}::Norm::{3}, {4}, {0}::Printed>", space, model.axes,
                     rows, halocline::name_of(kind), real_of(model));
}

std::string name_of_pass(const Model& model, halocline::Norm kind, const PassForm& form,
                         const ArgumentRoom& room) {
  return fmt::format(
      "{0}::pass<{0}::Norm::{1}, {0}::PassShape<{2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10}>, "
      "{0}::PrintedPlan, {11}, {0}::Printed, {12}, {13}>",
      space, halocline::name_of(kind), form.sweeps, form.cells, form.rows, form.ahead, form.warps,
      form.blocks, form.fetched, form.bare, form.inlined, real_of(model), room.inputs,
      room.outputs);
}

std::string print_rules(const Model& model) {
  std::string rules;
  for (std::size_t f = 0; f < model.fields.size(); ++f)
    for (int side = 0; side < 6; ++side) {
      const auto& rule = model.fields[f].sides[static_cast<std::size_t>(side)];
      if (rule && rule->depends_on_time)
        rules += rule_text(model, *rule, rule_number(f, side / 2, side % 2));
    }
  if (rules.empty()) return {};
  return fmt::format(R"(#include "stencil/cuda/text/generated.cuh"

namespace halocline::stencil::cuda {{

struct PrintedRules {{
  __device__ void operator()(int rule, Index x, Index y, Index z, double t, double* values) const {{
    using Real = double;
{}  }}
}};

}}  // namespace halocline::stencil::cuda
)",
                     rules);
}

std::string name_of_ghosts(const Model& model) {
  return fmt::format("{0}::fill_ghosts<{1}, {0}::PrintedRules>", space, real_of(model));
}

std::string name_of_make_terms(const Model& model) {
  return fmt::format("{0}::make_terms<{1}, {0}::PrintedRules>", space, real_of(model));
}

int operations_of(const Model& model) {
  int operations = 0;
  for (const Ref at : nodes_of(model.tree, model.updates())) {
    const Op op = model.tree[at].op;
    const bool is_function = op == Op::exp || op == Op::log || op == Op::sin || op == Op::cos ||
                             op == Op::tanh || op == Op::pow;
    operations += is_function ? operations_of_function : 1;
  }
  return operations;
}

std::optional<std::string> cannot_persist_because(const Model& model) {
  if (model.axes < 2) return "it needs a grid of two or three axes";
  if (model.fields.size() > 1) return "the problem has several fields";
  if (!model.reads_nearest()) return "its update reads farther than the nearest cells";
  for (const Ref at : nodes_of(model.tree, model.updates()))
    if (model.tree[at].op == Op::access && model.tree[at].symbol > 0)
      return "its update reads a coefficient";
  const int cost = operations_of(model);
  if (cost > most_operations_of_persist)
    return fmt::format(
        "its update has some {} operations, a function counted as {}, and at most {} are compiled "
        "for it",
        cost, operations_of_function, most_operations_of_persist);
  return std::nullopt;
}

PrintedUpdate print_update(const Model& model, std::optional<std::size_t> pushed) {
  return UpdatePrinter(model, pushed).print();
}

}  // namespace halocline::stencil::cuda

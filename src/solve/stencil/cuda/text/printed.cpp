// SPDX-License-Identifier: Apache-2.0
#include "stencil/cuda/text/printed.hpp"

#include <algorithm>
#include <cstdint>
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

class UpdatePrinter {
 public:
  UpdatePrinter(const Model& model, std::optional<std::size_t> pushed)
      : model_(model),
        pushed_(pushed),
        update_(model),
        carried_(carried_along(model.tree, model.updates(), model.axes - 1)) {}

  PrintedUpdate print() const {
    const bool carries = model_.axes > 1 && carried_.slots > 0;
    const Operands& operands = update_.operands();
    return {
        .source = fmt::format(
            text, fmt::arg("real", real_of(model_)), fmt::arg("inputs", operands.inputs.size()),
            fmt::arg("outputs", operands.outputs.size()), fmt::arg("pushed", pushed()),
            fmt::arg("constants", most_constants),
            fmt::arg("reads", text_of(reads(update_.nodes()))),
            fmt::arg("sources", fmt::join(sources(), ", ")),
            fmt::arg("body", update_.computed(update_.nodes()) + update_.results()),
            fmt::arg("normed", model_.norm_of.size()), fmt::arg("now", update_.now()),
            fmt::arg("before", update_.before()), fmt::arg("carrying", carries ? carrying() : "")),
        .operands = operands,
        .constants = update_.constants(),
        .carried = carries ? carried_.slots : 0,
        .carried_steps = carries ? most_steps() : 0,
        .reads = reads(update_.nodes()),
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

  int most_steps() const {
    int most = 0;
    for (const CarriedValue& value : carried_.values) most = std::max(most, value.steps);
    return most;
  }
  std::string carrying() const {
    std::string body;
    for (const auto& [node, slot] : carried_.kept)
      body += fmt::format("    const Real {} = kept[{}];\n", update_.variable(node), slot);
    body += update_.computed(carried_.computed) + update_.results();
    for (const CarriedValue& value : carried_.values)
      for (int step = value.steps - 1; step >= 0; --step)
        body += step > 0 ? fmt::format("    kept[{}] = kept[{}];\n", value.first_slot + step,
                                       value.first_slot + step - 1)
                         : fmt::format("    kept[{}] = {};\n", value.first_slot,
                                       update_.variable(value.leading));
    return fmt::format(text_of_carrying, fmt::arg("carried", carried_.slots),
                       fmt::arg("steps_before", carried_.steps_before),
                       fmt::arg("reads", text_of(reads(carried_.computed))),
                       fmt::arg("body", body));
  }

  int pushed() const { return pushed_ ? update_.output_of(*pushed_) : -1; }
  std::vector<int> sources() const {
    std::vector<int> all;
    for (const std::size_t symbol : update_.operands().inputs) {
      const bool is_field = symbol < model_.fields.size();
      const auto followed_field = is_field ? model_.fields[symbol].follows : std::nullopt;
      all.push_back(!is_field         ? coefficient
                    : !followed_field ? update_.output_of(symbol)
                                      : followed(update_.output_of(*followed_field)));
    }
    return all;
  }

  /// How far nodes read each input.
  std::vector<Reads> reads(const std::vector<Ref>& nodes) const {
    std::vector<Reads> of_inputs(update_.operands().inputs.size(), no_reads);
    for (const Ref at : nodes)
      if (const Node& node = model_.tree[at]; node.op == Op::access)
        include(of_inputs[update_.input_of(node.symbol)], node.offset, model_.axes);
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

  const Model& model_;
  std::optional<std::size_t> pushed_;
  UpdateText update_;
  Carried carried_;
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
    switch (node.op) {
      case Op::constant:
        return literal(node.value, Precision::f64);
      case Op::coordinate:
        return is_across ? literal((is_lower ? model.lower : model.upper)[axis] +
                                       offset * model.spacing[axis],
                                   Precision::f64)
                         : coordinate_text(model, node, here[node.symbol]);
      case Op::index:
        return is_across
                   ? literal((is_lower ? -0.5
                                       : static_cast<double>(model.cells[static_cast<int>(axis)]) -
                                             0.5) +
                                 offset,
                             Precision::f64)
                   : index_text(model, node, here[node.symbol]);
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
  text += statements(model.tree, in_order(nodes_of(model.tree, values), numbers), numbers, leaf);
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

// SPDX-License-Identifier: Apache-2.0
#include "stencil/cpu/text/printed.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>

#include <fmt/format.h>

namespace halocline::stencil::cpu {
namespace {

constexpr const char* text = R"(
namespace halocline::stencil::cpu::HALOCLINE_VECTORS::{name} {{

using Real = {real};

struct Printed {{
  static constexpr int axes = {axes}, inputs = {inputs}, outputs = {outputs};
  static constexpr int normed = {normed}, operations = {operations}, constant_count = {constants};
  static constexpr int beside = {beside}, farthest = {farthest};
  Real constants[constant_count];
  template <class Cells, class Value>
  HALOCLINE_INLINE void operator()([[maybe_unused]] const Cells& u, Value* values) const {{
{body}  }}
  template <int number, class Cells, class Value>
  static HALOCLINE_INLINE Value now([[maybe_unused]] const Cells& u, const Value* values) {{
{now}  }}
  template <int number, class Cells>
  static HALOCLINE_INLINE auto before(const Cells& u) {{
{before}  }}
}};

}}  // namespace halocline::stencil::cpu::HALOCLINE_VECTORS::{name}

extern "C" __attribute__((visibility("default"))) void HALOCLINE_UPDATE(
    halocline::stencil::cpu::UpdateArguments& block) {{
  using namespace halocline::stencil::cpu::HALOCLINE_VECTORS;
  BlockUpdate<{name}::Real, {name}::Printed>(block).run();
}}
)";

/// Counts operations, leaves left out.
int operations_of(const problem::Model& model, const UpdateText& update) {
  int operations = 0;
  for (const problem::Ref at : update.nodes())
    if (problem::operands_of(model.tree[at].op) > 0) ++operations;
  return operations;
}

/// Returns the input of which most neighbours along x are read; -1 if there are none.
int most_read_beside(const problem::Model& model, const UpdateText& update) {
  std::map<std::size_t, int> reads;
  for (const problem::Ref at : update.nodes()) {
    const problem::Node& node = model.tree[at];
    if (node.op == problem::Op::access && node.offset[0] != 0)
      ++reads[update.input_of(node.symbol)];
  }
  const auto most = std::max_element(
      reads.begin(), reads.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == reads.end() ? -1 : static_cast<int>(most->first);
}

int farthest_of(const problem::Model& model, const UpdateText& update) {
  int farthest = 0;
  for (const problem::Ref at : update.nodes())
    if (model.tree[at].op == problem::Op::access)
      for (const std::int8_t offset : model.tree[at].offset)
        farthest = std::max(farthest, std::abs(int{offset}));
  return farthest;
}

}  // namespace

PrintedUpdate print_update(const problem::Model& model, const std::string& name) {
  const UpdateText update(model);
  const Operands& operands = update.operands();
  return {.source =
              fmt::format(text, fmt::arg("name", name), fmt::arg("real", real_of(model)),
                          fmt::arg("axes", model.axes), fmt::arg("inputs", operands.inputs.size()),
                          fmt::arg("outputs", operands.outputs.size()),
                          fmt::arg("normed", model.norm_of.size()),
                          fmt::arg("operations", operations_of(model, update)),
                          fmt::arg("constants", most_constants),
                          fmt::arg("beside", most_read_beside(model, update)),
                          fmt::arg("farthest", farthest_of(model, update)),
                          fmt::arg("body", update.computed(update.nodes()) + update.results()),
                          fmt::arg("now", update.now()), fmt::arg("before", update.before())),
          .operands = operands,
          .constants = update.constants()};
}

}  // namespace halocline::stencil::cpu

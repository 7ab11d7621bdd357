// SPDX-License-Identifier: Apache-2.0
#include "stencil/cpu/text/printed.hpp"

#include <fmt/format.h>

namespace halocline::stencil::cpu {
namespace {

constexpr const char* text = R"(
namespace halocline::stencil::cpu::HALOCLINE_VECTORS {{

using Real = {real};

struct Printed {{
  static constexpr int axes = {axes}, inputs = {inputs}, outputs = {outputs};
  static constexpr int normed = {normed}, operations = {operations}, constant_count = {constants};
  Real constants[constant_count];
  template <class Cells, class Value>
  HALOCLINE_INLINE void operator()(const Cells& u, Value* values) const {{
{body}  }}
  template <int number, class Cells, class Value>
  static HALOCLINE_INLINE Value now(const Cells& u, const Value* values) {{
{now}  }}
  template <int number, class Cells>
  static HALOCLINE_INLINE auto before(const Cells& u) {{
{before}  }}
}};

}}  // namespace halocline::stencil::cpu::HALOCLINE_VECTORS

extern "C" __attribute__((visibility("default"))) void HALOCLINE_UPDATE(
    halocline::stencil::cpu::UpdateArguments& block) {{
  using namespace halocline::stencil::cpu::HALOCLINE_VECTORS;
  BlockUpdate<Real, Printed>(block).run();
}}
)";

/// Counts operations, leaves left out.
int operations_of(const problem::Model& model, const UpdateText& update) {
  int operations = 0;
  for (const problem::Ref at : update.nodes())
    if (problem::operands_of(model.tree[at].op) > 0) ++operations;
  return operations;
}

}  // namespace

PrintedUpdate print_update(const problem::Model& model) {
  const UpdateText update(model);
  const Operands& operands = update.operands();
  return {.source = fmt::format(
              text, fmt::arg("real", real_of(model)), fmt::arg("axes", model.axes),
              fmt::arg("inputs", operands.inputs.size()),
              fmt::arg("outputs", operands.outputs.size()),
              fmt::arg("normed", model.norm_of.size()),
              fmt::arg("operations", operations_of(model, update)),
              fmt::arg("constants", most_constants),
              fmt::arg("body", update.computed(update.nodes()) + update.results()),
              fmt::arg("now", update.now()), fmt::arg("before", update.before())),
          .operands = operands,
          .constants = update.constants()};
}

}  // namespace halocline::stencil::cpu

// SPDX-License-Identifier: Apache-2.0
#pragma once
// From a model, known at run time, to the compiled formula that its update equals, a type known at
// compile time.

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "problem/formulas.hpp"
#include "problem/model.hpp"

namespace halocline::stencil {

/// A row of problem::CompiledFormulas with the constants of a model.
struct Compiled {
  std::size_t row = 0;
  std::array<double, 4> constants{};
};

/// Returns the compiled formula whose tree is that of the model's update, but for constants;
/// nothing if there is none, or if the model has several fields.
std::optional<Compiled> compiled_formula_of(const problem::Model& model);

/// The most fields and coefficients that kernels read on GPUs.
inline constexpr int most_inputs = 32;
/// Returns why kernels for GPUs cannot be compiled of the model's updates, or nothing.
std::optional<std::string> cannot_be_compiled_because(const problem::Model& model);

/// Calls use.operator()<Real>(formula) with the compiled formula of the model, if there is one.
template <class Use, class... Rows>
void use_compiled(const problem::Model& model, const Use& use, problem::List<Rows...>) {
  const std::optional<Compiled> compiled = compiled_formula_of(model);
  if (!compiled) return;
  const auto use_as = [&]<class Row, class Real, std::size_t... i>(std::index_sequence<i...>) {
    using Formula = typename Row::template For<Real>;
    use.template operator()<Real>(Formula{static_cast<Real>(compiled->constants[i])...});
  };
  std::size_t row = 0;
  const auto try_row = [&]<class Row>() {
    using Constants = std::make_index_sequence<Row::constants>;
    if (row++ != compiled->row) return;
    if (model.precision == Precision::f32)
      use_as.template operator()<Row, float>(Constants());
    else
      use_as.template operator()<Row, double>(Constants());
  };
  (try_row.template operator()<Rows>(), ...);
}

}  // namespace halocline::stencil

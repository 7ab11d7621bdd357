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

/// Calls `maker.template make<Real, axes>(formula)` with the compiled formula of the model, and
/// returns its result; an empty result if there is no such formula.
template <class Maker, class... Rows>
typename Maker::Result make_compiled(const problem::Model& model, const Maker& maker,
                                     problem::List<Rows...>) {
  typename Maker::Result result{};
  const std::optional<Compiled> compiled = compiled_formula_of(model);
  if (!compiled) return result;
  const auto make_for = [&]<class Row, int axes, class Real, std::size_t... i>(
                            std::index_sequence<i...>) {
    using Formula = typename Row::template For<axes, Real>;
    result = maker.template make<Real, axes>(Formula{static_cast<Real>(compiled->constants[i])...});
  };
  const auto try_axes = [&]<class Row, int axes>() {
    if constexpr (axes >= Row::fewest_axes && axes <= Row::most_axes) {
      using Constants = std::make_index_sequence<Row::constants>;
      if (model.axes != axes) return;
      if (model.precision == Precision::f32)
        make_for.template operator()<Row, axes, float>(Constants());
      else
        make_for.template operator()<Row, axes, double>(Constants());
    }
  };
  std::size_t row = 0;
  const auto try_row = [&]<class Row>() {
    if (row++ != compiled->row) return;
    try_axes.template operator()<Row, 1>();
    try_axes.template operator()<Row, 2>();
    try_axes.template operator()<Row, 3>();
  };
  (try_row.template operator()<Rows>(), ...);
  return result;
}

template <class Maker>
typename Maker::Result make_compiled(const problem::Model& model, const Maker& maker) {
  return make_compiled(model, maker, problem::CompiledFormulas{});
}

}  // namespace halocline::stencil

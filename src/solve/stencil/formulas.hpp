// SPDX-License-Identifier: Apache-2.0
#pragma once
// Maps a problem, known at run time, to its formula, a type known at compile time.

#include "problem/catalogue.hpp"

namespace halocline::stencil {

/// Throws a usage error for a problem that does not have that many axes.
[[noreturn]] void refuse_axes(const problem::Problem& problem, const problem::Setting& setting);

/// Calls `maker.template make<Real, axes>(formula)` with the problem's formula for the setting's
/// number of axes and the precision, and returns its result. Throws usage if the problem does not
/// have that many axes.
template <class Maker, class... Problems>
auto make_of_formula(problem::List<Problems...>, const problem::Problem& problem,
                     const problem::Setting& setting, problem::Precision precision,
                     const Maker& maker) {
  typename Maker::Result result{};
  const auto try_axes = [&]<class P, int Axes>() {
    if constexpr (Axes >= P::fewest_axes && Axes <= P::most_axes) {
      if (setting.axes != Axes) return;
      if (precision == problem::Precision::f32)
        result = maker.template make<float, Axes>(P::template formula<Axes, float>(setting));
      else
        result = maker.template make<double, Axes>(P::template formula<Axes, double>(setting));
    }
  };
  const auto try_problem = [&]<class P>() {
    if (dynamic_cast<const P*>(&problem) == nullptr) return;
    try_axes.template operator()<P, 1>();
    try_axes.template operator()<P, 2>();
    try_axes.template operator()<P, 3>();
  };
  (try_problem.template operator()<Problems>(), ...);
  if (!result) refuse_axes(problem, setting);
  return result;
}

}  // namespace halocline::stencil

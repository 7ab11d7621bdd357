#pragma once
// From a problem, known at run time, to its formula, whose type is known when compiling.

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "problem/catalogue.hpp"

namespace halocline::stencil {

/// Makes something of a problem's formula: calls `maker.template make<Real>(formula)` for the
/// setting's number of axes and the precision, and returns its result. Throws usage if the
/// problem does not have that many axes.
template <class Maker, class... Problems>
auto make_of_formula(problem::List<Problems...>, const problem::Problem& problem,
                     const problem::Setting& setting, problem::Precision precision,
                     const Maker& maker) {
  typename Maker::Result result{};
  const auto try_axes = [&]<class P, int Axes>() {
    if constexpr (Axes >= P::fewest_axes && Axes <= P::most_axes) {
      if (setting.axes != Axes) return;
      if (precision == problem::Precision::f32)
        result = maker.template make<float>(P::template formula<Axes, float>(setting));
      else
        result = maker.template make<double>(P::template formula<Axes, double>(setting));
    }
  };
  const auto try_problem = [&]<class P>() {
    if (dynamic_cast<const P*>(&problem) == nullptr) return;
    try_axes.template operator()<P, 1>();
    try_axes.template operator()<P, 2>();
    try_axes.template operator()<P, 3>();
  };
  (try_problem.template operator()<Problems>(), ...);
  if (!result) {
    const problem::ProblemInfo& info = problem.info();
    throw Error(ErrorKind::usage,
                info.fewest_axes == info.most_axes
                    ? fmt::format("{} has {} axes, not {}", info.name, info.most_axes, setting.axes)
                    : fmt::format("{} has {} to {} axes, not {}", info.name, info.fewest_axes,
                                  info.most_axes, setting.axes));
  }
  return result;
}

}  // namespace halocline::stencil

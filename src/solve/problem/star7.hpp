// SPDX-License-Identifier: Apache-2.0
#pragma once
// A weighted 7-point average on a triply periodic box (bricklib's d3pt7).

#include "problem/formula.hpp"

namespace halocline::problem {

template <int Axes, class Real>
struct StarFormula;

template <class Real>
struct StarFormula<3, Real> {
  Real centre, side;
  template <class Cells>
  HALOCLINE_FORMULA auto operator()(const Cells& u) const {
    return u.constant(centre) * u.c() +
           u.constant(side) * (((u.w() + u.e()) + (u.s() + u.n())) + (u.d() + u.t()));
  }
};

}  // namespace halocline::problem

#ifndef __CUDACC_RTC__
#include "problem/problem.hpp"

namespace halocline::problem {

class Star7 final : public Problem {
 public:
  template <int Axes, class Real>
  using Formula = StarFormula<Axes, Real>;
  static constexpr int fewest_axes = 3, most_axes = 3;

  template <int Axes, class Real>
  static Formula<Axes, Real> formula(const Setting& setting) {
    return {static_cast<Real>(setting.parameters[0]), static_cast<Real>(setting.parameters[1])};
  }

  const ProblemInfo& info() const override {
    static const ProblemInfo facts{
        .name = "star7",
        .summary = "weighted 7-point average of noise, periodic on all sides",
        .formula = "new = centre*u + side*(sum of the 6 neighbours)",
        .fewest_axes = fewest_axes,
        .most_axes = most_axes,
        .cells = {128, 128, 128},
        .axes = 3,
        .precision = Precision::f64,
        .periodic = {true, true, true},
        .norm = Norm::none,
        .tolerance = std::nullopt,
        .sweeps = 100,
        .parameters = {{"centre", 0.4, "weight of the cell"},
                       {"side", 0.1, "weight of each neighbour"}}};
    return facts;
  }
  std::unique_ptr<Start> start(const Setting& setting, const Box&) const override {
    return noise_start(setting);
  }
};

}  // namespace halocline::problem
#endif

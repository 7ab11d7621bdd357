// SPDX-License-Identifier: Apache-2.0
#pragma once
// Laplace's equation by Jacobi sweeps, from noise down to zero.

#include "problem/formula.hpp"

namespace halocline::problem {

template <int Axes, class Real>
struct AverageFormula;

template <class Real>
struct AverageFormula<2, Real> {
  Real quarter;
  template <class Cells>
  HALOCLINE_FORMULA auto operator()(const Cells& u) const {
    return u.constant(quarter) * ((u.w() + u.e()) + (u.s() + u.n()));
  }
};

template <class Real>
struct AverageFormula<3, Real> {
  Real sixth;
  template <class Cells>
  HALOCLINE_FORMULA auto operator()(const Cells& u) const {
    return u.constant(sixth) * (((u.w() + u.e()) + (u.s() + u.n())) + (u.d() + u.t()));
  }
};

}  // namespace halocline::problem

#ifndef __CUDACC_RTC__
#include "problem/problem.hpp"

namespace halocline::problem {

class Laplace final : public Problem {
 public:
  template <int Axes, class Real>
  using Formula = AverageFormula<Axes, Real>;
  static constexpr int fewest_axes = 2, most_axes = 3;

  template <int Axes, class Real>
  static Formula<Axes, Real> formula(const Setting&) {
    if constexpr (Axes == 2)
      return {Real(0.25)};
    else
      return {Real(1) / Real(6)};
  }

  const ProblemInfo& info() const override {
    static const ProblemInfo facts{
        .name = "laplace",
        .summary = "Laplace's equation by Jacobi sweeps from noise, zero boundary",
        .formula = "new = mean of the 4 (3-D: 6) neighbours",
        .fewest_axes = fewest_axes,
        .most_axes = most_axes,
        .cells = {1024, 1024, 1},
        .axes = 2,
        .precision = Precision::f64,
        .periodic = {false, false, false},
        .norm = Norm::max,
        .tolerance = 0.05,
        .sweeps = 526,
        .parameters = {}};
    return facts;
  }
  std::unique_ptr<Start> start(const Setting& setting, const Box&) const override {
    return noise_start(setting);
  }
};

}  // namespace halocline::problem
#endif

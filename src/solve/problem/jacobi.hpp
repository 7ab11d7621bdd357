// SPDX-License-Identifier: Apache-2.0
#pragma once
// The problem of the Jacobi lab: a sine on the left and right edges, periodic along y, start zero.

#include "problem/laplace.hpp"

#ifndef __CUDACC_RTC__
#include <algorithm>
#include <cmath>
#include <numbers>

namespace halocline::problem {

class Jacobi final : public Problem {
 public:
  template <int Axes, class Real>
  using Formula = AverageFormula<Axes, Real>;
  static constexpr int fewest_axes = 2, most_axes = 2;

  template <int Axes, class Real>
  static Formula<Axes, Real> formula(const Setting&) {
    return {Real(0.25)};
  }

  const ProblemInfo& info() const override {
    static const ProblemInfo facts{
        .name = "jacobi",
        .summary = "Laplace's equation with sin(2 pi y) on the left and right, periodic along y",
        .formula = "new = mean of the 4 neighbours",
        .fewest_axes = fewest_axes,
        .most_axes = most_axes,
        .cells = {4094, 4094, 1},
        .axes = 2,
        .precision = Precision::f32,
        .periodic = {false, true, false},
        .norm = Norm::l2,
        .tolerance = 1e-8,
        .sweeps = 1000,
        .parameters = {}};
    return facts;
  }

  std::unique_ptr<Start> start(const Setting&, const Box&) const override {
    class Zero final : public Start {
      void row(Int3, std::int64_t count, double* values) const override {
        std::fill_n(values, count, 0.0);
      }
    };
    return std::make_unique<Zero>();
  }

  double boundary(const Setting& setting, Int3 cell) const override {
    return std::sin(2.0 * std::numbers::pi * static_cast<double>(cell.y + 1) /
                    static_cast<double>(setting.cells.y + 1));
  }
};

}  // namespace halocline::problem
#endif

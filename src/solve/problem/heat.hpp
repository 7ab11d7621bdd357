// SPDX-License-Identifier: Apache-2.0
#pragma once
// Explicit diffusion from a product of sines, with a known exact discrete solution.

#include "problem/formula.hpp"

namespace halocline::problem {

template <int Axes, class Real>
struct HeatFormula;

template <class Real>
struct HeatFormula<1, Real> {
  Real r, two;
  template <class Cells>
  HALOCLINE_FORMULA auto operator()(const Cells& u) const {
    const auto twice = u.constant(two) * u.c();
    return u.c() + u.constant(r) * ((u.w() - twice) + u.e());
  }
};

template <class Real>
struct HeatFormula<2, Real> {
  Real r, two;
  template <class Cells>
  HALOCLINE_FORMULA auto operator()(const Cells& u) const {
    const auto twice = u.constant(two) * u.c();
    return u.c() + u.constant(r) * (((u.w() - twice) + u.e()) + ((u.s() - twice) + u.n()));
  }
};

template <class Real>
struct HeatFormula<3, Real> {
  Real r, two;
  template <class Cells>
  HALOCLINE_FORMULA auto operator()(const Cells& u) const {
    const auto twice = u.constant(two) * u.c();
    return u.c() + u.constant(r) * ((((u.w() - twice) + u.e()) + ((u.s() - twice) + u.n())) +
                                    ((u.d() - twice) + u.t()));
  }
};

}  // namespace halocline::problem

#ifndef __CUDACC_RTC__
#include <cmath>
#include <numbers>

#include "problem/problem.hpp"

namespace halocline::problem {

class Heat final : public Problem {
 public:
  template <int Axes, class Real>
  using Formula = HeatFormula<Axes, Real>;
  static constexpr int fewest_axes = 1, most_axes = 3;

  template <int Axes, class Real>
  static Formula<Axes, Real> formula(const Setting& setting) {
    return {static_cast<Real>(ratio(setting)), Real(2)};
  }

  /// Returns r of the formula.
  static double ratio(const Setting& setting) {
    const double dx = setting.parameters[2];
    return setting.parameters[0] * setting.parameters[1] / (dx * dx);
  }

  const ProblemInfo& info() const override {
    static const ProblemInfo facts{
        .name = "heat",
        .summary = "explicit diffusion of a product of sines, zero boundary",
        .formula = "new = u + r*(sum over axes of (lower - 2u) + upper), r = alpha*dt/dx^2",
        .fewest_axes = fewest_axes,
        .most_axes = most_axes,
        .cells = {9, 1, 1},
        .axes = 1,
        .precision = Precision::f64,
        .periodic = {false, false, false},
        .norm = Norm::max,
        .tolerance = std::nullopt,
        .sweeps = 3,
        .parameters = {{"alpha", 2.0, "diffusivity"},
                       {"dt", 1e-4, "time step"},
                       {"dx", 0.1, "distance between cells"}}};
    return facts;
  }

  void check(const Setting& setting) const override;

  std::unique_ptr<Start> start(const Setting& setting, const Box& cells) const override {
    class Sines final : public Start {
     public:
      Sines(const Setting& setting, const Box& cells) : cells_(cells) {
        for (int axis = 0; axis < setting.axes; ++axis)
          for (auto i = cells.lower[axis]; i < cells.upper[axis]; ++i)
            factors_[static_cast<std::size_t>(axis)].push_back(sine(setting, axis, i));
      }
      void row(Int3 first, std::int64_t count, double* values) const override {
        const double* along_x = &factors_[0][static_cast<std::size_t>(first.x - cells_.lower.x)];
        for (std::int64_t i = 0; i < count; ++i) {
          double value = along_x[i];
          for (std::size_t axis = 1; axis < 3 && !factors_[axis].empty(); ++axis)
            value *= factors_[axis][static_cast<std::size_t>(first[static_cast<int>(axis)] -
                                                             cells_.lower[static_cast<int>(axis)])];
          values[i] = value;
        }
      }

     private:
      Box cells_;
      std::array<std::vector<double>, 3> factors_;
    };
    return std::make_unique<Sines>(setting, cells);
  }

  std::optional<double> exact(const Setting& setting, Int3 cell,
                              std::int64_t sweeps) const override {
    double start = 1, decay = 0;
    for (int axis = 0; axis < setting.axes; ++axis) {
      start *= sine(setting, axis, cell[axis]);
      const double half =
          std::sin(std::numbers::pi / (2.0 * static_cast<double>(setting.cells[axis] + 1)));
      decay += half * half;
    }
    return start * std::pow(1 - 4 * ratio(setting) * decay, static_cast<double>(sweeps));
  }

 private:
  static double sine(const Setting& setting, int axis, std::int64_t cell) {
    return std::sin(std::numbers::pi * static_cast<double>(cell + 1) /
                    static_cast<double>(setting.cells[axis] + 1));
  }
};

}  // namespace halocline::problem
#endif

// SPDX-License-Identifier: Apache-2.0
#include "stencil/reference/backend.hpp"

#include <cmath>

#include "field/cells.hpp"
#include "stencil/check.hpp"
#include "stencil/formulas.hpp"
#include "stencil/scalar_cells.hpp"

namespace halocline::stencil::reference {
namespace {

/// The norm of one row of cells.
class RowNorm {
 public:
  explicit RowNorm(Norm kind) : kind_(kind) {}

  template <class Real>
  void add(Real now, Real before) {
    const double change = now - before;  // rounded to Real first
    if (kind_ == Norm::l2)
      value_ += change * change;
    else
      value_ = larger(value_, std::abs(change));
  }
  void add_to(double& norm_sum) const {
    norm_sum = kind_ == Norm::l2 ? norm_sum + value_ : larger(norm_sum, value_);
  }

 private:
  /// Returns the larger value; NaN if either is NaN.
  static double larger(double a, double b) { return a > b || std::isnan(a) ? a : b; }

  Norm kind_;
  double value_ = 0;
};

template <class Real, class Formula>
class ReferenceSweep final : public Sweep {
 public:
  ReferenceSweep(const Formula& formula, const SweepNeeds& needs)
      : formula_(formula), needs_(needs) {}

  void run(const SweepArguments& arguments, Stream stream) override {
    check_arguments(arguments, needs_, stream);
    const Box& region = arguments.region;
    if (region.empty()) return;
    for (std::int64_t z = region.lower.z; z < region.upper.z; ++z)
      for (std::int64_t y = region.lower.y; y < region.upper.y; ++y) update_row(arguments, y, z);
  }

 private:
  void update_row(const SweepArguments& arguments, std::int64_t y, std::int64_t z) const {
    const FieldView<const Real> in = field::view_of<const Real>(arguments.in);
    const FieldView<Real> out = field::view_of<Real>(arguments.out);
    RowNorm norm(arguments.norm);
    for (std::int64_t x = arguments.region.lower.x; x < arguments.region.upper.x; ++x) {
      const ScalarCells<Real> u{&in(x, y, z), field::steps_of(arguments.in)};
      const Real updated = formula_(u);
      out(x, y, z) = updated;
      if (arguments.out.shape().owned.contains(Int3{x, y, z})) norm.add(updated, u.c());
    }
    if (arguments.norm != Norm::none) norm.add_to(*arguments.norm_sum);
  }

  Formula formula_;
  SweepNeeds needs_;
};

struct Maker {
  using Result = std::unique_ptr<Sweep>;
  SweepNeeds needs;

  template <class Real, int, class Formula>
  Result make(const Formula& formula) const {
    return std::make_unique<ReferenceSweep<Real, Formula>>(formula, needs);
  }
};

}  // namespace

std::unique_ptr<Sweep> Backend::make(const problem::Problem& problem,
                                     const problem::Setting& setting, problem::Precision precision,
                                     const SweepOptions&) const {
  return make_of_formula(problem::Catalogue{}, problem, setting, precision,
                         Maker{{setting.axes, precision}});
}

}  // namespace halocline::stencil::reference

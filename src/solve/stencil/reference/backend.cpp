// SPDX-License-Identifier: Apache-2.0
#include "stencil/reference/backend.hpp"

#include <cmath>
#include <vector>

#include "field/cells.hpp"
#include "stencil/check.hpp"
#include "stencil/interpreted.hpp"

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

template <class Real>
class ReferenceSweep final : public Sweep {
 public:
  explicit ReferenceSweep(const problem::Model& model)
      : model_(model), interpreter_(model.tree, model.updates(), problem::Functions::own) {}

  void run(const SweepArguments& arguments, Stream stream) override {
    check_arguments(arguments, model_, SweptBy::host, stream);
    const Box& region = arguments.region;
    if (region.empty()) return;
    for (std::int64_t z = region.lower.z; z < region.upper.z; ++z)
      for (std::int64_t y = region.lower.y; y < region.upper.y; ++y) update_row(arguments, y, z);
  }

 private:
  void update_row(const SweepArguments& arguments, std::int64_t y, std::int64_t z) {
    RowNorm norm(arguments.norm);
    find_cells(arguments, {arguments.region.lower.x, y, z});
    for (std::int64_t x = arguments.region.lower.x; x < arguments.region.upper.x; ++x) {
      const Int3 at{x, y, z};
      interpreter_.evaluate(InterpretedCell<Real>{{model_, at, arguments.time}, cells_});
      for (std::size_t f = 0; f < model_.fields.size(); ++f)
        if (!model_.fields[f].follows)
          *reinterpret_cast<Real*>(field::address_of(arguments.out[f], at)) =
              interpreter_.value(model_.fields[f].update);
      if (arguments.norm != Norm::none && arguments.out[0].shape().owned.contains(at))
        norm.add(new_value(model_.norm_of), *cells_[model_.norm_of].cell);
      for (CellOf<Real>& one : cells_) one.cell += one.step.x;
    }
    if (arguments.norm != Norm::none) norm.add_to(*arguments.norm_sum);
  }

  /// Of a field, at the cell that was evaluated last.
  Real new_value(std::size_t f) const {
    const auto& follows = model_.fields[f].follows;
    return follows ? *cells_[*follows].cell : interpreter_.value(model_.fields[f].update);
  }

  void find_cells(const SweepArguments& arguments, Int3 at) {
    cells_.clear();
    for (const Fields& fields : {arguments.in, arguments.coefficients})
      for (const FieldStorage& one : fields)
        cells_.push_back(
            {reinterpret_cast<const Real*>(field::address_of(one, at)), field::steps_of(one)});
  }

  const problem::Model& model_;
  problem::Interpreter<Real> interpreter_;
  std::vector<CellOf<Real>> cells_;  // the cell at hand in fields and coefficients
};

}  // namespace

std::unique_ptr<Sweep> Backend::make(const problem::Model& model, const SweepOptions&) const {
  if (model.precision == Precision::f32) return std::make_unique<ReferenceSweep<float>>(model);
  return std::make_unique<ReferenceSweep<double>>(model);
}

}  // namespace halocline::stencil::reference

// SPDX-License-Identifier: Apache-2.0
#include "stencil/reference/backend.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "field/cells.hpp"
#include "problem/cell_position.hpp"
#include "problem/interpreter.hpp"
#include "stencil/check.hpp"

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

/// A cell with the values of all fields and coefficients around it.
template <class Real>
struct CellOfViews : problem::CellPosition {
  const std::vector<BrickView<const Real>>& views;

  CellOfViews(const problem::CellPosition& position, const std::vector<BrickView<const Real>>& all)
      : CellPosition(position), views(all) {}
  Real access(int symbol, const std::array<std::int8_t, 3>& offset) const {
    return views[static_cast<std::size_t>(symbol)](at.x + offset[0], at.y + offset[1],
                                                   at.z + offset[2]);
  }
};

template <class Real>
class ReferenceSweep final : public Sweep {
 public:
  bool has_compiled_formulas() const override { return false; }
  explicit ReferenceSweep(const problem::Model& model)
      : model_(model), interpreter_(model.tree, model.updates(), problem::Functions::own) {}

  void run(const Pass& pass, Stream stream) override {
    check_pass(pass, model_, SweptBy::host, stream);
    const Box& region = pass.region;
    if (region.empty()) return;
    views_.clear();
    for (const Fields& fields : {pass.in, pass.coefficients})
      for (const FieldStorage& one : fields) views_.push_back(field::cells_of<const Real>(one));
    for (std::int64_t z = region.lower.z; z < region.upper.z; ++z)
      for (std::int64_t y = region.lower.y; y < region.upper.y; ++y) update_row(pass, y, z);
  }

 private:
  void update_row(const Pass& pass, std::int64_t y, std::int64_t z) {
    RowNorm norm(pass.norms.kind);
    for (std::int64_t x = pass.region.lower.x; x < pass.region.upper.x; ++x) {
      const Int3 at{x, y, z};
      interpreter_.evaluate(CellOfViews<Real>({model_, at, pass.time()}, views_));
      for (std::size_t f = 0; f < model_.fields.size(); ++f)
        if (!model_.fields[f].follows)
          field::cells_of<Real>(pass.out[f])(x, y, z) = interpreter_.value(model_.fields[f].update);
      if (pass.norms.kind != Norm::none && pass.out[0].shape().owned.contains(at))
        for (const std::size_t f : model_.norm_of) norm.add(new_value(f, at), views_[f](x, y, z));
    }
    if (pass.norms.kind != Norm::none) norm.add_to(*pass.norms.sum);
  }

  /// Returns the new value of a field at the cell evaluated last.
  Real new_value(std::size_t f, Int3 at) const {
    const auto& follows = model_.fields[f].follows;
    return follows ? views_[*follows](at.x, at.y, at.z)
                   : interpreter_.value(model_.fields[f].update);
  }

  const problem::Model& model_;
  problem::Interpreter<Real> interpreter_;
  std::vector<BrickView<const Real>> views_;  // fields and coefficients
};

}  // namespace

std::unique_ptr<Sweep> Backend::make(const problem::Model& model, const SweepOptions&) const {
  if (model.precision == Precision::f32) return std::make_unique<ReferenceSweep<float>>(model);
  return std::make_unique<ReferenceSweep<double>>(model);
}

}  // namespace halocline::stencil::reference

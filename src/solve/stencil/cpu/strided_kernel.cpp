// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "stencil/cpu/kernel.hpp"
#include "stencil/interpreted.hpp"

namespace halocline::stencil::cpu {
namespace {

template <class Real>
class StridedKernel final : public Kernel {
 public:
  explicit StridedKernel(const problem::Model& model)
      : model_(model), interpreter_(model.tree, model.updates(), problem::Functions::own) {}

  void update(const Block& block, Stores, BlockNorm& norm) const override {
    problem::Interpreter<Real> interpreter = interpreter_;
    std::vector<CellOf<Real>> cells(block.in.size());
    const Int3 count = block.extent();
    for (std::int64_t z = 0; z < count.z; ++z)
      for (std::int64_t y = 0; y < count.y; ++y) {
        double largest = 0, sum = 0;
        for (std::int64_t x = 0; x < count.x; ++x) {
          const Int3 at{x, y, z};
          for (std::size_t i = 0; i < cells.size(); ++i)
            cells[i] = {place<const Real>(block.in[i], at), block.in[i].step};
          interpreter.evaluate(
              InterpretedCell<Real>{{model_, block.cells.lower + at, block.time}, cells});
          for (std::size_t f = 0; f < model_.fields.size(); ++f)
            if (!model_.fields[f].follows)
              *place<Real>(block.out[f], at) = interpreter.value(model_.fields[f].update);
          if (norm.kind == Norm::none) continue;
          for (const std::size_t f : model_.norm_of) {
            const double change = new_value(f, interpreter, cells) - *cells[f].cell;
            largest = larger(largest, std::abs(change));
            sum += change * change;
          }
        }
        if (norm.kind == Norm::max) norm.max = larger(norm.max, largest);
        if (norm.kind == Norm::l2) norm.row_sums[y + z * norm.plane] = sum;
      }
  }

 private:
  template <class Value>
  static Value* place(const Corner& corner, Int3 at) {
    return reinterpret_cast<Value*>(corner.cell) + at.x * corner.step.x + at.y * corner.step.y +
           at.z * corner.step.z;
  }
  Real new_value(std::size_t f, const problem::Interpreter<Real>& interpreter,
                 const std::vector<CellOf<Real>>& cells) const {
    const problem::ModelField& field = model_.fields[f];
    return field.follows ? *cells[*field.follows].cell : interpreter.value(field.update);
  }

  const problem::Model& model_;
  problem::Interpreter<Real> interpreter_;
};

}  // namespace

std::unique_ptr<Kernel> make_strided_kernel(const problem::Model& model) {
  if (model.precision == Precision::f32) return std::make_unique<StridedKernel<float>>(model);
  return std::make_unique<StridedKernel<double>>(model);
}

}  // namespace halocline::stencil::cpu

// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "stencil/cpu/kernel.hpp"
#include "stencil/formulas.hpp"
#include "stencil/scalar_cells.hpp"

namespace halocline::stencil::cpu {
namespace {

template <class Real, class Formula>
class StridedKernel final : public Kernel {
 public:
  explicit StridedKernel(const Formula& formula) : formula_(formula) {}

  void update(const Block& block, Stores, BlockNorm& norm) const override {
    for (std::int64_t z = 0; z < block.extent.z; ++z)
      for (std::int64_t y = 0; y < block.extent.y; ++y) {
        const Real* in =
            static_cast<const Real*>(block.in) + y * block.in_step.y + z * block.in_step.z;
        Real* out = static_cast<Real*>(block.out) + y * block.out_step.y + z * block.out_step.z;
        update_row(block, in, out);
        if (norm.kind == Norm::max) norm.max = larger(norm.max, largest_change(block, in, out));
        if (norm.kind == Norm::l2)
          norm.row_sums[y + z * norm.plane] = sum_of_squares(block, in, out);
      }
  }

 private:
  void update_row(const Block& block, const Real* in, Real* out) const {
    for (std::int64_t x = 0; x < block.extent.x; ++x)
      out[x * block.out_step.x] =
          formula_(ScalarCells<Real>{in + x * block.in_step.x, block.in_step});
  }
  // A second pass over the row, which is in the first-level cache now.
  static double largest_change(const Block& block, const Real* in, const Real* out) {
    double largest = 0;
    for (std::int64_t x = 0; x < block.extent.x; ++x)
      largest = larger(largest, std::abs(out[x * block.out_step.x] - in[x * block.in_step.x]));
    return largest;
  }
  static double sum_of_squares(const Block& block, const Real* in, const Real* out) {
    double sum = 0;
    for (std::int64_t x = 0; x < block.extent.x; ++x) {
      const double change = out[x * block.out_step.x] - in[x * block.in_step.x];
      sum += change * change;
    }
    return sum;
  }

  Formula formula_;
};

struct Maker {
  using Result = std::unique_ptr<Kernel>;
  template <class Real, int, class Formula>
  Result make(const Formula& formula) const {
    return std::make_unique<StridedKernel<Real, Formula>>(formula);
  }
};

}  // namespace

std::unique_ptr<Kernel> make_strided_kernel(const problem::Problem& problem,
                                            const problem::Setting& setting,
                                            problem::Precision precision) {
  return make_of_formula(problem::Catalogue{}, problem, setting, precision, Maker{});
}

}  // namespace halocline::stencil::cpu

// SPDX-License-Identifier: Apache-2.0
#include "stencil/cpu/same_bits.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <vector>

#include "base/hash.hpp"

namespace halocline::stencil::cpu {
namespace {

/// Where the rows of a sample are in memory.
struct Placement {
  std::int64_t shift;     ///< elements from an address that is aligned to the first
  std::int64_t multiple;  ///< of elements, from a row to the next
  Stores stores;
};

/// Cells of a field or coefficient around a block, with values of their own.
template <class Real>
class Sample {
 public:
  Sample(const Int3& cells, const problem::Reach& reach, std::uint64_t number,
         const Placement& place) {
    Int3 extent{};
    for (int axis = 0; axis < 3; ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      before_[axis] = reach.lower[a];
      extent[axis] = reach.lower[a] + cells[axis] + reach.upper[a];
    }
    step_.y = (extent.x + place.multiple - 1) / place.multiple * place.multiple;
    step_.z = step_.y * extent.y;
    count_ = step_.z * extent.z + line_;
    values_.resize(static_cast<std::size_t>(count_ + line_));
    const auto address = reinterpret_cast<std::uintptr_t>(values_.data()) / sizeof(Real);
    first_ = (line_ - static_cast<std::int64_t>(address) % line_ + place.shift) % line_;
    for (std::int64_t i = 0; i < count_; ++i) {
      const std::uint64_t bits = mix(number * 0x10001 + static_cast<std::uint64_t>(i));
      values_[static_cast<std::size_t>(first_ + i)] =
          static_cast<Real>(0.25 + std::ldexp(static_cast<double>(bits >> 11), -53));
    }
  }

  Corner corner() {
    Real* const first = values_.data() + first_;
    return {
        reinterpret_cast<std::byte*>(first + before_.x + before_.y * step_.y + before_.z * step_.z),
        step_};
  }
  /// All of the memory, so that what is stored beside the block is seen.
  bool equals(const Sample& other) const {
    const auto first = values_.begin() + first_;
    return std::equal(first, first + count_, other.values_.begin() + other.first_,
                      [](Real a, Real b) { return a == b || (std::isnan(a) && std::isnan(b)); });
  }

 private:
  static constexpr std::int64_t line_ = 64 / std::int64_t{sizeof(Real)};
  Int3 before_{}, step_{1, 0, 0};
  std::int64_t first_ = 0, count_ = 0;
  std::vector<Real> values_;
};

template <class Real>
bool agree(const Kernel& one, const Kernel& other, const problem::Model& model,
           const Placement& place) {
  // No larger than the domain: indices image periodic ones once.
  const Int3 most{101, 19, 7}, of_domain = model.cells;
  const Int3 cells{std::min(most.x, of_domain.x), std::min(most.y, of_domain.y),
                   std::min(most.z, of_domain.z)};
  std::vector<Sample<Real>> in, out, expected;
  const auto add = [&](const problem::Reach& reach) {
    in.emplace_back(cells, reach, in.size(), place);
  };
  for (const problem::ModelField& field : model.fields) {
    add(field.reach);
    out.emplace_back(cells, problem::Reach{}, 1000, place);
    expected.emplace_back(cells, problem::Reach{}, 1000, place);
  }
  for (const problem::ModelCoefficient& coefficient : model.coefficients) add(coefficient.reach);
  const auto run = [&](const Kernel& kernel, std::vector<Sample<Real>>& results, BlockNorm& norm) {
    Block block{.in = {}, .out = {}, .cells = {{}, cells}, .time = 0.5};
    for (Sample<Real>& sample : in) block.in.push_back(sample.corner());
    for (Sample<Real>& sample : results) block.out.push_back(sample.corner());
    kernel.update(block, place.stores, norm);
    flush_stores();
  };
  const Norm kind = model.norm_of.empty() ? Norm::none : Norm::max;
  BlockNorm norm{.kind = kind}, expected_norm{.kind = kind};
  run(one, out, norm);
  run(other, expected, expected_norm);
  const bool are_norms_equal =
      norm.max == expected_norm.max || (std::isnan(norm.max) && std::isnan(expected_norm.max));
  return are_norms_equal &&
         std::equal(out.begin(), out.end(), expected.begin(),
                    [](const Sample<Real>& a, const Sample<Real>& b) { return a.equals(b); });
}

}  // namespace

bool same_bits(const Kernel& one, const Kernel& other, const problem::Model& model) {
  // Rows by themselves and side by side, that begin anywhere.
  constexpr Placement places[] = {{0, 1, Stores::cached},
                                  {3, 1, Stores::streamed},
                                  {0, 16, Stores::streamed},
                                  {5, 16, Stores::cached},
                                  {5, 16, Stores::streamed}};
  return std::all_of(std::begin(places), std::end(places), [&](const Placement& place) {
    return model.precision == Precision::f32 ? agree<float>(one, other, model, place)
                                             : agree<double>(one, other, model, place);
  });
}

}  // namespace halocline::stencil::cpu

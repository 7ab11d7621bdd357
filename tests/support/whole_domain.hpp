// SPDX-License-Identifier: Apache-2.0
#pragma once
// The plain reference of a problem: all cells in one process, as the file says it.

#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "problem/model.hpp"
#include "program/noise.hpp"

namespace halocline::problem {

/// For models whose start values and coefficients are expressions. `Real` is the model's precision.
template <class Real>
class WholeDomain {
 public:
  /// Makes start values and coefficients. The model must outlive it.
  explicit WholeDomain(const Model& model);
  ~WholeDomain();
  WholeDomain(const WholeDomain&) = delete;
  WholeDomain& operator=(const WholeDomain&) = delete;

  /// Computes the next level of all fields.
  void sweep();
  /// Of the last sweep, and the model's kind: of new - old of the model's field.
  double norm() const;
  /// A field's cells in the order of their global index, x fastest.
  std::span<const Real> field(std::size_t index) const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// The checksum of cells in that order, as solve() reports it.
template <class Real>
std::uint64_t checksum_of(std::span<const Real> values) {
  using Bits = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;
  std::uint64_t sum = 0, i = 0;
  for (const Real value : values)
    sum += mix(std::bit_cast<Bits>(value == 0 ? Real(0) : value) ^ mix(++i));
  return sum;
}

extern template class WholeDomain<float>;
extern template class WholeDomain<double>;

}  // namespace halocline::problem

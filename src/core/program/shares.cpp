// SPDX-License-Identifier: Apache-2.0
#include "program/shares.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/hash.hpp"
#include "field/cells.hpp"
#include "field/elements.hpp"

namespace halocline::program {
namespace {

/// Rows of owned cells, numbered across planes, of a field in rows or in bricks.
class Rows {
 public:
  explicit Rows(const FieldStorage& field) : field_(field), extent_(field.shape().owned.extent()) {}

  std::int64_t count() const { return extent_.y * extent_.z; }
  std::int64_t cells() const { return extent_.x; }
  Int3 first_cell(std::int64_t row) const {
    return field_.shape().owned.lower + Int3{0, row % extent_.y, row / extent_.y};
  }
  /// Returns the first value of a row; null if the field has no strides.
  template <class Real>
  const Real* first_value(std::int64_t row) const {
    if (!field_.as_strided()) return nullptr;
    const Int3 first = first_cell(row);
    return field::view_of<const Real>(field_).row(first.y, first.z);
  }
  bool are_side_by_side() const { return field_.as_strided() && field_.strides().x == 1; }
  /// Calls `take` with the number and the value of each cell of a row.
  template <class Real, class Take>
  void visit(std::int64_t row, const Take& take) const {
    if (const Real* const values = first_value<Real>(row)) {
      const std::int64_t stride = field_.strides().x;
      for (std::int64_t i = 0; i < cells(); ++i) take(i, values[i * stride]);
      return;
    }
    const BrickView<const Real> values = field::cells_of<const Real>(field_);
    const Int3 first = first_cell(row);
    for (std::int64_t i = 0; i < cells(); ++i) take(i, values(first.x + i, first.y, first.z));
  }

 private:
  const FieldStorage& field_;
  Int3 extent_;
};

template <class Real>
std::uint64_t bits_of(Real value) {
  using Bits = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;
  if (std::isnan(value)) value = std::numeric_limits<Real>::quiet_NaN();
  return std::bit_cast<Bits>(value + Real(0));  // -0.0 + 0.0 is +0.0
}

/// Neumaier's sum: the rounding errors of the additions are summed separately.
class CompensatedSum {
 public:
  void add(double value) {
    const double sum = sum_ + value;
    lost_ += std::abs(sum_) >= std::abs(value) ? (sum_ - sum) + value : (value - sum) + sum_;
    sum_ = sum;
  }
  double total() const { return std::isfinite(sum_) ? sum_ + lost_ : sum_; }

 private:
  double sum_ = 0, lost_ = 0;
};

}  // namespace

std::uint64_t checksum(const FieldStorage& field, const Grid& grid, int threads) {
  return field::with_real(field, [&]<class Real>() {
    const Rows rows(field);
    const Int3& cells = grid.cells().values();
    std::uint64_t total = 0;
#pragma omp parallel for num_threads(threads) reduction(+ : total)
    for (std::int64_t row = 0; row < rows.count(); ++row) {
      const Int3 first = rows.first_cell(row);
      const auto index =
          static_cast<std::uint64_t>(first.x + cells.x * (first.y + cells.y * first.z));
      rows.visit<Real>(row, [&](std::int64_t i, Real value) {
        total += mix(bits_of(value) ^ mix(index + static_cast<std::uint64_t>(i) + 1));
      });
    }
    return total;
  });
}

double sum(const FieldStorage& field, int threads) {
  return field::with_real(field, [&]<class Real>() {
    const Rows rows(field);
    std::vector<double> of_row(static_cast<std::size_t>(rows.count()));
#pragma omp parallel for num_threads(threads)
    for (std::int64_t row = 0; row < rows.count(); ++row) {
      CompensatedSum total;
      rows.visit<Real>(row,
                       [&](std::int64_t, Real value) { total.add(static_cast<double>(value)); });
      of_row[static_cast<std::size_t>(row)] = total.total();
    }
    CompensatedSum total;
    for (const double row : of_row) total.add(row);
    return total.total();
  });
}

ExactSum exact_sum(const FieldStorage& field, int threads) {
  return field::with_real(field, [&]<class Real>() {
    const Rows rows(field);
    ExactSum total;
#pragma omp parallel num_threads(threads)
    {
      ExactSum mine;
#pragma omp for
      for (std::int64_t row = 0; row < rows.count(); ++row)
        rows.visit<Real>(row,
                         [&](std::int64_t, Real value) { mine.add(static_cast<double>(value)); });
#pragma omp critical
      total.add(mine);
    }
    return total;
  });
}

bool is_finite(const FieldStorage& field, int threads) {
  return field::with_real(field, [&]<class Real>() {
    const Rows rows(field);
    unsigned bad = 0;
#pragma omp parallel for num_threads(threads) reduction(| : bad)
    for (std::int64_t row = 0; row < rows.count(); ++row) {
      // Only finite numbers give 0 when multiplied by 0. Vectors need adjacent values.
      if (rows.are_side_by_side()) {
        const Real* const values = rows.first_value<Real>(row);
        for (std::int64_t i = 0; i < rows.cells(); ++i)
          bad |= values[i] * Real(0) == Real(0) ? 0u : 1u;
      } else {
        rows.visit<Real>(row,
                         [&](std::int64_t, Real value) { bad |= std::isfinite(value) ? 0u : 1u; });
      }
    }
    return bad == 0;
  });
}

std::optional<std::int64_t> first_not_finite(const FieldStorage& field, const Grid& grid) {
  return field::with_real(field, [&]<class Real>() -> std::optional<std::int64_t> {
    const Rows rows(field);
    const Int3& cells = grid.cells().values();
    // Rows are in the order of their indices.
    for (std::int64_t row = 0; row < rows.count(); ++row) {
      const Int3 first = rows.first_cell(row);
      std::int64_t at = rows.cells();
      rows.visit<Real>(row, [&](std::int64_t i, Real value) {
        if (!std::isfinite(value)) at = std::min(at, i);
      });
      if (at < rows.cells()) return first.x + at + cells.x * (first.y + cells.y * first.z);
    }
    return std::nullopt;
  });
}

}  // namespace halocline::program

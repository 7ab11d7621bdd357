// SPDX-License-Identifier: Apache-2.0
#include "stencil/fill.hpp"

#include <limits>

#include "field/cells.hpp"
#include "field/elements.hpp"
#include "program/fill.hpp"

namespace halocline::stencil {
namespace {

/// Moves a coordinate along a periodic axis into the domain.
Int3 folded(const Grid& grid, Int3 cell) {
  for (int axis = 0; axis < grid.axes(); ++axis) {
    if (!grid.periodic(axis)) continue;
    const std::int64_t cells = grid.cells()[axis];
    cell[axis] = (cell[axis] % cells + cells) % cells;
  }
  return cell;
}

/// Returns the domain, unbounded along periodic axes.
Box unfolded_domain(const Grid& grid) {
  Box domain{{0, 0, 0}, grid.cells().values()};
  for (int axis = 0; axis < grid.axes(); ++axis)
    if (grid.periodic(axis)) {
      domain.lower[axis] = std::numeric_limits<std::int64_t>::min() / 2;
      domain.upper[axis] = std::numeric_limits<std::int64_t>::max() / 2;
    }
  return domain;
}

}  // namespace

void fill_start(const FieldStorage& field, const problem::Problem& problem,
                const problem::Setting& setting, int threads) {
  const auto start = problem.start(setting, field.shape().owned);
  program::fill_owned(
      field,
      [&](Int3 first, std::int64_t count, double* values) { start->row(first, count, values); },
      threads);
}

void fill_boundary(const FieldStorage& field, const Grid& grid, const problem::Problem& problem,
                   const problem::Setting& setting) {
  field::with_real(field, [&]<class Real>() {
    for (const Box& outside : subtract(field.shape().held(), unfolded_domain(grid)))
      for (std::int64_t z = outside.lower.z; z < outside.upper.z; ++z)
        for (std::int64_t y = outside.lower.y; y < outside.upper.y; ++y)
          for (std::int64_t x = outside.lower.x; x < outside.upper.x; ++x)
            *reinterpret_cast<Real*>(field::address_of(field, {x, y, z})) =
                static_cast<Real>(problem.boundary(setting, folded(grid, {x, y, z})));
  });
}

}  // namespace halocline::stencil

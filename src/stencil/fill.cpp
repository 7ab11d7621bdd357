#include "stencil/fill.hpp"

#include <limits>
#include <vector>

#include "stencil/elements.hpp"
#include "stencil/partition.hpp"
#include "stencil/scalar_cells.hpp"

namespace halocline::stencil {
namespace {

// Start values are made in pieces that stay in the first-level cache (32 KiB).
constexpr std::int64_t piece_cells = 2048;

template <class Real>
void fill_share(const FieldStorage& field, const problem::Start& start, const Box& share) {
  std::vector<double> values(static_cast<std::size_t>(piece_cells));
  const std::int64_t step = field.strides().x;
  for (std::int64_t z = share.lower.z; z < share.upper.z; ++z)
    for (std::int64_t y = share.lower.y; y < share.upper.y; ++y)
      for (std::int64_t x = share.lower.x; x < share.upper.x; x += piece_cells) {
        const std::int64_t count = std::min(piece_cells, share.upper.x - x);
        start.row({x, y, z}, count, values.data());
        Real* to = reinterpret_cast<Real*>(address_of(field, {x, y, z}));
        for (std::int64_t i = 0; i < count; ++i)
          to[i * step] = static_cast<Real>(values[static_cast<std::size_t>(i)]);
      }
}

/// Moves a coordinate along a periodic axis into the domain.
Int3 folded(const Grid& grid, Int3 cell) {
  for (int axis = 0; axis < grid.axes(); ++axis) {
    if (!grid.periodic(axis)) continue;
    const std::int64_t cells = grid.cells()[axis];
    cell[axis] = (cell[axis] % cells + cells) % cells;
  }
  return cell;
}

/// The domain, without end along periodic axes.
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
  const Box& owned = field.shape().owned;
  const auto start = problem.start(setting, owned);
  with_real(field, [&]<class Real>() {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int thread = 0; thread < threads; ++thread)
      fill_share<Real>(field, *start, share_of(owned, threads, thread));
  });
}

void fill_boundary(const FieldStorage& field, const Grid& grid, const problem::Problem& problem,
                   const problem::Setting& setting) {
  with_real(field, [&]<class Real>() {
    for (const Box& outside : subtract(field.shape().held(), unfolded_domain(grid)))
      for (std::int64_t z = outside.lower.z; z < outside.upper.z; ++z)
        for (std::int64_t y = outside.lower.y; y < outside.upper.y; ++y)
          for (std::int64_t x = outside.lower.x; x < outside.upper.x; ++x)
            *reinterpret_cast<Real*>(address_of(field, {x, y, z})) =
                static_cast<Real>(problem.boundary(setting, folded(grid, {x, y, z})));
  });
}

}  // namespace halocline::stencil

// SPDX-License-Identifier: Apache-2.0
#include "program/fill.hpp"

#include <algorithm>
#include <vector>

#include "field/cells.hpp"
#include "field/elements.hpp"
#include "field/partition.hpp"

namespace halocline::program {
namespace {

// Values are generated in pieces that stay in the first-level cache (32 KiB).
constexpr std::int64_t piece_cells = 2048;

template <class Real>
void fill_share(const FieldStorage& field, const RowValues& values_of, const Box& share) {
  std::vector<double> values(static_cast<std::size_t>(piece_cells));
  const FieldView<Real> view = field::view_of<Real>(field);
  const std::int64_t step = view.strides().x;
  for (std::int64_t z = share.lower.z; z < share.upper.z; ++z)
    for (std::int64_t y = share.lower.y; y < share.upper.y; ++y)
      for (std::int64_t x = share.lower.x; x < share.upper.x; x += piece_cells) {
        const std::int64_t count = std::min(piece_cells, share.upper.x - x);
        values_of({x, y, z}, count, values.data());
        Real* to = &view(x, y, z);
        for (std::int64_t i = 0; i < count; ++i)
          to[i * step] = static_cast<Real>(values[static_cast<std::size_t>(i)]);
      }
}

}  // namespace

void fill_owned(const FieldStorage& field, const RowValues& row, int threads) {
  const Box& owned = field.shape().owned;
  field::with_real(field, [&]<class Real>() {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int thread = 0; thread < threads; ++thread)
      fill_share<Real>(field, row, field::share_of(owned, threads, thread));
  });
}

}  // namespace halocline::program

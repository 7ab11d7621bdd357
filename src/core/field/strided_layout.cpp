// SPDX-License-Identifier: Apache-2.0
#include "field/strided_layout.hpp"

#include <algorithm>
#include <numeric>

namespace halocline::field {
namespace {

constexpr std::int64_t line_bytes = 64;
// Rows this far apart fall into the same sets of a cache with 64 sets of 64-byte lines (the
// first level of every x86 of the last decade), so the rows of a stencil would evict each other.
constexpr std::int64_t alias_bytes = 4096;

std::int64_t round_up(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }

}  // namespace

StridedLayout::StridedLayout(const FieldShape& shape, int axes,
                             std::array<std::int64_t, 4> stride_bytes,
                             std::int64_t first_owned_offset)
    : origin_(shape.owned.lower),
      axes_(axes),
      components_(shape.components),
      element_bytes_(shape.element_bytes),
      stride_bytes_(stride_bytes),
      first_owned_offset_(first_owned_offset) {
  std::iota(ascending_.begin(), ascending_.end(), 0);
  std::stable_sort(ascending_.begin(), ascending_.end(), [&](int a, int b) {
    return stride_bytes_[static_cast<std::size_t>(a)] < stride_bytes_[static_cast<std::size_t>(b)];
  });
}

std::string StridedLayout::order() const {
  std::string names;
  for (const int dimension : ascending_) {
    if (dimension == 3 ? components_ > 1 : dimension < axes_) names += "xyzc"[dimension];
  }
  return names;
}

std::optional<Strides> StridedLayout::as_strided() const {
  const auto [x, y, z, component] = stride_bytes_;
  return Strides{x / element_bytes_, y / element_bytes_, z / element_bytes_,
                 component / element_bytes_};
}

std::vector<Run> StridedLayout::runs(const Box& box) const {
  if (box.empty()) return {};
  const Int3 extent = box.extent();
  const Int3 from = box.lower - origin_;
  std::int64_t offset = first_owned_offset_;
  for (int axis = 0; axis < 3; ++axis)
    offset += from[axis] * stride_bytes_[static_cast<std::size_t>(axis)];

  // Dimensions in order of stride; adjacent ones without a gap merge into one piece.
  std::int64_t piece = element_bytes_;
  struct Loop {
    std::int64_t count, stride;
  };
  std::vector<Loop> loops;
  for (const int dimension : ascending_) {
    const std::int64_t count = dimension == 3 ? components_ : extent[dimension];
    const std::int64_t stride = stride_bytes_[static_cast<std::size_t>(dimension)];
    if (count == 1) continue;
    if (loops.empty() && stride == piece)
      piece *= count;
    else
      loops.push_back({count, stride});
  }

  // The fastest remaining loop is inside the run; the others list runs.
  std::vector<Run> runs{
      {offset, piece, loops.empty() ? 1 : loops[0].count, loops.empty() ? piece : loops[0].stride}};
  for (std::size_t l = 1; l < loops.size(); ++l) {
    const std::size_t inner = runs.size();
    runs.reserve(inner * static_cast<std::size_t>(loops[l].count));
    for (std::int64_t i = 1; i < loops[l].count; ++i)
      for (std::size_t r = 0; r < inner; ++r) {
        Run run = runs[r];
        run.offset += i * loops[l].stride;
        runs.push_back(run);
      }
  }
  return runs;
}

Strides padded_strides(const FieldShape& shape, int axes) {
  const Int3 held = shape.held().extent();
  const std::int64_t element = shape.element_bytes, components = shape.components;
  const std::int64_t cell = element * components;
  Strides strides{.x = components, .y = held.x * components, .z = 0, .component = 1};
  // Elements whose size divides a line can be aligned; a 12-byte struct cannot.
  if (axes > 1 && line_bytes % element == 0) {
    std::int64_t row = round_up(held.x * cell, line_bytes);
    if (row % alias_bytes == 0) row += line_bytes;
    strides.y = row / element;
  }
  strides.z = strides.y * held.y;
  return strides;
}

}  // namespace halocline::field

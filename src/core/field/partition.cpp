// SPDX-License-Identifier: Apache-2.0
#include "field/partition.hpp"

#include <limits>

namespace halocline::field {
namespace {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Returns parts per axis, whose product is `threads`.
Int3 parts_of(const Int3& units, int threads) {
  Int3 best{1, 1, threads};
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t z = threads; z >= 1; --z) {
    if (threads % z != 0) continue;
    const std::int64_t rest = threads / z;
    for (std::int64_t y = rest; y >= 1; --y) {
      if (rest % y != 0) continue;
      const Int3 parts{rest / y, y, z};
      const std::int64_t largest =
          ceil_div(units.x, parts.x) * ceil_div(units.y, parts.y) * ceil_div(units.z, parts.z);
      if (largest >= least) continue;
      least = largest;
      best = parts;
    }
  }
  return best;
}

}  // namespace

std::int64_t segment_cells(const Box& box) {
  const Int3 extent = box.extent();
  // A single row must be split along x. 4096 cells are 32 KiB, a first-level cache.
  return extent.y * extent.z == 1 ? 4096 : std::numeric_limits<std::int32_t>::max();
}

Box share_of(const Box& box, int threads, int thread) {
  if (threads == 1) return box;
  const Int3 extent = box.extent();
  const Int3 unit{segment_cells(box), 1, 1};
  const Int3 units{ceil_div(extent.x, unit.x), extent.y, extent.z};
  const Int3 parts = parts_of(units, threads);
  const Int3 place{thread % parts.x, thread / parts.x % parts.y, thread / (parts.x * parts.y)};
  Box share;
  for (int axis = 0; axis < 3; ++axis) {
    const auto start = [&](std::int64_t part) {
      return std::min(extent[axis], units[axis] * part / parts[axis] * unit[axis]);
    };
    share.lower[axis] = box.lower[axis] + start(place[axis]);
    share.upper[axis] = box.lower[axis] + start(place[axis] + 1);
  }
  return share;
}

}  // namespace halocline::field

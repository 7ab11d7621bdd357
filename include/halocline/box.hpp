// SPDX-License-Identifier: Apache-2.0
#pragma once
// Integer points and boxes of cells. x is the fastest axis, then y, then z.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace halocline {

/// A point, an extent or a count per axis. Along the axes that a grid lacks, coordinates are 0 and
/// extents 1.
struct Int3 {
  std::int64_t x = 0, y = 0, z = 0;

  constexpr std::int64_t& operator[](int axis) { return axis == 0 ? x : axis == 1 ? y : z; }
  constexpr std::int64_t operator[](int axis) const { return axis == 0 ? x : axis == 1 ? y : z; }
  friend constexpr bool operator==(const Int3&, const Int3&) = default;
  friend constexpr Int3 operator+(Int3 a, Int3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
  friend constexpr Int3 operator-(Int3 a, Int3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
};

/// The cells from `lower` up to, not including, `upper`; empty unless `upper` is above `lower`
/// along every axis.
struct Box {
  Int3 lower, upper;

  constexpr Int3 extent() const {
    return {std::max<std::int64_t>(0, upper.x - lower.x),
            std::max<std::int64_t>(0, upper.y - lower.y),
            std::max<std::int64_t>(0, upper.z - lower.z)};
  }
  constexpr bool empty() const {
    return upper.x <= lower.x || upper.y <= lower.y || upper.z <= lower.z;
  }
  constexpr std::int64_t cells() const {
    const Int3 e = extent();
    return e.x * e.y * e.z;
  }
  constexpr bool contains(Int3 p) const {
    return p.x >= lower.x && p.x < upper.x && p.y >= lower.y && p.y < upper.y && p.z >= lower.z &&
           p.z < upper.z;
  }
  /// True for an empty `other` as well.
  constexpr bool contains(const Box& other) const {
    return other.empty() || (contains(other.lower) && contains(other.upper - Int3{1, 1, 1}));
  }
  friend constexpr bool operator==(const Box&, const Box&) = default;
};

constexpr Box intersect(const Box& a, const Box& b) {
  return {{std::max(a.lower.x, b.lower.x), std::max(a.lower.y, b.lower.y),
           std::max(a.lower.z, b.lower.z)},
          {std::min(a.upper.x, b.upper.x), std::min(a.upper.y, b.upper.y),
           std::min(a.upper.z, b.upper.z)}};
}

constexpr Box shift(const Box& box, Int3 by) { return {box.lower + by, box.upper + by}; }

/// Moves every side outward by its width; negative widths shrink the box.
constexpr Box grow(const Box& box, Int3 lower, Int3 upper) {
  return {box.lower - lower, box.upper + upper};
}

/// Cuts `outer` minus `inner` into at most six disjoint boxes: whole slabs along z first, then y,
/// then x, so that the largest boxes are contiguous.
std::vector<Box> subtract(const Box& outer, const Box& inner);

}  // namespace halocline

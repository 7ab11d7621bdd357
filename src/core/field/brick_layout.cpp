// SPDX-License-Identifier: Apache-2.0
#include "field/brick_layout.hpp"

#include <algorithm>
#include <bit>

#include "base/checked.hpp"

namespace halocline::field {
namespace {

/// Adds pieces to the last run while they continue it.
class RunList {
 public:
  void add(const Run& run) {
    if (!runs_.empty() && continues(runs_.back(), run)) return;
    runs_.push_back(run);
  }
  std::vector<Run> take() { return std::move(runs_); }

 private:
  static bool continues(Run& last, const Run& run) {
    if (last.count == 1 && run.count == 1 && run.offset == last.offset + last.bytes) {
      last.bytes += run.bytes;
      return true;
    }
    if (last.bytes != run.bytes || (run.count > 1 && last.count > 1 && run.stride != last.stride))
      return false;
    const std::int64_t stride = last.count > 1  ? last.stride
                                : run.count > 1 ? run.stride
                                                : run.offset - last.offset;
    if (stride <= 0 || run.offset != last.offset + last.count * stride) return false;
    last.count += run.count;
    last.stride = stride;
    return true;
  }

  std::vector<Run> runs_;
};

}  // namespace

BrickLayout::BrickLayout(const FieldShape& shape, const Extents& brick)
    : axes_(brick.axes()),
      origin_(shape.owned.lower),
      components_(shape.components),
      element_bytes_(shape.element_bytes) {
  const Int3 owned = shape.owned.extent();
  Int3 before;  // bricks before the one that the first owned cell begins
  std::int64_t cells = components_, bricks = 1;
  for (int axis = 0; axis < 3; ++axis) {
    const auto length = static_cast<std::uint64_t>(brick.values()[axis]);
    bricks_.shift[axis] = std::countr_zero(length);
    bricks_.cell_step[axis] = cells;
    cells *= brick.values()[axis];
  }
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t length = brick.values()[axis];
    bricks_.brick_step[axis] = checked_multiply(bricks, cells, "elements of a field in bricks");
    before[axis] = (shape.halo.lower[axis] + length - 1) / length;
    const std::int64_t after = (owned[axis] + shape.halo.upper[axis] + length - 1) / length;
    bricks = checked_multiply(bricks, before[axis] + after, "bricks of a field");
  }
  bytes_ = checked_multiply(checked_multiply(bricks, cells, "elements of a field in bricks"),
                            element_bytes_, "bytes of a field in bricks");
  for (int axis = 0; axis < 3; ++axis)
    first_owned_ += before[axis] * bricks_.brick_step[axis] * element_bytes_;
}

std::string BrickLayout::order() const {
  return (components_ > 1 ? "c" : "") +
         std::string("xyz").substr(0, static_cast<std::size_t>(axes_));
}

std::vector<Run> BrickLayout::runs(const Box& box) const {
  if (box.empty()) return {};
  const std::int64_t cell_bytes = components_ * element_bytes_;
  const std::int64_t length = bricks_.cells().x,
                     brick_bytes = bricks_.brick_step.x * element_bytes_;
  const std::int64_t from = box.lower.x - origin_.x, to = box.upper.x - origin_.x;
  // Of a row: what it has of its first brick, whole bricks, what it has of the last.
  const std::int64_t whole_from = std::min(to, (from + length - 1) & -length);
  const std::int64_t whole_to = std::max(whole_from, to & -length);
  RunList list;
  for (std::int64_t z = box.lower.z; z < box.upper.z; ++z)
    for (std::int64_t y = box.lower.y; y < box.upper.y; ++y) {
      const auto offset_of = [&](std::int64_t x) {
        return first_owned_ + bricks_.place({x, y - origin_.y, z - origin_.z}) * element_bytes_;
      };
      if (from < whole_from) list.add({offset_of(from), (whole_from - from) * cell_bytes, 1, 0});
      if (whole_from < whole_to)
        list.add({offset_of(whole_from), length * cell_bytes, (whole_to - whole_from) / length,
                  brick_bytes});
      if (whole_to < to) list.add({offset_of(whole_to), (to - whole_to) * cell_bytes, 1, 0});
    }
  return list.take();
}

}  // namespace halocline::field

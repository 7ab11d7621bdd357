// SPDX-License-Identifier: Apache-2.0
#include "field/checks.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/checked.hpp"

namespace halocline::field {
namespace {

/// Elements from the first value to the last. Throws usage above 2^62, so that two lengths can be
/// added.
std::int64_t length_of(std::span<const ArrayAxis> axes) {
  constexpr std::int64_t most = std::int64_t{1} << 62;
  std::int64_t length = 0;
  for (const ArrayAxis& axis : axes) {
    const std::int64_t of_axis =
        checked_multiply(axis.count - 1, axis.stride, "elements of an array");
    if (of_axis > most - length)
      throw Error(ErrorKind::usage, "elements of an array: more than 2^62");
    length += of_axis;
  }
  return length;
}

/// Returns whether some steps along `axes`, which are in order of stride, lead `distance` elements
/// forward: fewer steps along each axis than it has values, in either direction.
bool can_lead(std::span<const ArrayAxis> axes, std::int64_t distance) {
  if (axes.empty()) return distance == 0;
  const auto [count, stride] = axes.back();
  const auto smaller = axes.first(axes.size() - 1);
  // The smaller strides together must make up for what this axis leaves.
  const std::int64_t reach = length_of(smaller);
  const auto floor_div = [](std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); };
  const std::int64_t first = std::max(1 - count, -floor_div(reach - distance, stride)),
                     last = std::min(count - 1, floor_div(distance + reach, stride));
  for (std::int64_t steps = first; steps <= last; ++steps)
    if (can_lead(smaller, distance - steps * stride)) return true;
  return false;
}

std::string text_of(const Int3& values, int axes, const char* between) {
  std::string text;
  for (int axis = 0; axis < axes; ++axis)
    text += fmt::format("{}{}", axis > 0 ? between : "", values[axis]);
  return text;
}

/// "1, 20 along x, y", of several components "... and 400 between components".
std::string strides_text(const Int3& strides, int axes, std::int64_t components,
                         std::int64_t between_components) {
  std::string text = text_of(strides, axes, ", ") + " along ";
  for (int axis = 0; axis < axes; ++axis)
    text += fmt::format("{}{}", axis > 0 ? ", " : "", "xyz"[axis]);
  if (components > 1) text += fmt::format(" and {} between components", between_components);
  return text;
}

/// The strides of the same cells without gaps, with x as the fastest axis and as the slowest, and
/// components where the given strides have them: in each cell, or further apart.
std::string strides_that_fit(const Int3& cells, int axes, std::int64_t components,
                             const Strides& given) {
  const bool in_each_cell = given.component < std::min({given.x, axes > 1 ? given.y : given.x,
                                                        axes > 2 ? given.z : given.x});
  const auto dense = [&](int fastest) {
    Int3 strides;
    std::int64_t elements = in_each_cell ? components : 1;
    for (int i = 0; i < axes; ++i) {
      const int axis = fastest == 0 ? i : fastest - i;
      strides[axis] = elements;
      elements = checked_multiply(elements, cells[axis], "elements of an array");
    }
    return strides_text(strides, axes, components, in_each_cell ? 1 : elements);
  };
  const std::string fitting = "without gaps they are " + dense(0);
  if (axes == 1) return fitting;
  return fmt::format("{}, or {} if {} is the fastest axis", fitting, dense(axes - 1),
                     "xyz"[axes - 1]);
}

}  // namespace

void check_options(const FieldOptions& options, int axes) {
  if (options.components < 1)
    throw Error(ErrorKind::usage, fmt::format("field '{}' has {} components; at least 1 is needed",
                                              options.name, options.components));
  if (!options.halo) return;
  for (int axis = 0; axis < axes; ++axis)
    if (options.halo->lower[axis] < 0 || options.halo->upper[axis] < 0)
      throw Error(ErrorKind::usage, fmt::format("field '{}' has a negative halo width along {}",
                                                options.name, "xyz"[axis]));
}

void check_brick(const FieldOptions& options, int axes) {
  const Extents& brick = options.brick;
  if (brick.axes() == 0) return;
  if (brick.axes() != axes)
    throw Error(ErrorKind::usage, fmt::format("field '{}' has bricks of {} axes; the grid has {}",
                                              options.name, brick.axes(), axes));
  constexpr std::int64_t most = 1 << 16;
  for (int axis = 0; axis < axes; ++axis)
    if (brick[axis] < 1 || brick[axis] > most || (brick[axis] & (brick[axis] - 1)) != 0)
      throw Error(
          ErrorKind::usage,
          fmt::format("field '{}' has bricks of {} cells along {}; it must be a power of 2, "
                      "at most {}",
                      options.name, brick[axis], "xyz"[axis], most));
}

bool values_overlap(std::span<const ArrayAxis> axes) {
  std::vector<ArrayAxis> ascending;
  for (const ArrayAxis& axis : axes)
    if (axis.count > 1) ascending.push_back(axis);
  std::sort(ascending.begin(), ascending.end(),
            [](const ArrayAxis& a, const ArrayAxis& b) { return a.stride < b.stride; });
  length_of(ascending);  // after this no distance overflows
  // Two values share an element if their steps apart add up to nothing. Take the axis of the
  // largest stride along which they differ.
  for (std::size_t largest = 0; largest < ascending.size(); ++largest) {
    const auto [count, stride] = ascending[largest];
    const auto smaller = std::span(ascending).first(largest);
    const std::int64_t most = std::min(count - 1, length_of(smaller) / stride);
    for (std::int64_t steps = 1; steps <= most; ++steps)
      if (can_lead(smaller, steps * stride)) return true;
  }
  return false;
}

void check_strides(const std::string& name, const Int3& cells, int axes, std::int64_t components,
                   const Strides& strides) {
  const Int3 steps{strides.x, strides.y, strides.z};
  std::vector<ArrayAxis> all;
  for (int axis = 0; axis < axes; ++axis) {
    if (steps[axis] < 1)
      throw Error(ErrorKind::usage,
                  fmt::format("field '{}' has stride {} along {}; strides are in elements and must "
                              "be positive",
                              name, steps[axis], "xyz"[axis]));
    all.push_back({cells[axis], steps[axis]});
  }
  if (components > 1 && strides.component < 1)
    throw Error(ErrorKind::usage, fmt::format("field '{}' has {} components and stride {} between "
                                              "them; strides are in elements and must be positive",
                                              name, components, strides.component));
  all.push_back({components, strides.component});
  if (!values_overlap(all)) return;
  throw Error(
      ErrorKind::usage,
      fmt::format("two values of field '{}' would share an element: its array has {} cells, "
                  "halo included, and strides {}; {}",
                  name, text_of(cells, axes, "x"),
                  strides_text(steps, axes, components, strides.component),
                  strides_that_fit(cells, axes, components, strides)));
}

}  // namespace halocline::field

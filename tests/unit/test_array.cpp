// SPDX-License-Identifier: Apache-2.0
// Which arrays a field may wrap: two values never share an element, compared with enumeration.

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/array.hpp>
#include <halocline/error.hpp>
#include <halocline/field.hpp>

#include "field/checks.hpp"
#include "support/caught.hpp"
#include "support/grids.hpp"

namespace halocline {
namespace {

using field::ArrayAxis;
using test::caught;
using test::Caught;
using test::grid_of;
using testing::AllOf;
using testing::HasSubstr;

bool values_overlap_by_enumeration(const std::vector<ArrayAxis>& axes) {
  std::vector<std::int64_t> offsets{0};
  for (const ArrayAxis& axis : axes) {
    const std::size_t inner = offsets.size();
    for (std::int64_t i = 1; i < axis.count; ++i)
      for (std::size_t o = 0; o < inner; ++o) offsets.push_back(offsets[o] + i * axis.stride);
  }
  std::sort(offsets.begin(), offsets.end());
  return std::adjacent_find(offsets.begin(), offsets.end()) != offsets.end();
}

TEST(Array, KnowsExactlyWhetherValuesShareAnElement) {
  std::mt19937 random(7);  // NOLINT: the same cases each time
  const auto up_to = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(most)) + 1;
  };
  int overlapping = 0, apart = 0;
  for (int number = 0; number < 5'000; ++number) {
    std::vector<ArrayAxis> axes;
    std::string text;
    for (std::int64_t i = up_to(4); i > 0; --i) {
      axes.push_back({up_to(6), up_to(number % 2 == 0 ? 12 : 150)});
      text +=
          std::to_string(axes.back().count) + " of " + std::to_string(axes.back().stride) + ", ";
    }
    const bool expected = values_overlap_by_enumeration(axes);
    (expected ? overlapping : apart) += 1;
    ASSERT_EQ(field::values_overlap(axes), expected) << text;
  }
  EXPECT_GT(overlapping, 500);
  EXPECT_GT(apart, 500);
}

TEST(Array, KnowsItForLargeArraysToo) {
  EXPECT_FALSE(field::values_overlap(std::vector<ArrayAxis>{{100'000, 1}, {100'000, 100'000}}));
  EXPECT_TRUE(field::values_overlap(std::vector<ArrayAxis>{{100'000, 1}, {100'000, 99'999}}));
  // Interleaved: the first axis passes many rows of the second.
  EXPECT_FALSE(field::values_overlap(std::vector<ArrayAxis>{{1000, 1001}, {1001, 1000}}));
  EXPECT_TRUE(field::values_overlap(std::vector<ArrayAxis>{{1001, 1001}, {1002, 1000}}));
  const std::int64_t most = std::int64_t{1} << 62;
  EXPECT_EQ(caught([&] {
              field::values_overlap(std::vector<ArrayAxis>{{4, most}, {9, 1}});
            }).kind,
            ErrorKind::usage);
}

TEST(Array, RefusesStridesWithWhichValuesOverlap) {
  const auto error_of = [](const Extents& cells, const ArrayShape& array,
                           std::int64_t components = 1) {
    const Grid grid = grid_of(cells);
    const Caught error = caught(
        [&] { place_in_array(grid, {.name = "u", .halo = 2, .components = components}, array); });
    EXPECT_EQ(error.kind, ErrorKind::usage);
    return error.text;
  };
  EXPECT_THAT(error_of({16, 12}, {.strides = {1, 3, 0}}),
              AllOf(HasSubstr("'u'"), HasSubstr("20x16 cells"), HasSubstr("1, 3 along x, y"),
                    HasSubstr("1, 20 along"), HasSubstr("16, 1 along")));
  error_of({16, 12}, {.strides = {1, 1, 0}});
  error_of({12, 16}, {.strides = {16, 1, 0}});  // x and y taken for each other
  error_of({16}, {.strides = {1, 0, 0}, .component_stride = 19}, 3);
  EXPECT_THAT(error_of({16, 12}, {.strides = {1, 20, 0}, .component_stride = 300}, 3),
              HasSubstr("320 between components"));
  EXPECT_THAT(error_of({16, 12}, {.strides = {2, 40, 0}}, 3),
              AllOf(HasSubstr("3, 60 along"), HasSubstr("1 between components")));
  // The array that was described overlaps, not only the part of it that the field holds.
  error_of({16, 12}, {.extents = {24, 0, 0}, .strides = {1, 20, 0}});

  std::vector<double> memory(100);
  EXPECT_EQ(caught([&] {
              Field<double>(grid_of({4, 4}), &memory[50], {.x = 1, .y = 1}, {});
            }).kind,
            ErrorKind::usage);
}

TEST(Array, HasTheHaloThatTheGridExpectsUnlessOneIsGiven) {
  GridOptions options;
  options.cells = {16, 12};
  options.expected_halo = 2;
  const Grid grid(0, 1, options);
  EXPECT_EQ(place_in_array(grid, {}, {.extents = {20, 16, 0}}).first_owned, 2 + 2 * 20);
  EXPECT_EQ(Field<double>(grid).shape().held(), (Box{{-2, -2, 0}, {18, 14, 1}}));
  EXPECT_EQ(place_in_array(grid, {.halo = 1}, {}).first_owned, 1 + 18);
  // Padding, or a wider halo?
  const Caught wider = caught([&] {
    place_in_array(grid, {.name = "u"}, {.extents = {20, 18, 0}});
  });
  EXPECT_EQ(wider.kind, ErrorKind::usage);
  EXPECT_THAT(wider.text, AllOf(HasSubstr("'u' has 18 cells along y"), HasSubstr("fill 16"),
                                HasSubstr("expected_halo")));
  EXPECT_FALSE(caught([&] { place_in_array(grid, {.halo = 2}, {.extents = {20, 18, 0}}); }).kind);
}

TEST(Array, TakesStridesThatInterleave) {
  const auto expect_taken = [](const Extents& cells, const ArrayShape& array,
                               std::int64_t components = 1) {
    const Caught error = caught(
        [&] { place_in_array(grid_of(cells), {.halo = 1, .components = components}, array); });
    EXPECT_FALSE(error.kind) << error.text;
  };
  expect_taken({8, 6}, {});
  expect_taken({8, 6}, {.extents = {12, 0, 0}});     // padded rows
  expect_taken({8, 6}, {.strides = {8, 1, 0}});      // y is the fastest
  expect_taken({8, 6, 4}, {.strides = {6, 60, 1}});  // z, x, y
  expect_taken({8, 6}, {.strides = {5, 50, 0}});     // a member of a struct
  expect_taken({8, 6}, {.strides = {5, 50, 0}, .component_stride = 2}, 3);
  expect_taken({8, 6}, {.strides = {1, 10, 0}, .component_stride = 80}, 3);
  expect_taken({8, 6}, {.strides = {1, 30, 0}, .component_stride = 10}, 3);  // components of a row
  expect_taken({1, 6}, {.extents = {3, 8, 0}, .strides = {7, 3, 0}});        // without order
}

}  // namespace
}  // namespace halocline

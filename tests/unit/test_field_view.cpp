// SPDX-License-Identifier: Apache-2.0
// A field as kernels see it: its view counts as the field does, and fields without a type.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/error.hpp>
#include <halocline/field.hpp>

#include "support/caught.hpp"

namespace halocline {
namespace {

using test::caught;
using test::says;
using testing::HasSubstr;

static_assert(std::is_trivially_copyable_v<FieldView<double>>);
static_assert(std::is_trivially_copyable_v<FieldView<const float>>);
static_assert(std::is_standard_layout_v<FieldView<double>>);
static_assert(sizeof(FieldView<double>) == 72, "what its comment says");
static_assert(std::is_convertible_v<FieldView<double>, FieldView<const double>>);
static_assert(!std::is_convertible_v<FieldView<const double>, FieldView<double>>);
static_assert(!std::is_convertible_v<FieldView<double>, FieldView<const float>>);
static_assert(std::is_same_v<decltype(FieldView<const double>{}(0)), const double&>);
static_assert(std::is_same_v<decltype(FieldView<const double>{}.row()), const double*>);

/// The last of so many ranks along each axis, so that the first owned cell is not at 0.
Grid last_of(const Extents& cells, const Extents& ranks) {
  GridOptions options;
  options.cells = cells;
  options.process_grid = ranks;
  const Int3 counts = ranks.values();
  const int all =
      static_cast<int>(std::max<std::int64_t>(1, counts.x) * std::max<std::int64_t>(1, counts.y) *
                       std::max<std::int64_t>(1, counts.z));
  return Grid(all - 1, all, options);
}

FieldOptions heat_with_halo(const HaloWidths& halo, std::int64_t components = 1) {
  FieldOptions options;
  options.name = "heat";
  options.halo = halo;
  options.components = components;
  return options;
}

/// Compares all held cells with where the shape and the given strides say that they are.
template <class T>
void expect_counts(const Field<T>& field, const Strides& step) {
  const FieldView<T> view = field.view();
  const FieldView<const T> reading = view;
  EXPECT_EQ(view.first(), field.first());
  EXPECT_EQ(view.origin(), field.shape().owned.lower);
  EXPECT_EQ(view.strides(), step);
  const Box held = field.shape().held();
  const Int3 origin = field.shape().owned.lower;
  for (std::int64_t z = held.lower.z; z < held.upper.z; ++z)
    for (std::int64_t y = held.lower.y; y < held.upper.y; ++y)
      for (std::int64_t x = held.lower.x; x < held.upper.x; ++x)
        for (std::int64_t c = 0; c < field.shape().components; ++c) {
          const T* expected = field.first() + (x - origin.x) * step.x + (y - origin.y) * step.y +
                              (z - origin.z) * step.z + c * step.component;
          ASSERT_EQ(&view(x, y, z, c), expected) << x << ", " << y << ", " << z << ", " << c;
          ASSERT_EQ(&reading(x, y, z, c), expected);
          ASSERT_EQ(&field(x, y, z, c), expected);
          ASSERT_EQ(view.row(y, z, c) + (x - origin.x) * step.x, expected);
        }
}

TEST(FieldView, CountsAsTheFieldDoes) {
  for (const HaloWidths& halo : {HaloWidths(0), HaloWidths(2), HaloWidths({1, 0, 2}, {3, 2, 0})})
    for (const std::int64_t components : {1, 3}) {
      const auto expect = [&](const Grid& grid) {
        const Field<double> field(grid, heat_with_halo(halo, components));
        expect_counts(field, field.strides());
        const Field<char> bytes(grid, heat_with_halo(halo, components));
        expect_counts(bytes, bytes.strides());
      };
      expect(last_of({7}, {1}));
      expect(last_of({12}, {2}));
      expect(last_of({12, 8}, {2, 2}));
      expect(last_of({8, 9, 12}, {2, 1, 3}));
    }
}

TEST(FieldView, CountsWithTheUsersStridesInAnyOrder) {
  std::vector<double> memory(100'000);
  const Grid one = last_of({12}, {2}), two = last_of({12, 10}, {2, 2}),
             three = last_of({12, 10, 8}, {2, 2, 2});
  const auto expect = [&](const Grid& grid, const Strides& strides, std::int64_t components) {
    expect_counts(Field<double>(grid, &memory[50'000], strides, heat_with_halo(1, components)),
                  strides);
  };
  expect(one, {.x = 3}, 1);
  expect(two, {.x = 1, .y = 8}, 1);
  expect(two, {.x = 9, .y = 1}, 1);
  expect(two, {.x = 1, .y = 8, .component = 56}, 3);
  expect(three, {.x = 1, .y = 10, .z = 80}, 1);
  expect(three, {.x = 42, .y = 6, .z = 1}, 1);
  expect(three, {.x = 4, .y = 40, .z = 400, .component = 1}, 3);
}

TEST(FieldView, LeavesOutCoordinatesOfAxesThatAreNotThere) {
  const Field<int> line(last_of({12}, {2})), plane(last_of({12, 8}, {2, 2}));
  EXPECT_EQ(&line.view()(7), line.first() + line.strides().x);
  EXPECT_EQ(&plane.view()(6, 5), plane.first() + plane.strides().y);
  EXPECT_EQ(line.view().row(), line.first());
  EXPECT_EQ(plane.view().row(5), plane.first() + plane.strides().y);
}

TEST(FieldView, WritesWhatTheFieldReads) {
  const Field<double> field(last_of({12, 8}, {2, 2}));
  const FieldView<double> view = field.view();
  view(5, 3) = 1;  // a halo cell
  view.row(4)[8 - view.origin().x] = 2;
  EXPECT_EQ(field(5, 3), 1);
  EXPECT_EQ(field(8, 4), 2);
  const FieldView<const double> reading = field.view();
  field(8, 4) = 3;
  EXPECT_EQ(reading(8, 4), 3);
}

TEST(RawField, HoldsElementsOfAnyNumberOfBytes) {
  const Grid grid = last_of({12, 8}, {2, 2});
  for (const std::int64_t bytes : {1, 3, 8, 12, 40}) {
    const FieldStorage field(grid, bytes, heat_with_halo(1, 2));
    EXPECT_EQ(field.shape().element_bytes, bytes);
    EXPECT_EQ(field.shape().held(), (Box{{5, 3, 0}, {13, 9, 1}}));
    EXPECT_GE(field.allocated_bytes(), 8 * 6 * 2 * bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(field.first_owned()) % 64, 0U);
    std::int64_t listed = 0;
    for (const halocline::Run& run : field.layout().runs(field.shape().held()))
      listed += run.bytes * run.count;
    EXPECT_EQ(listed, 8 * 6 * 2 * bytes);
  }
  const FieldStorage raw(grid, sizeof(double));
  EXPECT_EQ(raw.strides(), Field<double>(grid).strides());
}

TEST(RawField, UsesTheCallersMemory) {
  std::vector<std::byte> memory(3 * 8 * 6);
  const FieldStorage field(last_of({12, 8}, {2, 2}), {&memory[3 * (8 + 1)], {.x = 1, .y = 8}, 3},
                           heat_with_halo(1));
  EXPECT_EQ(field.allocated_bytes(), 0);
  EXPECT_EQ(field.bytes(), memory.data());
  EXPECT_EQ(field.as_strided(), (Strides{.x = 1, .y = 8}));
  const Box held = field.shape().held();
  ASSERT_EQ(field.layout().runs(held).size(), 1U);
  EXPECT_EQ(field.layout().runs(held)[0], (halocline::Run{0, 3 * 8 * 6, 1, 3 * 8 * 6}));
}

TEST(RawField, SaysWhatIsWrongWithItsElementsAndMemory) {
  const Grid grid = last_of({12, 8}, {2, 2});
  std::vector<std::byte> memory(1000);
  for (const std::int64_t bytes : {0, -8}) {
    const auto made = caught([&] { FieldStorage(grid, bytes, heat_with_halo(1)); });
    EXPECT_THAT(made,
                says(ErrorKind::usage, "field 'heat' has elements of " + std::to_string(bytes) +
                                           " bytes; at least 1 is needed"));
    const auto wrapped = caught([&] {
      FieldStorage(grid, {&memory[500], {.x = 1, .y = 8}, bytes}, heat_with_halo(1));
    });
    EXPECT_EQ(wrapped.text, made.text);
  }
  const auto null = caught([&] {
    FieldStorage(grid, {nullptr, {.x = 1, .y = 8}, 3}, heat_with_halo(1));
  });
  EXPECT_THAT(null, says(ErrorKind::usage, "field 'heat' was given a null pointer"));
  const auto stride = caught([&] {
    FieldStorage(grid, {&memory[500], {.x = 1, .y = -8}, 3}, heat_with_halo(1));
  });
  EXPECT_THAT(stride, says(ErrorKind::usage, "stride -8 along y"));
}

/// Blocks of 2x2 cells, for a field without a halo: no strides lead from cell to cell.
class Blocks final : public Layout {
 public:
  std::vector<Run> runs(const Box& box) const override {
    std::vector<Run> runs;
    for (auto y = box.lower.y; y < box.upper.y; ++y)
      for (auto x = box.lower.x; x < box.upper.x; ++x)
        runs.push_back({8 * (4 * (x / 2 + 2 * (y / 2)) + x % 2 + 2 * (y % 2)), 8, 1, 8});
    return runs;
  }
  std::string order() const override { return "blocks of 2x2"; }
};

class InBlocks : public FieldStorage {
 public:
  InBlocks(const Grid& grid, std::vector<double>& memory)
      : FieldStorage(grid,
                     {reinterpret_cast<std::byte*>(memory.data()), std::make_shared<Blocks>(), 8},
                     heat_with_halo(0)) {}
};

TEST(FieldStorage, MayHaveALayoutWithoutStrides) {
  std::vector<double> memory(16);
  const InBlocks field(last_of({4, 4}, {1, 1}), memory);
  EXPECT_EQ(field.as_strided(), std::nullopt);
  EXPECT_EQ(static_cast<void*>(field.first_owned()), memory.data());
  const auto error = caught([&] { (void)field.strides(); });
  EXPECT_THAT(error, says(ErrorKind::usage, "field 'heat' has no strides"));
  EXPECT_THAT(error.text, HasSubstr("'blocks of 2x2'"));
}

TEST(FieldStorage, TellsItsStrides) {
  std::vector<double> memory(1000);
  const Strides given{.x = 9, .y = 1, .component = 70};
  const Field<double> field(last_of({12, 8}, {2, 2}), &memory[500], given, heat_with_halo(1, 2));
  EXPECT_EQ(field.as_strided(), given);
  EXPECT_EQ(field.strides(), given);
  EXPECT_EQ(field.layout().as_strided(), given);
}

}  // namespace
}  // namespace halocline

// SPDX-License-Identifier: Apache-2.0
// Where the values of a field lie, and what the runs of a box list, compared with enumeration.

#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/error.hpp>
#include <halocline/field.hpp>

#include "support/caught.hpp"
#include "support/grids.hpp"
#include "support/set_variable.hpp"

namespace halocline {
namespace {

using test::caught;
using test::grid_of;
using test::says;
using testing::HasSubstr;

FieldOptions with_halo(const HaloWidths& halo, std::int64_t components = 1) {
  FieldOptions options;
  options.halo = halo;
  options.components = components;
  return options;
}

/// One component of a cell.
using NumberedCell = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

/// Every value of a box with the offset of its first byte, from the field's own strides.
std::map<std::int64_t, NumberedCell> values_by_offset(const FieldStorage& field, const Box& box) {
  std::map<std::int64_t, NumberedCell> values;
  const Int3 origin = field.shape().owned.lower;
  const std::int64_t components = field.shape().components;
  const auto place = [&](Int3 from_first, std::int64_t c) {
    if (field.as_bricks()) return field.as_bricks()->place(from_first) + c;
    const Strides& step = field.strides();
    return from_first.x * step.x + from_first.y * step.y + from_first.z * step.z +
           c * step.component;
  };
  for (std::int64_t z = box.lower.z; z < box.upper.z; ++z)
    for (std::int64_t y = box.lower.y; y < box.upper.y; ++y)
      for (std::int64_t x = box.lower.x; x < box.upper.x; ++x)
        for (std::int64_t c = 0; c < components; ++c) {
          const std::int64_t elements = place(Int3{x, y, z} - origin, c);
          values[field.first_owned() - field.bytes() + elements * field.shape().element_bytes] = {
              x, y, z, c};
        }
  return values;
}

/// The values that the runs of a box list, in their order. Fails if a run lists a byte that is no
/// value's, or part of a value.
std::vector<NumberedCell> values_listed(const FieldStorage& field, const Box& box) {
  const std::map<std::int64_t, NumberedCell> by_offset = values_by_offset(field, box);
  const std::int64_t element = field.shape().element_bytes;
  std::vector<NumberedCell> listed;
  for (const Run& run : field.layout().runs(box))
    for (std::int64_t piece = 0; piece < run.count; ++piece) {
      EXPECT_EQ(run.bytes % element, 0);
      for (std::int64_t byte = 0; byte < run.bytes; byte += element) {
        const auto at = by_offset.find(run.offset + piece * run.stride + byte);
        if (at == by_offset.end()) {
          ADD_FAILURE() << "a run lists a byte outside the box";
          return listed;
        }
        listed.push_back(at->second);
      }
    }
  return listed;
}

void expect_listed_once(const FieldStorage& field, const Box& box) {
  std::vector<NumberedCell> listed = values_listed(field, box);
  std::sort(listed.begin(), listed.end());
  EXPECT_EQ(std::adjacent_find(listed.begin(), listed.end()), listed.end()) << "listed twice";
  EXPECT_EQ(static_cast<std::int64_t>(listed.size()), box.cells() * field.shape().components);
}

/// The whole, the owned cells, faces, edges, corners, single cells, nothing.
std::vector<Box> boxes_of(const FieldShape& shape) {
  const Box held = shape.held(), owned = shape.owned;
  std::vector<Box> boxes{held, owned, {owned.lower, owned.lower}};
  for (int direction = 0; direction < 27; ++direction) {
    const int towards[] = {direction % 3, direction / 3 % 3, direction / 9};
    Box halo = owned, inside = owned;
    for (int axis = 0; axis < 3; ++axis) {
      if (towards[axis] == 0) {
        halo.lower[axis] = held.lower[axis];
        halo.upper[axis] = owned.lower[axis];
        inside.upper[axis] = std::min(owned.upper[axis], owned.lower[axis] + 2);
      }
      if (towards[axis] == 2) {
        halo.lower[axis] = owned.upper[axis];
        halo.upper[axis] = held.upper[axis];
        inside.lower[axis] = std::max(owned.lower[axis], owned.upper[axis] - 2);
      }
    }
    boxes.push_back(halo);
    boxes.push_back(inside);
  }
  return boxes;
}

void expect_sound(const FieldStorage& field) {
  for (const Box& box : boxes_of(field.shape())) expect_listed_once(field, box);
}

struct Three {
  float x, y, z;
};

TEST(Layout, ListsEveryValueOfABoxOnce) {
  for (const Extents& cells : {Extents{1}, Extents{7}, Extents{5, 4}, Extents{64, 3},
                               Extents{4, 3, 5}, Extents{1, 1, 1}, Extents{8, 8, 8}})
    for (const std::int64_t width : {0, 1, 3}) {
      const Grid grid = grid_of(cells);
      expect_sound(Field<double>(grid, with_halo(width)));
      expect_sound(Field<float>(grid, with_halo(width, 3)));
      expect_sound(Field<Three>(grid, with_halo(width)));
      expect_sound(Field<char>(grid, with_halo(width)));
    }
}

FieldStorage in_bricks(const Grid& grid, const Extents& brick, FieldOptions options,
                       std::int64_t element_bytes = 8) {
  options.brick = brick;
  return FieldStorage(grid, element_bytes, options);
}

TEST(BrickLayout, ListsEveryValueOfABoxOnceAndInTheOrderOfRows) {
  const std::vector<std::pair<Extents, Extents>> cases{{{1}, {4}},
                                                       {{37}, {8}},
                                                       {{16, 9}, {8, 4}},
                                                       {{5, 4}, {1, 2}},
                                                       {{9, 7, 5}, {4, 2, 1}},
                                                       {{8, 8, 8}, {8, 8, 8}},
                                                       {{17, 6, 9}, {16, 1, 4}},
                                                       {{3, 3, 3}, {1, 1, 1}}};
  for (const auto& [cells, brick] : cases)
    for (const std::int64_t width : {0, 1, 3, 9})
      for (const std::int64_t components : {1, 3}) {
        const Grid grid = grid_of(cells);
        const FieldStorage field = in_bricks(grid, brick, with_halo(width, components));
        expect_sound(field);
        const Field<double> rows(grid, with_halo(width, components));
        EXPECT_EQ(field.layout().order(), rows.layout().order());
        for (const Box& box : boxes_of(field.shape()))
          EXPECT_EQ(values_listed(field, box), values_listed(rows, box));
      }
}

TEST(BrickLayout, KeepsEveryHeldCellInItsMemory) {
  const HaloWidths widths({1, 0, 2}, {3, 2, 0});
  for (const Extents& brick : {Extents{4, 4, 4}, Extents{8, 1, 2}, Extents{1, 16, 1}}) {
    const FieldStorage field = in_bricks(grid_of({7, 5, 6}), brick, with_halo(widths));
    const Box held = field.shape().held();
    std::set<std::int64_t> offsets;
    for (const auto& [offset, value] : values_by_offset(field, held)) {
      EXPECT_GE(offset, 0);
      EXPECT_LE(offset + 8, field.allocated_bytes());
      offsets.insert(offset);
    }
    EXPECT_EQ(static_cast<std::int64_t>(offsets.size()), held.cells());
  }
}

TEST(BrickLayout, PutsTheCellsOfABrickTogether) {
  const FieldStorage field = in_bricks(grid_of({16, 16, 16}), {8, 8, 8}, with_halo(1));
  // Two owned bricks and one for each halo along an axis.
  EXPECT_EQ(field.allocated_bytes(), 4 * 4 * 4 * 512 * 8);
  const auto brick = field.layout().runs({{8, 0, 8}, {16, 8, 16}});
  ASSERT_EQ(brick.size(), 1u);
  EXPECT_EQ(brick[0].offset, (2 * 16 + 1 * 4 + 2) * 512 * 8);
  EXPECT_EQ(brick[0].bytes * brick[0].count, 512 * 8);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(field.first_owned()) % 64, 0u);
}

TEST(BrickLayout, RefusesBricksThatItCannotMake) {
  const Grid grid = grid_of({8, 8});
  for (const auto& [brick, words] :
       std::vector<std::pair<Extents, std::string>>{{{8}, "bricks of 1 axes"},
                                                    {{8, 6}, "6 cells along y"},
                                                    {{0, 8}, "0 cells along x"},
                                                    {{1 << 20, 1}, "at most 65536"}})
    EXPECT_THAT(caught([&, &brick = brick] { in_bricks(grid, brick, with_halo(1)); }).text,
                HasSubstr(words));
  FieldOptions options = with_halo(1);
  options.brick = {8, 8};
  EXPECT_THAT(caught([&] { Field<double> field(grid, options); }).text,
              HasSubstr("bricks of 8x8x1"));
  std::vector<double> memory(1000);
  EXPECT_THAT(
      caught([&] { Field<double> field(grid, &memory[500], {.x = 1, .y = 10}, options); }).text,
      HasSubstr("the caller's rows"));
  const FieldStorage field = in_bricks(grid, {8, 8}, with_halo(1));
  EXPECT_THAT(caught([&] { (void)field.strides(); }).text, HasSubstr("FieldStorage::bricks()"));
  EXPECT_THAT(caught([&] { (void)field.bricks<float>(); }).text, HasSubstr("8 bytes"));
  EXPECT_THAT(caught([&] { (void)Field<double>(grid).bricks<double>(); }).text,
              HasSubstr("do not lie in bricks"));
}

TEST(BrickView, AddressesCellsAsTheLayoutDoes) {
  const Grid grid = grid_of({9, 7, 5});
  const FieldStorage field = in_bricks(grid, {4, 2, 2}, with_halo(2));
  const BrickView<double> view = field.bricks<double>();
  for (const auto& [offset, value] : values_by_offset(field, field.shape().held())) {
    const auto [x, y, z, component] = value;
    EXPECT_EQ(reinterpret_cast<std::byte*>(&view(x, y, z)) - field.bytes(), offset);
  }
}

TEST(Layout, ListsHalosOfDifferentWidths) {
  const HaloWidths widths({1, 0, 2}, {3, 2, 0});
  expect_sound(Field<double>(grid_of({4, 5, 3}), with_halo(widths)));
  expect_sound(Field<double>(grid_of({4, 5}), with_halo(widths)));
}

/// A field on memory of the test's, whose values are `strides` apart and all fit.
struct Wrapped {
  Wrapped(const Extents& cells, const HaloWidths& halo, const Strides& strides,
          std::int64_t components = 1)
      : memory(100'000),
        field(grid_of(cells), &memory[50'000], strides, with_halo(halo, components)) {}

  std::vector<double> memory;
  Field<double> field;
};

TEST(Layout, TakesTheUsersStrides) {
  expect_sound(Wrapped({6}, 2, {.x = 3}).field);
  expect_sound(Wrapped({6, 5}, 1, {.x = 1, .y = 8}).field);
  expect_sound(Wrapped({6, 5}, 1, {.x = 9, .y = 1}).field);
  expect_sound(Wrapped({6, 5, 4}, 1, {.x = 1, .y = 10, .z = 80}).field);
  expect_sound(Wrapped({6, 5, 4}, 1, {.x = 42, .y = 6, .z = 1}).field);
  expect_sound(Wrapped({6, 5, 4}, 1, {.x = 7, .y = 100, .z = 1}).field);
  expect_sound(Wrapped({6, 5}, 1, {.x = 1, .y = 8, .component = 56}, 3).field);
  expect_sound(Wrapped({6, 5}, 1, {.x = 4, .y = 40, .component = 1}, 3).field);
}

TEST(Layout, NamesTheOrderOfCellsAndComponents) {
  EXPECT_EQ(Field<double>(grid_of({4})).layout().order(), "x");
  EXPECT_EQ(Field<double>(grid_of({4, 4})).layout().order(), "xy");
  EXPECT_EQ(Field<double>(grid_of({4, 4, 4}), with_halo(1, 2)).layout().order(), "cxyz");
  EXPECT_EQ(Wrapped({6, 5, 4}, 1, {.x = 42, .y = 6, .z = 1}).field.layout().order(), "zyx");
  EXPECT_EQ(Wrapped({6, 5}, 1, {.x = 1, .y = 8, .component = 56}, 3).field.layout().order(), "xyc");
}

TEST(Layout, ListsCellsInTheSameOrderWheneverTheOrderHasTheSameName) {
  const auto expect_same = [](const FieldStorage& a, const FieldStorage& b) {
    ASSERT_EQ(a.layout().order(), b.layout().order());
    for (const Box& box : boxes_of(a.shape()))
      EXPECT_EQ(values_listed(a, box), values_listed(b, box));
  };
  const Grid grid = grid_of({6, 5, 4});
  expect_same(Field<double>(grid), Wrapped({6, 5, 4}, 1, {.x = 1, .y = 8, .z = 56}).field);
  expect_same(Field<double>(grid), Wrapped({6, 5, 4}, 1, {.x = 2, .y = 17, .z = 200}).field);
  expect_same(Field<double>(grid, with_halo(1, 3)),
              Wrapped({6, 5, 4}, 1, {.x = 4, .y = 40, .z = 400, .component = 1}, 3).field);
  expect_same(Wrapped({6, 5, 4}, 1, {.x = 42, .y = 6, .z = 1}).field,
              Wrapped({6, 5, 4}, 1, {.x = 100, .y = 12, .z = 2}).field);
}

TEST(Layout, MeltsCellsThatFollowEachOtherIntoOnePiece) {
  // 6 cells and a halo of 1 on each side, without padding: all rows follow each other.
  const Wrapped tight({6, 5, 4}, 1, {.x = 1, .y = 8, .z = 56});
  const Box held = tight.field.shape().held();
  ASSERT_EQ(tight.field.layout().runs(held).size(), 1U);
  EXPECT_EQ(tight.field.layout().runs(held)[0],
            (halocline::Run{0, 8 * 7 * 6 * 8, 1, 8 * 7 * 6 * 8}));
  // A plane of owned cells: rows with gaps, in one run.
  Box plane = tight.field.shape().owned;
  plane.upper.z = 1;
  const std::vector<halocline::Run> runs = tight.field.layout().runs(plane);
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0], (halocline::Run{(56 + 8 + 1) * 8, 6 * 8, 5, 8 * 8}));
}

TEST(Layout, ListsNothingForAnEmptyBox) {
  const Field<double> field(grid_of({4, 4}));
  EXPECT_TRUE(field.layout().runs({{2, 2, 0}, {2, 4, 1}}).empty());
  EXPECT_TRUE(field.layout().runs({{3, 2, 0}, {2, 4, 1}}).empty());
}

template <class T>
void expect_aligned(const Extents& cells, const HaloWidths& halo, std::int64_t components) {
  const Field<T> field(grid_of(cells), with_halo(halo, components));
  const Int3 owned = field.shape().owned.extent();
  for (std::int64_t z = 0; z < owned.z; ++z)
    for (std::int64_t y = 0; y < owned.y; ++y)
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&field(0, y, z)) % 64, 0U) << y << ", " << z;
  const auto values = values_by_offset(field, field.shape().held());
  EXPECT_GE(values.begin()->first, 0);
  EXPECT_LE(values.rbegin()->first + static_cast<std::int64_t>(sizeof(T)), field.allocated_bytes());
}

TEST(Field, StartsTheOwnedCellsOfEveryRowOnALine) {
  for (const Extents& cells :
       {Extents{5}, Extents{64, 3}, Extents{510, 2}, Extents{7, 3, 3}, Extents{1, 1, 1}})
    for (const std::int64_t width : {0, 1, 2, 9}) {
      expect_aligned<float>(cells, width, 1);
      expect_aligned<double>(cells, width, 1);
      expect_aligned<std::array<double, 4>>(cells, width, 1);
    }
  expect_aligned<double>({8, 4}, HaloWidths({3, 1, 0}, {0, 2, 0}), 1);
  expect_aligned<double>({8, 4}, 1, 2);
}

TEST(Field, KeepsRowsOutOfTheSameSetsOfACache) {
  // 512 doubles are 4096 bytes, a multiple of which would put rows above each other.
  EXPECT_NE(Field<double>(grid_of({512, 4}), with_halo(0)).strides().y * 8 % 4096, 0);
  EXPECT_NE(Field<double>(grid_of({8190, 4}), with_halo(1)).strides().y * 8 % 4096, 0);
}

TEST(Field, IsZeroAtFirstAndSharedByCopies) {
  const Field<double> field(grid_of({4, 3}));
  for (const NumberedCell& value : values_listed(field, field.shape().held()))
    EXPECT_EQ(field(std::get<0>(value), std::get<1>(value)), 0.0);
  const Field<double> copy = field;  // NOLINT: a copy is what is tested
  copy(2, 1) = 5;
  EXPECT_EQ(field(2, 1), 5);
}

TEST(Field, AddressesCellsByGlobalCoordinates) {
  GridOptions options;
  options.cells = {10, 6};
  options.process_grid = {2, 2};
  const Grid grid(3, 4, options);
  const Field<int> field(grid);
  EXPECT_EQ(&field(5, 3), field.first());
  EXPECT_EQ(field.shape().held(), (Box{{4, 2, 0}, {11, 7, 1}}));
  EXPECT_EQ(&field(6, 3) - &field(5, 3), field.strides().x);
  EXPECT_EQ(&field(5, 4) - &field(5, 3), field.strides().y);
}

TEST(Field, HasNoHaloAlongAxesThatTheGridDoesNotHave) {
  const Field<double> field(grid_of({4}), with_halo(2));
  EXPECT_EQ(field.shape().held(), (Box{{-2, 0, 0}, {6, 1, 1}}));
}

TEST(Field, HasAPoisonedHaloWhereHalosAreChecked) {
  const test::SetVariable check("HALOCLINE_CHECK_HALOS", "1");
  const Grid grid(0, 2, {.cells = {8, 5}, .process_grid = {2, 1}});
  const auto expect_poison = [&](double value, std::int64_t x, std::int64_t y) {
    const bool is_owned_by_another = x >= 4 && y >= 0 && y < 5;
    EXPECT_EQ(std::isnan(value), is_owned_by_another) << x << ", " << y;
    if (!is_owned_by_another) {
      EXPECT_EQ(value, 0);
    }
  };
  const Field<double> rows(grid, {.halo = 2});
  const FieldStorage bricks(grid, sizeof(double), {.halo = 2, .brick = {4, 2}});
  for (std::int64_t y = -2; y < 7; ++y)
    for (std::int64_t x = -2; x < 6; ++x) {
      expect_poison(rows(x, y), x, y);
      expect_poison(bricks.bricks<double>()(x, y), x, y);
    }
  // What belongs to no cell is NaN, too: rows are padded.
  const auto* values = reinterpret_cast<const double*>(rows.bytes());
  const std::int64_t all = rows.allocated_bytes() / std::int64_t{sizeof(double)};
  EXPECT_EQ(std::count(values, values + all, 0.0), 8 * 9 - 2 * 5);
  EXPECT_EQ(std::count_if(values, values + all, [](double value) { return std::isnan(value); }),
            all - (8 * 9 - 2 * 5));
  const test::SetVariable other("HALOCLINE_CHECK_HALOS", "yes");
  EXPECT_EQ(caught([&] { Field<double>{grid}; }).text,
            "HALOCLINE_CHECK_HALOS is 'yes'; set it to 1 or 0");
}

TEST(Field, SaysWhatIsWrongWithItsOptions) {
  const Grid grid = grid_of({4, 4});
  FieldOptions options;
  options.name = "pressure";
  options.components = 0;
  const auto no_components = caught([&] { Field<double>(grid, options); });
  EXPECT_THAT(no_components, says(ErrorKind::usage, "field 'pressure' has 0 components"));

  options.components = 1;
  options.halo = -1;
  const auto negative = caught([&] { Field<double>(grid, options); });
  EXPECT_THAT(negative,
              says(ErrorKind::usage, "field 'pressure' has a negative halo width along x"));

  options.halo = 1;
  const auto null = caught([&] {
    Field<double>(grid, static_cast<double*>(nullptr), Strides{.x = 1, .y = 6}, options);
  });
  EXPECT_THAT(null, says(ErrorKind::usage, "null pointer"));

  std::vector<double> memory(100);
  const auto stride = caught([&] { Field<double>(grid, &memory[50], Strides{.x = 1}, options); });
  EXPECT_THAT(stride, says(ErrorKind::usage, "field 'pressure' has stride 0 along y"));

  options.components = 2;
  const auto component =
      caught([&] { Field<double>(grid, &memory[50], Strides{.x = 1, .y = 6}, options); });
  EXPECT_THAT(component.text, HasSubstr("2 components and stride 0"));
}

TEST(Field, RefusesMemoryThatCannotBeCounted) {
  const std::int64_t most = std::int64_t{1} << 31;
  EXPECT_EQ(caught([&] {
              Field<std::array<double, 8>>(grid_of({most, most - 1}));
            }).kind,
            ErrorKind::usage);
}

}  // namespace
}  // namespace halocline

// SPDX-License-Identifier: Apache-2.0
// Every backend against the reference backend, bit by bit: all problems, numbers of axes,
// precisions, norms, vector widths, numbers of threads and kinds of stores, on odd sizes.

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/backend_suite.hpp"
#include "support/caught.hpp"
#include "support/memories.hpp"
#include "support/turns.hpp"

namespace halocline::stencil {
namespace {

using test::all_variants;
using test::Backends;
using test::caught;
using test::own;
using test::Placement;
using test::reference;
using test::says;
using test::some_cells;
using test::some_variants;
using test::TestField;
using test::Variant;
using testing::HasSubstr;

INSTANTIATE_TEST_SUITE_P(AllProblems, Backends,
                         testing::ValuesIn(test::those_with_turn(test::problem_cases())),
                         testing::PrintToStringParamName());

TEST_P(Backends, ComputeTheBitsOfTheReference) {
  const std::vector<Extents> cells_of_axes[] = {
      {{1}, {2}, {3}, {7}, {17}, {65}, {4095}, {12289}},
      {{1, 1}, {2, 1}, {3, 2}, {7, 5}, {8, 8}, {17, 9}, {65, 17}, {129, 3}, {33, 26}},
      {{1, 1, 1}, {2, 3, 1}, {3, 2, 5}, {7, 5, 3}, {8, 8, 8}, {17, 9, 6}, {65, 3, 4}, {33, 5, 9}}};
  for (const Extents& cells : cells_of_axes[GetParam().axes - 1])
    for (const Norm norm : {Norm::none, Norm::max, Norm::l2})
      compare({.cells = cells, .norm = norm}, all_variants());
}

TEST_P(Backends, ComputeTheSameWhereverRowsBegin) {
  for (const std::int64_t offset : {0, 1, 5})
    for (const std::int64_t padding : {0, 1, 16})
      for (const std::int64_t width : {1, 3})
        compare({.cells = some_cells(GetParam().axes),
                 .halo = width,
                 .placement = {.padding = padding, .offset = offset},
                 .norm = Norm::l2});
}

TEST_P(Backends, UpdateNothingOutsideTheRegion) {
  const Extents cells = some_cells(GetParam().axes);
  const Int3& most = cells.values();
  const Box owned{{0, 0, 0}, most};
  const Box inner{
      {1, most.y > 2 ? 1 : 0, most.z > 2 ? 1 : 0},
      {most.x - 2, std::max(most.y - 3, std::int64_t{1}), std::max(most.z - 1, std::int64_t{1})}};
  Box first_cell = owned, last_column = owned, last_row = owned, nothing = owned;
  first_cell.upper = {1, 1, 1};
  last_column.lower.x = most.x - 1;
  last_row.lower.y = most.y - 1;
  nothing.upper.x = 0;
  for (const Box& region : {inner, first_cell, last_column, last_row, nothing})
    for (const Norm norm : {Norm::none, Norm::max, Norm::l2})
      for (const Placement& placement : {Placement{}, own})
        compare({.cells = cells, .placement = placement, .norm = norm, .region = region});
}

TEST_P(Backends, CountOwnedCellsOnlyWhenTheRegionReachesIntoTheHalo) {
  const int axes = GetParam().axes;
  const Extents cells = some_cells(axes);
  for (const std::int64_t beyond : {1, 2})
    for (const Norm norm : {Norm::none, Norm::max, Norm::l2}) {
      Box region{{0, 0, 0}, cells.values()};
      for (int axis = 0; axis < axes; ++axis) {
        region.lower[axis] -= beyond;
        region.upper[axis] += axis == 1 ? 0 : beyond;
      }
      for (const Placement& placement : {Placement{}, own})
        compare(
            {.cells = cells, .halo = 3, .placement = placement, .norm = norm, .region = region});
    }
  with_real([&]<class Real>(Real) {
    TestField<Real> in(cells, 3, {});
    in.fill();
    in.field()(-1, 0, 0) = std::numeric_limits<Real>::max();
    Box rim{{-1, 0, 0}, {0, 1, 1}};
    for (const Variant& variant : some_variants()) {
      const auto sweep = sweep_of(variant, cells);
      EXPECT_EQ(outcome(variant, *sweep, in,
                        {.cells = cells, .halo = 3, .norm = Norm::max, .region = rim})
                    .norm,
                0)
          << variant.text();
    }
  });
}

TEST_P(Backends, TakeAnyStrides) {
  const Extents cells = some_cells(GetParam().axes);
  for (const auto order : {Placement::Order::y_first, Placement::Order::two_components})
    for (const Norm norm : {Norm::none, Norm::max, Norm::l2})
      compare({.cells = cells, .placement = {.order = order}, .norm = norm});
}

TEST_P(Backends, KeepDenormals) {
  const Extents cells = some_cells(GetParam().axes);
  with_real([&]<class Real>(Real) {
    // Far enough above the smallest that a weight of a hundredth leaves something.
    const Real tiny = 4096 * std::numeric_limits<Real>::denorm_min();
    TestField<Real> in(cells, 1, {});
    in.fill();
    const Box held = in.field().shape().held();
    for (std::int64_t z = held.lower.z; z < held.upper.z; ++z)
      for (std::int64_t y = held.lower.y; y < held.upper.y; ++y)
        for (std::int64_t x = held.lower.x; x < held.upper.x; ++x)
          in.field()(x, y, z) = (x + y + z) % 3 == 0 ? tiny : tiny / 2;
    const Work work{.cells = cells, .norm = Norm::max};
    const auto sweep_of_reference = sweep_of(reference(), cells);
    const Outcome<Real> expected = outcome(reference(), *sweep_of_reference, in, work);
    EXPECT_GT(expected.out.field()(0), 0);
    EXPECT_LT(expected.out.field()(0), std::numeric_limits<Real>::min());
    for (const Variant& variant : some_variants()) {
      const auto sweep = sweep_of(variant, cells);
      const Outcome<Real> got = outcome(variant, *sweep, in, work);
      EXPECT_TRUE(same_bytes(got.out, expected.out)) << variant.text();
      EXPECT_EQ(got.norm, expected.norm) << variant.text();
    }
  });
}

TEST_P(Backends, NeverLoseANanInANorm) {
  const Extents cells = some_cells(GetParam().axes);
  with_real([&]<class Real>(Real) {
    // At the ends of a row, where vectors are not full, and between.
    for (const std::int64_t x : {std::int64_t{0}, cells[0] / 2, cells[0] - 1}) {
      for (const auto& [norm, placement] :
           {std::pair{Norm::max, Placement{.padding = 3, .offset = 1}},
            std::pair{Norm::l2, Placement{.padding = 3, .offset = 1}}, std::pair{Norm::max, own},
            std::pair{Norm::l2, own}}) {
        TestField<Real> in(cells, 1, placement);
        in.fill();
        in.field()(x, cells[1] / 2, cells[2] / 2) = std::numeric_limits<Real>::quiet_NaN();
        const Work work{.cells = cells, .placement = placement, .norm = norm};
        const auto sweep_of_reference = sweep_of(reference(), cells);
        EXPECT_TRUE(std::isnan(outcome(reference(), *sweep_of_reference, in, work).norm));
        for (const Variant& variant : some_variants()) {
          const auto sweep = sweep_of(variant, cells);
          EXPECT_TRUE(std::isnan(outcome(variant, *sweep, in, work).norm))
              << variant.text() << ", x " << x << ", norm " << name_of(norm);
        }
      }
    }
  });
}

TEST_P(Backends, TellInfinityFromNan) {
  const Extents cells = some_cells(GetParam().axes);
  with_real([&]<class Real>(Real) {
    // Cells beside it become infinite, from finite; whether it itself becomes infinity minus
    // infinity is up to the formula, so it stays outside the region.
    TestField<Real> in(cells, 1, {});
    in.fill();
    in.field()(-1) = std::numeric_limits<Real>::infinity();
    const Work work{.cells = cells, .norm = Norm::max};
    for (const Variant& variant : some_variants()) {
      const auto sweep = sweep_of(variant, cells);
      EXPECT_EQ(outcome(variant, *sweep, in, work).norm, std::numeric_limits<double>::infinity())
          << variant.text();
    }
  });
}

TEST_P(Backends, AddUpTheNormOfSeveralRegions) {
  const Extents cells = some_cells(GetParam().axes);
  with_real([&]<class Real>(Real) {
    TestField<Real> in(cells, 1, {});
    in.fill();
    const Box owned = in.field().shape().owned;
    Box left = owned, right = owned;
    left.upper.x = right.lower.x = 5;
    std::vector<Variant> all = some_variants();
    all.push_back(reference());
    for (const Variant& variant : all)
      for (const Norm norm : {Norm::max, Norm::l2}) {
        const auto sweep = sweep_of(variant, cells);
        const auto norm_of = [&](const Box& region, double before) {
          const Work work{.cells = cells, .norm = norm, .region = region, .norm_before = before};
          return outcome(variant, *sweep, in, work).norm;
        };
        const double whole = norm_of(owned, 0), parts = norm_of(right, norm_of(left, 0));
        if (norm == Norm::max) {
          EXPECT_EQ(parts, whole) << variant.text();
        } else {
          EXPECT_NEAR(parts, whole, 1e-13 * whole) << variant.text();
        }
        EXPECT_TRUE(std::isnan(norm_of(owned, std::numeric_limits<double>::quiet_NaN())))
            << variant.text();
      }
  });
}

TEST_P(Backends, GiveTheSameNormEveryTime) {
  const Extents cells = some_cells(GetParam().axes);
  with_real([&]<class Real>(Real) {
    for (const Variant& variant : some_variants()) {
      const Placement placement = variant.backend->on_gpu() ? own : Placement{};
      TestField<Real> in(cells, 1, placement);
      in.fill();
      const auto sweep = sweep_of(variant, cells);
      const Work work{.cells = cells, .placement = placement, .norm = Norm::l2};
      const double first = outcome(variant, *sweep, in, work).norm;
      for (int again = 0; again < 3; ++again)
        EXPECT_EQ(outcome(variant, *sweep, in, work).norm, first) << variant.text();
    }
  });
}

TEST_P(Backends, RefuseWhatTheFieldsDoNotHold) {
  const Extents cells = some_cells(GetParam().axes);
  with_real([&]<class Real>(Real) {
    std::vector<Variant> all = some_variants();
    all.push_back(reference());
    for (const Variant& variant : all) {
      const TestField<Real> in(cells, 1, {}, variant.memory), out(cells, 1, {}, variant.memory);
      const test::TestStream stream(variant.memory);
      const auto sweep = sweep_of(variant, cells);
      Box region = in.field().shape().owned;
      region.lower.x -= 1;
      const auto beyond = caught([&] {
        sweep->run({.in = in.field(), .out = out.field(), .region = region}, stream.get());
      });
      EXPECT_THAT(beyond, says(ErrorKind::internal, "a sweep reads the cells [-2,"));
      const auto nowhere = caught([&] {
        sweep->run({.in = in.field(),
                    .out = out.field(),
                    .region = in.field().shape().owned,
                    .norms = {.kind = Norm::max}},
                   stream.get());
      });
      EXPECT_EQ(nowhere.kind, ErrorKind::internal);
    }
  });
}

TEST(BackendTable, NamesWhatThereIs) {
  EXPECT_EQ(find_backend("reference").name(), "reference");
  EXPECT_EQ(find_backend("cpu").name(), "cpu");
  const auto error = caught([] { find_backend("abacus"); });
  EXPECT_EQ(error.kind, ErrorKind::usage);
  EXPECT_EQ(error.text, "there is no backend 'abacus'; there are: reference, cpu, cuda");
}

TEST(CpuBackend, RefusesVectorsThatThereAreNot) {
  const problem::Model laplace = test::built_in("laplace", {8, 8});
  const auto error = caught([&] { find_backend("cpu").make(laplace, {.simd = "mmx"}); });
  EXPECT_THAT(error, says(ErrorKind::usage, "there are no vectors 'mmx'; there are: auto, "));
  EXPECT_THAT(error.text, HasSubstr(simd_levels().back()));
}

TEST(CpuBackend, RefusesToWorkWithoutThreads) {
  const problem::Model laplace = test::built_in("laplace", {8, 8});
  const auto error = caught([&] { find_backend("cpu").make(laplace, {.threads = 0}); });
  EXPECT_EQ(error.kind, ErrorKind::usage);
  EXPECT_EQ(error.text, "0 threads per rank: at least 1 is needed");
}

TEST(CpuBackend, SaysWhichVectorsItUses) {
  const problem::Model laplace = test::built_in("laplace", {8, 8});
  for (const std::string& level : simd_levels())
    EXPECT_EQ(find_backend("cpu").make(laplace, {.simd = level})->simd(), level);
  EXPECT_EQ(find_backend("cpu").make(laplace, {})->simd(), simd_levels().back());
  EXPECT_EQ(find_backend("cpu").make(laplace, {.plain = true})->simd(), simd_levels().front());
}

TEST(CudaBackend, SweepsCellByCellByThePlainKernel) {
  test::need_gpu();
  if (IsSkipped() || HasFatalFailure()) return;
  const Grid grid(0, 1, {.cells = {64, 64}});
  const FieldStorage field(grid, 8, {.memory = Memory::device});
  const problem::Model laplace = test::built_in("laplace", {64, 64});
  const auto wraps = [&](bool plain) {
    return find_backend("cuda").make(laplace, {.plain = plain})->can_wrap(0, field, {});
  };
  EXPECT_TRUE(wraps(false));
  EXPECT_FALSE(wraps(true)) << "walks alone wrap around x";
}

}  // namespace
}  // namespace halocline::stencil

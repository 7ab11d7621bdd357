// Every backend against the reference backend, bit by bit: all problems, numbers of axes,
// precisions, norms, vector widths, numbers of threads and kinds of stores, on odd sizes.

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "problem/catalogue.hpp"
#include "stencil/sweep.hpp"
#include "support/caught.hpp"

namespace halocline::stencil {
namespace {

using problem::NormKind;
using problem::Precision;
using test::caught;
using testing::HasSubstr;

problem::Setting setting_for(const problem::Problem& problem, const Extents& cells) {
  problem::Setting setting{.cells = cells.values(), .axes = cells.axes(), .parameters = {}};
  for (const problem::Parameter& parameter : problem.info().parameters)
    setting.parameters.push_back(parameter.value);
  return setting;
}

/// A NaN that no arithmetic makes.
template <class Real>
Real poison() {
  if constexpr (sizeof(Real) == 4)
    return std::bit_cast<float>(std::uint32_t{0x7FADBEEF});
  else
    return std::bit_cast<double>(std::uint64_t{0x7FF4DEADBEEF0123});
}

/// How the cells of a test lie in memory.
struct Placement {
  enum class Order { x_first, y_first, two_components } order = Order::x_first;
  std::int64_t padding = 3;  ///< elements after each row
  std::int64_t offset = 0;   ///< of the first held cell, in elements
};

/// A field in memory of its own, with a margin of poison around it.
template <class Real>
class TestField {
 public:
  TestField(const Extents& cells, const HaloWidths& halo, const Placement& placement)
      : TestField(grid_of(cells), halo, placement) {}

  const Field<Real>& field() const { return *field_; }
  const std::vector<Real>& memory() const { return memory_; }

  /// Writes values of many magnitudes, of both signs, to all held cells.
  void fill() {
    const Box held = field().shape().held();
    std::uint64_t number = 0;
    for (std::int64_t z = held.lower.z; z < held.upper.z; ++z)
      for (std::int64_t y = held.lower.y; y < held.upper.y; ++y)
        for (std::int64_t x = held.lower.x; x < held.upper.x; ++x) {
          const std::uint64_t bits = problem::mix(++number);
          const double unit = problem::noise(1, number) - 0.5;
          field()(x, y, z) = static_cast<Real>(std::ldexp(unit, static_cast<int>(bits % 24) - 12));
        }
  }

 private:
  static constexpr std::int64_t margin = 64;

  static Grid grid_of(const Extents& cells) {
    GridOptions options;
    options.cells = cells;
    return Grid(0, 1, options);
  }

  TestField(const Grid& grid, const HaloWidths& halo, const Placement& placement) {
    FieldOptions options;
    options.halo = halo;
    FieldShape shape{.owned = grid.owned(), .halo = halo};
    for (int axis = grid.axes(); axis < 3; ++axis)
      shape.halo.lower[axis] = shape.halo.upper[axis] = 0;
    const Int3 held = shape.held().extent();
    Strides strides;
    std::int64_t total = 0;
    if (placement.order == Placement::Order::y_first) {
      strides = {.x = held.y + placement.padding, .y = 1, .z = 0};
      strides.z = strides.x * held.x;
    } else {
      strides.x = placement.order == Placement::Order::two_components ? 2 : 1;
      strides.y = held.x * strides.x + placement.padding;
      strides.z = strides.y * held.y;
    }
    total = strides.z * held.z;
    // The margin starts a line, so that `offset` decides about alignment.
    memory_.assign(static_cast<std::size_t>(total + 2 * margin + 64), poison<Real>());
    auto* start = memory_.data();
    while (reinterpret_cast<std::uintptr_t>(start) % 64 != 0) ++start;
    const Int3& lead = shape.halo.lower;
    Real* first = start + margin / 2 + placement.offset + lead.x * strides.x + lead.y * strides.y +
                  lead.z * strides.z;
    field_.emplace(grid, first, strides, options);
  }

  std::vector<Real> memory_;
  std::optional<Field<Real>> field_;
};

template <class Real>
bool same_bytes(const TestField<Real>& a, const TestField<Real>& b) {
  // Where the lines of the two memories begin may differ.
  const Box held = a.field().shape().held();
  const auto first = [&](const TestField<Real>& of) {
    return &of.field()(held.lower.x, held.lower.y, held.lower.z);
  };
  const std::ptrdiff_t before_a = first(a) - a.memory().data();
  const std::ptrdiff_t before_b = first(b) - b.memory().data();
  const std::ptrdiff_t before = std::min(before_a, before_b);
  const auto size = static_cast<std::ptrdiff_t>(a.memory().size());
  const std::ptrdiff_t after = size - std::max(before_a, before_b);
  return std::memcmp(first(a) - before, first(b) - before,
                     static_cast<std::size_t>(before + after) * sizeof(Real)) == 0;
}

/// One way in which a backend can be asked to work.
struct Variant {
  const Backend* backend;
  SweepOptions options;

  std::string text() const {
    return fmt::format("{}, {} threads, simd {}, caches of {} bytes", backend->name(),
                       options.threads, options.simd, options.cache_bytes);
  }
};

constexpr std::int64_t no_cache = 1, endless_cache = std::int64_t{1} << 60;

/// Numbers of threads are not mixed more than need be: a team of another size is made anew.
std::vector<Variant> variants(const std::vector<std::pair<int, std::int64_t>>& threads_and_caches) {
  std::vector<Variant> all;
  for (const Backend* backend : backends()) {
    if (backend->name() == "reference" || backend->on_gpu()) continue;
    for (const auto& [threads, cache] : threads_and_caches)
      for (const std::string& simd : simd_levels())
        all.push_back({backend,
                       {.threads = threads,
                        .simd = simd,
                        .fewest_cells_for_threads = 1,
                        .cache_bytes = cache}});
  }
  return all;
}

std::vector<Variant> all_variants() {
  return variants(
      {{1, endless_cache}, {1, no_cache}, {2, no_cache}, {3, endless_cache}, {3, no_cache}});
}

std::vector<Variant> some_variants() { return variants({{1, endless_cache}, {3, no_cache}}); }

struct ProblemCase {
  const problem::Problem* problem;
  int axes;
  Precision precision;
};

void PrintTo(const ProblemCase& c, std::ostream* to) {
  *to << fmt::format("{}{}d{}", c.problem->info().name, c.axes, name_of(c.precision));
}

std::vector<ProblemCase> problem_cases() {
  std::vector<ProblemCase> all;
  for (const problem::Problem* problem : problem::problems())
    for (int axes = problem->info().fewest_axes; axes <= problem->info().most_axes; ++axes)
      for (const Precision precision : {Precision::f32, Precision::f64})
        all.push_back({problem, axes, precision});
  return all;
}

Extents some_cells(int axes) {
  return axes == 1 ? Extents{131} : axes == 2 ? Extents{37, 13} : Extents{21, 6, 7};
}

class Backends : public testing::TestWithParam<ProblemCase> {
 protected:
  /// What a sweep made of its fields and its norm.
  template <class Real>
  struct Outcome {
    TestField<Real> out;
    double norm = 0;
  };
  struct Work {
    Extents cells;
    HaloWidths halo = 1;
    Placement placement{};
    NormKind norm = NormKind::none;
    std::optional<Box> region{};  ///< else the owned cells
  };

  std::unique_ptr<Sweep> sweep_of(const Backend& backend, const SweepOptions& options,
                                  const Extents& cells) const {
    const problem::Problem& problem = *GetParam().problem;
    return backend.make(problem, setting_for(problem, cells), GetParam().precision, options);
  }

  template <class Real>
  Outcome<Real> outcome(Sweep& sweep, const TestField<Real>& in, const Work& work) const {
    Outcome<Real> outcome{TestField<Real>(work.cells, work.halo, work.placement)};
    sweep.run({.in = in.field(),
               .out = outcome.out.field(),
               .region = work.region.value_or(in.field().shape().owned),
               .norm = work.norm,
               .norm_sum = &outcome.norm},
              Stream::host());
    return outcome;
  }

  template <class Real>
  void compare(const Work& work, const std::vector<Variant>& ways) const {
    TestField<Real> in(work.cells, work.halo, work.placement);
    in.fill();
    const auto reference = sweep_of(find_backend("reference"), {}, work.cells);
    const Outcome<Real> expected = outcome(*reference, in, work);
    std::map<std::string, double> l2_of_level;
    for (const Variant& variant : ways) {
      const auto sweep = sweep_of(*variant.backend, variant.options, work.cells);
      const Outcome<Real> got = outcome(*sweep, in, work);
      ASSERT_TRUE(same_bytes(got.out, expected.out)) << variant.text();
      if (work.norm == NormKind::max) {
        ASSERT_EQ(got.norm, expected.norm) << variant.text();
      }
      if (work.norm == NormKind::l2) {
        ASSERT_NEAR(got.norm, expected.norm, 1e-13 * expected.norm) << variant.text();
        const double first = l2_of_level.emplace(variant.options.simd, got.norm).first->second;
        ASSERT_EQ(got.norm, first) << "depends on threads or stores: " << variant.text();
      }
    }
  }

  void compare(const Work& work, const std::vector<Variant>& ways = some_variants()) const {
    SCOPED_TRACE(fmt::format("cells {}x{}x{}, norm {}", work.cells.values().x,
                             work.cells.values().y, work.cells.values().z, name_of(work.norm)));
    if (GetParam().precision == Precision::f32)
      compare<float>(work, ways);
    else
      compare<double>(work, ways);
  }

  /// Calls `use` with float() or double().
  template <class Use>
  void with_real(const Use& use) const {
    if (GetParam().precision == Precision::f32)  // NOLINT(bugprone-branch-clone): types differ
      use(float());
    else
      use(double());
  }
};

INSTANTIATE_TEST_SUITE_P(AllProblems, Backends, testing::ValuesIn(problem_cases()),
                         testing::PrintToStringParamName());

TEST_P(Backends, ComputeTheBitsOfTheReference) {
  const std::vector<Extents> cells_of_axes[] = {
      {{1}, {2}, {3}, {7}, {17}, {65}, {4095}, {12289}},
      {{1, 1}, {2, 1}, {3, 2}, {7, 5}, {8, 8}, {17, 9}, {65, 17}, {129, 3}, {33, 26}},
      {{1, 1, 1}, {2, 3, 1}, {3, 2, 5}, {7, 5, 3}, {8, 8, 8}, {17, 9, 6}, {65, 3, 4}, {33, 5, 9}}};
  for (const Extents& cells : cells_of_axes[GetParam().axes - 1])
    for (const NormKind norm : {NormKind::none, NormKind::max, NormKind::l2})
      compare({.cells = cells, .norm = norm}, all_variants());
}

TEST_P(Backends, ComputeTheSameWhereverRowsBegin) {
  for (const std::int64_t offset : {0, 1, 5})
    for (const std::int64_t padding : {0, 1, 16})
      for (const std::int64_t width : {1, 3})
        compare({.cells = some_cells(GetParam().axes),
                 .halo = width,
                 .placement = {.padding = padding, .offset = offset},
                 .norm = NormKind::l2});
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
    for (const NormKind norm : {NormKind::none, NormKind::max, NormKind::l2})
      compare({.cells = cells, .norm = norm, .region = region});
}

TEST_P(Backends, CountOwnedCellsOnlyWhenTheRegionReachesIntoTheHalo) {
  const int axes = GetParam().axes;
  const Extents cells = some_cells(axes);
  for (const std::int64_t beyond : {1, 2})
    for (const NormKind norm : {NormKind::none, NormKind::max, NormKind::l2}) {
      Box region{{0, 0, 0}, cells.values()};
      for (int axis = 0; axis < axes; ++axis) {
        region.lower[axis] -= beyond;
        region.upper[axis] += axis == 1 ? 0 : beyond;
      }
      compare({.cells = cells, .halo = 3, .norm = norm, .region = region});
    }
  with_real([&]<class Real>(Real) {
    TestField<Real> in(cells, 3, {});
    in.fill();
    in.field()(-1, 0, 0) = std::numeric_limits<Real>::max();
    Box rim{{-1, 0, 0}, {0, 1, 1}};
    for (const Variant& variant : some_variants()) {
      const auto sweep = sweep_of(*variant.backend, variant.options, cells);
      EXPECT_EQ(
          outcome(*sweep, in, {.cells = cells, .halo = 3, .norm = NormKind::max, .region = rim})
              .norm,
          0)
          << variant.text();
    }
  });
}

TEST_P(Backends, TakeAnyStrides) {
  const Extents cells = some_cells(GetParam().axes);
  for (const auto order : {Placement::Order::y_first, Placement::Order::two_components})
    for (const NormKind norm : {NormKind::none, NormKind::max, NormKind::l2})
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
    const Work work{.cells = cells, .norm = NormKind::max};
    const auto reference = sweep_of(find_backend("reference"), {}, cells);
    const Outcome<Real> expected = outcome(*reference, in, work);
    EXPECT_GT(expected.out.field()(0), 0);
    EXPECT_LT(expected.out.field()(0), std::numeric_limits<Real>::min());
    for (const Variant& variant : some_variants()) {
      const auto sweep = sweep_of(*variant.backend, variant.options, cells);
      const Outcome<Real> got = outcome(*sweep, in, work);
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
      TestField<Real> in(cells, 1, {.padding = 3, .offset = 1});
      in.fill();
      in.field()(x, cells[1] / 2, cells[2] / 2) = std::numeric_limits<Real>::quiet_NaN();
      for (const NormKind norm : {NormKind::max, NormKind::l2}) {
        const Work work{.cells = cells, .placement = {.padding = 3, .offset = 1}, .norm = norm};
        const auto reference = sweep_of(find_backend("reference"), {}, cells);
        EXPECT_TRUE(std::isnan(outcome(*reference, in, work).norm));
        for (const Variant& variant : some_variants()) {
          const auto sweep = sweep_of(*variant.backend, variant.options, cells);
          EXPECT_TRUE(std::isnan(outcome(*sweep, in, work).norm))
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
    const Work work{.cells = cells, .norm = NormKind::max};
    for (const Variant& variant : some_variants()) {
      const auto sweep = sweep_of(*variant.backend, variant.options, cells);
      EXPECT_EQ(outcome(*sweep, in, work).norm, std::numeric_limits<double>::infinity())
          << variant.text();
    }
  });
}

TEST_P(Backends, AddUpTheNormOfSeveralRegions) {
  const Extents cells = some_cells(GetParam().axes);
  with_real([&]<class Real>(Real) {
    TestField<Real> in(cells, 1, {}), out(cells, 1, {});
    in.fill();
    const Box owned = in.field().shape().owned;
    Box left = owned, right = owned;
    left.upper.x = right.lower.x = 5;
    std::vector<Variant> all = some_variants();
    all.push_back({&find_backend("reference"), {}});
    for (const Variant& variant : all)
      for (const NormKind norm : {NormKind::max, NormKind::l2}) {
        const auto sweep = sweep_of(*variant.backend, variant.options, cells);
        double whole = 0, parts = 0, stays = std::numeric_limits<double>::quiet_NaN();
        const auto add = [&](const Box& region, double& sum) {
          sweep->run({.in = in.field(),
                      .out = out.field(),
                      .region = region,
                      .norm = norm,
                      .norm_sum = &sum},
                     Stream::host());
        };
        add(owned, whole);
        add(left, parts);
        add(right, parts);
        add(owned, stays);
        if (norm == NormKind::max) {
          EXPECT_EQ(parts, whole) << variant.text();
        } else {
          EXPECT_NEAR(parts, whole, 1e-13 * whole) << variant.text();
        }
        EXPECT_TRUE(std::isnan(stays)) << variant.text();
      }
  });
}

TEST_P(Backends, GiveTheSameNormEveryTime) {
  const Extents cells = some_cells(GetParam().axes);
  with_real([&]<class Real>(Real) {
    TestField<Real> in(cells, 1, {});
    in.fill();
    for (const Variant& variant : some_variants()) {
      const auto sweep = sweep_of(*variant.backend, variant.options, cells);
      const Work work{.cells = cells, .norm = NormKind::l2};
      const double first = outcome(*sweep, in, work).norm;
      for (int again = 0; again < 3; ++again)
        EXPECT_EQ(outcome(*sweep, in, work).norm, first) << variant.text();
    }
  });
}

TEST_P(Backends, RefuseWhatTheFieldsDoNotHold) {
  const Extents cells = some_cells(GetParam().axes);
  with_real([&]<class Real>(Real) {
    TestField<Real> in(cells, 1, {}), out(cells, 1, {});
    for (const Backend* backend : backends()) {
      if (backend->on_gpu()) continue;
      const auto sweep = sweep_of(*backend, {}, cells);
      Box region = in.field().shape().owned;
      region.lower.x -= 1;
      const auto beyond = caught([&] {
        sweep->run({.in = in.field(), .out = out.field(), .region = region}, Stream::host());
      });
      EXPECT_EQ(beyond.kind, ErrorKind::internal);
      EXPECT_THAT(beyond.text, HasSubstr("a sweep reads the cells [-2,"));
      const auto nowhere = caught([&] {
        sweep->run({.in = in.field(),
                    .out = out.field(),
                    .region = in.field().shape().owned,
                    .norm = NormKind::max},
                   Stream::host());
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

TEST(BackendTable, RefusesAxesThatAProblemDoesNotHave) {
  const problem::Problem& star7 = problem::find_problem("star7");
  for (const Backend* backend : backends()) {
    if (backend->unavailable()) continue;
    const auto error = caught([&] {
      backend->make(star7, setting_for(star7, {8, 8}), Precision::f64, {});
    });
    EXPECT_EQ(error.kind, ErrorKind::usage);
    EXPECT_EQ(error.text, "star7 has 3 axes, not 2");
  }
}

TEST(CpuBackend, RefusesVectorsThatThereAreNot) {
  const problem::Problem& laplace = problem::find_problem("laplace");
  const auto error = caught([&] {
    find_backend("cpu").make(laplace, setting_for(laplace, {8, 8}), Precision::f64,
                             {.simd = "mmx"});
  });
  EXPECT_EQ(error.kind, ErrorKind::usage);
  EXPECT_THAT(error.text, HasSubstr("there are no vectors 'mmx'; there are: auto, "));
  EXPECT_THAT(error.text, HasSubstr(simd_levels().back()));
}

TEST(CpuBackend, RefusesToWorkWithoutThreads) {
  const problem::Problem& laplace = problem::find_problem("laplace");
  const auto error = caught([&] {
    find_backend("cpu").make(laplace, setting_for(laplace, {8, 8}), Precision::f64, {.threads = 0});
  });
  EXPECT_EQ(error.kind, ErrorKind::usage);
  EXPECT_EQ(error.text, "0 threads per rank: at least 1 is needed");
}

TEST(CpuBackend, SaysWhichVectorsItUses) {
  const problem::Problem& laplace = problem::find_problem("laplace");
  for (const std::string& level : simd_levels())
    EXPECT_EQ(find_backend("cpu")
                  .make(laplace, setting_for(laplace, {8, 8}), Precision::f64, {.simd = level})
                  ->simd(),
              level);
  EXPECT_EQ(
      find_backend("cpu").make(laplace, setting_for(laplace, {8, 8}), Precision::f64, {})->simd(),
      simd_levels().back());
}

}  // namespace
}  // namespace halocline::stencil

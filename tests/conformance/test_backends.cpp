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

#include "device/buffer.hpp"
#include "device/queue.hpp"
#include "problem/catalogue.hpp"
#include "stencil/sweep.hpp"
#include "support/caught.hpp"
#include "support/memories.hpp"

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

/// How the cells of a test lie in memory: in the field's own, or in the test's.
struct Placement {
  enum class Order { own, x_first, y_first, two_components } order = Order::x_first;
  std::int64_t padding = 3;  ///< elements after each row
  std::int64_t offset = 0;   ///< of the first held cell, in elements
};

constexpr Placement own{.order = Placement::Order::own, .padding = 0};

/// A field in the middle of poison: the margins of the test's memory, the padding of its own.
template <class Real>
class TestField {
 public:
  TestField(const Extents& cells, const HaloWidths& halo, const Placement& placement,
            Memory memory = Memory::host)
      : cells_(cells), halo_(halo), placement_(placement) {
    const Grid grid = grid_of(cells);
    const FieldOptions options{.halo = halo, .memory = memory};
    if (placement.order == Placement::Order::own) {
      field_.emplace(grid, options);
      memory_ = field_->bytes();
      bytes_ = field_->allocated_bytes();
    } else {
      place(grid, options);
    }
    const std::vector<Real> all(static_cast<std::size_t>(bytes_) / sizeof(Real), poison<Real>());
    device::copy(memory_, all.data(), std::ssize(all) * std::int64_t{sizeof(Real)}, Stream::host());
  }

  const Field<Real>& field() const { return *field_; }

  /// The same in other memory.
  TestField in(Memory memory) const {
    TestField copy(cells_, halo_, placement_, memory);
    device::copy(copy.memory_, memory_, bytes_, Stream::host());
    return copy;
  }

  /// Of two in the host's memory, all bytes.
  friend bool same_bytes(const TestField& a, const TestField& b) {
    return a.bytes_ == b.bytes_ &&
           std::memcmp(a.memory_, b.memory_, static_cast<std::size_t>(a.bytes_)) == 0;
  }

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

  void place(const Grid& grid, const FieldOptions& options) {
    FieldShape shape{.owned = grid.owned(), .halo = options.halo};
    for (int axis = grid.axes(); axis < 3; ++axis)
      shape.halo.lower[axis] = shape.halo.upper[axis] = 0;
    const Int3 held = shape.held().extent();
    Strides strides;
    if (placement_.order == Placement::Order::y_first) {
      strides = {.x = held.y + placement_.padding, .y = 1, .z = 0};
      strides.z = strides.x * held.x;
    } else {
      strides.x = placement_.order == Placement::Order::two_components ? 2 : 1;
      strides.y = held.x * strides.x + placement_.padding;
      strides.z = strides.y * held.y;
    }
    // Allocations are aligned, so that `offset` decides about alignment.
    bytes_ = (strides.z * held.z + 2 * margin) * std::int64_t{sizeof(Real)};
    owner_ = device::allocate(options.memory, bytes_);
    memory_ = static_cast<std::byte*>(owner_.get());
    const Int3& lead = shape.halo.lower;
    const std::int64_t first = margin / 2 + placement_.offset + lead.x * strides.x +
                               lead.y * strides.y + lead.z * strides.z;
    field_.emplace(grid, reinterpret_cast<Real*>(memory_) + first, strides, options);
  }

  Extents cells_;
  HaloWidths halo_;
  Placement placement_;
  std::shared_ptr<void> owner_;
  std::optional<Field<Real>> field_;
  std::byte* memory_ = nullptr;
  std::int64_t bytes_ = 0;
};

/// One way in which a backend can be asked to work.
struct Variant {
  const Backend* backend;
  SweepOptions options{};
  Memory memory = Memory::host;

  std::string text() const {
    return fmt::format("{}, {} memory, {} threads, simd {}, caches of {} bytes", backend->name(),
                       halocline::name_of(memory), options.threads, options.simd,
                       options.cache_bytes);
  }
};

constexpr std::int64_t no_cache = 1, endless_cache = std::int64_t{1} << 60;

Variant reference() { return {.backend = &find_backend("reference")}; }

/// A number in a GPU's memory.
template <class Value>
class GpuValue {
 public:
  explicit GpuValue(Value value) : memory_(device::allocate(Memory::device, sizeof value)) {
    device::copy(memory_.get(), &value, sizeof value, Stream::host());
  }
  Value* place() const { return static_cast<Value*>(memory_.get()); }
  /// Once the work on it is done.
  Value get() const {
    Value value{};
    device::copy(&value, memory_.get(), sizeof value, Stream::host());
    return value;
  }

 private:
  std::shared_ptr<void> memory_;
};

/// Numbers of threads are not mixed more than need be: a team of another size is made anew.
std::vector<Variant> variants(const std::vector<std::pair<int, std::int64_t>>& threads_and_caches) {
  std::vector<Variant> all;
  for (const Backend* backend : backends()) {
    if (backend->name() == "reference" || backend->unavailable()) continue;
    if (backend->on_gpu()) {
      all.push_back({.backend = backend, .memory = Memory::device});
      continue;
    }
    for (const auto& [threads, cache] : threads_and_caches)
      for (const std::string& simd : simd_levels())
        all.push_back({.backend = backend,
                       .options = {.threads = threads,
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
    double norm_before = 0;
  };

  std::unique_ptr<Sweep> sweep_of(const Variant& variant, const Extents& cells) const {
    const problem::Problem& problem = *GetParam().problem;
    return variant.backend->make(problem, setting_for(problem, cells), GetParam().precision,
                                 variant.options);
  }

  /// What a sweep makes of `in`, which is in the host's memory, as is what it returns.
  template <class Real>
  Outcome<Real> outcome(const Variant& variant, Sweep& sweep, const TestField<Real>& in,
                        const Work& work) const {
    Outcome<Real> outcome{TestField<Real>(work.cells, work.halo, work.placement), work.norm_before};
    const Box region = work.region.value_or(in.field().shape().owned);
    if (!variant.backend->on_gpu()) {
      sweep.run({.in = in.field(),
                 .out = outcome.out.field(),
                 .region = region,
                 .norm = work.norm,
                 .norm_sum = &outcome.norm},
                Stream::host());
      return outcome;
    }
    const TestField<Real> in_there = in.in(variant.memory), out = outcome.out.in(variant.memory);
    const GpuValue<double> norm(work.norm_before);
    const device::OwnedStream stream;
    sweep.run({.in = in_there.field(),
               .out = out.field(),
               .region = region,
               .norm = work.norm,
               .norm_sum = norm.place()},
              stream.get());
    device::synchronize(stream.get());
    EXPECT_TRUE(same_bytes(in_there.in(Memory::host), in)) << "wrote to what it reads";
    return {out.in(Memory::host), norm.get()};
  }

  template <class Real>
  void compare(const Work& work, const std::vector<Variant>& ways) const {
    TestField<Real> in(work.cells, work.halo, work.placement);
    in.fill();
    const auto sweep_of_reference = sweep_of(reference(), work.cells);
    const Outcome<Real> expected = outcome(reference(), *sweep_of_reference, in, work);
    std::map<std::string, double> l2_of_level;
    for (const Variant& variant : ways) {
      const auto sweep = sweep_of(variant, work.cells);
      const Outcome<Real> got = outcome(variant, *sweep, in, work);
      ASSERT_TRUE(same_bytes(got.out, expected.out)) << variant.text();
      if (work.norm == NormKind::max) {
        ASSERT_EQ(got.norm, expected.norm) << variant.text();
      }
      if (work.norm == NormKind::l2) {
        ASSERT_NEAR(got.norm, expected.norm, 1e-13 * expected.norm) << variant.text();
        const std::string level = std::string(variant.backend->name()) + variant.options.simd;
        const double first = l2_of_level.emplace(level, got.norm).first->second;
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
      for (const Placement& placement : {Placement{}, own})
        compare({.cells = cells, .placement = placement, .norm = norm, .region = region});
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
                        {.cells = cells, .halo = 3, .norm = NormKind::max, .region = rim})
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
           {std::pair{NormKind::max, Placement{.padding = 3, .offset = 1}},
            std::pair{NormKind::l2, Placement{.padding = 3, .offset = 1}},
            std::pair{NormKind::max, own}, std::pair{NormKind::l2, own}}) {
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
    const Work work{.cells = cells, .norm = NormKind::max};
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
      for (const NormKind norm : {NormKind::max, NormKind::l2}) {
        const auto sweep = sweep_of(variant, cells);
        const auto norm_of = [&](const Box& region, double before) {
          const Work work{.cells = cells, .norm = norm, .region = region, .norm_before = before};
          return outcome(variant, *sweep, in, work).norm;
        };
        const double whole = norm_of(owned, 0), parts = norm_of(right, norm_of(left, 0));
        if (norm == NormKind::max) {
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
      const Work work{.cells = cells, .placement = placement, .norm = NormKind::l2};
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
      EXPECT_EQ(beyond.kind, ErrorKind::internal);
      EXPECT_THAT(beyond.text, HasSubstr("a sweep reads the cells [-2,"));
      const auto nowhere = caught([&] {
        sweep->run({.in = in.field(),
                    .out = out.field(),
                    .region = in.field().shape().owned,
                    .norm = NormKind::max},
                   stream.get());
      });
      EXPECT_EQ(nowhere.kind, ErrorKind::internal);
    }
  });
}

// A GPU.

TEST(GpuBackend, IsTested) { test::need_gpu(); }

class GpuBackends : public Backends {
 protected:
  static Variant cuda(Memory memory = Memory::device) {
    return {.backend = &find_backend("cuda"), .memory = memory};
  }
  static constexpr NormKind all_norms[] = {NormKind::none, NormKind::max, NormKind::l2};
};

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GpuBackends);
INSTANTIATE_TEST_SUITE_P(AllProblems, GpuBackends,
                         testing::ValuesIn(test::no_gpu() ? std::vector<ProblemCase>{}
                                                          : problem_cases()),
                         testing::PrintToStringParamName());

// A warp's strip is 128 cells in f32 and 64 in f64 wide; it takes four rows at once in 3-D, and
// 4 to 32 layers in one go.
TEST_P(GpuBackends, ComputeTheBitsOfTheReferenceInStripsAndPieces) {
  const std::vector<Extents> cells_of_axes[] = {
      {{1}, {255}, {256}, {257}, {5000}},
      {{63, 3}, {64, 4}, {65, 5}, {127, 6}, {128, 7}, {129, 33}, {260, 9}, {5, 70}},
      {{63, 4, 3}, {64, 5, 4}, {66, 3, 5}, {129, 8, 2}, {5, 9, 37}, {131, 1, 9}}};
  for (const Extents& cells : cells_of_axes[GetParam().axes - 1])
    for (const NormKind norm : all_norms)
      compare({.cells = cells, .placement = own, .norm = norm}, {cuda()});
}

// With so many tiles that a warp's walk is as long as can be.
TEST_P(GpuBackends, ComputeTheBitsOfTheReferenceInLongWalks) {
  const Extents cells_of_axes[] = {{20'000}, {130, 1'060}, {70, 66, 41}};
  compare({.cells = cells_of_axes[GetParam().axes - 1], .placement = own, .norm = NormKind::max},
          {cuda()});
}

TEST_P(GpuBackends, SweepInAnyMemoryThatTheGpuReads) {
  for (const Memory memory : test::memories_here())
    for (const Placement& placement : {own, Placement{}})
      if (gpu_reads(memory))
        compare(
            {.cells = some_cells(GetParam().axes), .placement = placement, .norm = NormKind::l2},
            {cuda(memory)});
}

TEST_P(GpuBackends, SweepRegionsThatBeginAndEndAnywhere) {
  const int axes = GetParam().axes;
  const Extents cells = axes == 1 ? Extents{131} : axes == 2 ? Extents{70, 9} : Extents{69, 5, 6};
  for (const std::int64_t lower : {-2, -1, 0, 1, 3})
    for (const std::int64_t upper : {-3, -1, 0, 2}) {
      Box region{{0, 0, 0}, cells.values()};
      for (int axis = 0; axis < axes; ++axis) {
        region.lower[axis] += axis == 0 ? lower : std::min<std::int64_t>(lower, 2);
        region.upper[axis] += axis == 1 ? std::max<std::int64_t>(upper, -1) : upper;
      }
      for (const NormKind norm : all_norms)
        compare({.cells = cells, .halo = 3, .placement = own, .norm = norm, .region = region},
                {cuda()});
    }
}

TEST_P(GpuBackends, DoNothingOnceStopped) {
  const Extents cells = some_cells(GetParam().axes);
  with_real([&]<class Real>(Real) {
    for (const Placement& placement : {own, Placement{}})
      for (const NormKind norm : all_norms) {
        TestField<Real> in(cells, 1, placement);
        in.fill();
        const TestField<Real> there = in.in(Memory::device),
                              out(cells, 1, placement, Memory::device);
        const TestField<Real> untouched = out.in(Memory::host);
        const GpuValue<double> sum(0.5), last(0.25);
        const GpuValue<unsigned> stop(1), stopped_by_norm(0);
        const device::OwnedStream stream;
        const auto sweep = sweep_of(cuda(), cells);
        const SweepArguments arguments{
            .in = there.field(),
            .out = out.field(),
            .region = there.field().shape().owned,
            .norm = norm,
            .norm_sum = sum.place(),
            .verdict = {.norm = last.place(), .stop = stopped_by_norm.place(), .tolerance = 1e30},
            .stop = stop.place()};
        sweep->run(arguments, stream.get());
        device::synchronize(stream.get());
        EXPECT_TRUE(same_bytes(out.in(Memory::host), untouched));
        EXPECT_EQ(sum.get(), 0.5);
        EXPECT_EQ(last.get(), 0.25);
        EXPECT_EQ(stopped_by_norm.get(), 0u);
        // The word is read when the sweep comes to it, not when it is given.
        device::clear(stop.place(), sizeof(unsigned), stream.get());
        sweep->run(arguments, stream.get());
        device::synchronize(stream.get());
        EXPECT_FALSE(same_bytes(out.in(Memory::host), untouched));
      }
  });
}

TEST_P(GpuBackends, EndANormWithTheLastOfItsRegions) {
  const Extents cells = some_cells(GetParam().axes);
  with_real([&]<class Real>(Real) {
    TestField<Real> in(cells, 1, own);
    in.fill();
    const TestField<Real> there = in.in(Memory::device), out(cells, 1, own, Memory::device);
    const Box owned = in.field().shape().owned;
    Box left = owned, right = owned;
    left.upper.x = right.lower.x = 5;
    for (const NormKind norm : {NormKind::max, NormKind::l2}) {
      const auto sweep = sweep_of(cuda(), cells);
      const double sum =
          outcome(cuda(), *sweep, in, {.cells = cells, .placement = own, .norm = norm}).norm;
      const double expected = norm == NormKind::l2 ? std::sqrt(sum) : sum;
      const GpuValue<double> sum_there(0), norm_there(-1);
      const GpuValue<unsigned> stop(0);
      const device::OwnedStream stream;
      // Twice without a look between: what the first leaves is where the second begins.
      for (const double tolerance : {expected / 2, expected / 2, expected * 2}) {
        for (const Box& region : {left, right})
          sweep->run({.in = there.field(),
                      .out = out.field(),
                      .region = region,
                      .norm = norm,
                      .norm_sum = sum_there.place(),
                      .verdict = region == right ? NormVerdict{.norm = norm_there.place(),
                                                               .stop = stop.place(),
                                                               .tolerance = tolerance}
                                                 : NormVerdict{}},
                     stream.get());
        if (tolerance < expected) continue;
        device::synchronize(stream.get());
        EXPECT_NEAR(norm_there.get(), expected, norm == NormKind::l2 ? 1e-12 * expected : 0);
        EXPECT_EQ(sum_there.get(), 0);
        EXPECT_EQ(stop.get(), 1u) << "at most the tolerance";
      }
    }
  });
}

TEST_P(GpuBackends, StopAtNormsThatAreNotFiniteOrSmallEnough) {
  const Extents cells = some_cells(GetParam().axes);
  with_real([&]<class Real>(Real) {
    const auto stops = [&](NormKind norm, Real value, double tolerance) {
      TestField<Real> in(cells, 1, own);
      in.fill();
      in.field()(cells[0] / 2, cells[1] / 2, cells[2] / 2) = value;
      const TestField<Real> there = in.in(Memory::device), out(cells, 1, own, Memory::device);
      const GpuValue<double> sum(0), last(-1);
      const GpuValue<unsigned> stop(0);
      const device::OwnedStream stream;
      const auto sweep = sweep_of(cuda(), cells);
      sweep->run({.in = there.field(),
                  .out = out.field(),
                  .region = there.field().shape().owned,
                  .norm = norm,
                  .norm_sum = sum.place(),
                  .verdict = {.norm = last.place(), .stop = stop.place(), .tolerance = tolerance}},
                 stream.get());
      device::synchronize(stream.get());
      return stop.get() == 1;
    };
    for (const NormKind norm : {NormKind::max, NormKind::l2}) {
      EXPECT_FALSE(stops(norm, 1, 1e-30)) << name_of(norm);
      EXPECT_TRUE(stops(norm, 1, 1e30)) << name_of(norm);
      EXPECT_TRUE(stops(norm, std::numeric_limits<Real>::quiet_NaN(), -1)) << name_of(norm);
      EXPECT_TRUE(stops(norm, std::numeric_limits<Real>::infinity(), -1)) << name_of(norm);
    }
  });
}

TEST_P(GpuBackends, RefuseTheHostsStreamAndMemory) {
  const Extents cells = some_cells(GetParam().axes);
  with_real([&]<class Real>(Real) {
    const TestField<Real> host(cells, 1, own), there(cells, 1, own, Memory::device);
    const device::OwnedStream stream;
    const auto sweep = sweep_of(cuda(), cells);
    const Box region = host.field().shape().owned;
    const auto on_host = caught([&] {
      sweep->run({.in = there.field(), .out = there.field(), .region = region}, Stream::host());
    });
    EXPECT_EQ(on_host.kind, ErrorKind::internal);
    EXPECT_EQ(on_host.text, "a sweep on a GPU was given the host's stream");
    const auto of_host = caught([&] {
      sweep->run({.in = there.field(), .out = host.field(), .region = region}, stream.get());
    });
    EXPECT_EQ(of_host.kind, ErrorKind::internal);
    EXPECT_THAT(of_host.text, HasSubstr("a sweep on the GPU cannot reach field 'field' in host "));
    const auto by_host = caught([&] {
      sweep_of(reference(), cells)
          ->run({.in = there.field(), .out = there.field(), .region = region}, Stream::host());
    });
    EXPECT_EQ(by_host.kind, ErrorKind::internal);
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

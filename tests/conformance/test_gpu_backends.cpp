// SPDX-License-Identifier: Apache-2.0
// The backend of a GPU: what is special about its strips, pieces, memory, streams and stop word.

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/queue.hpp"
#include "support/backend_suite.hpp"
#include "support/caught.hpp"
#include "support/memories.hpp"
#include "support/turns.hpp"

namespace halocline::stencil {
namespace {

using test::Backends;
using test::caught;
using test::GpuValue;
using test::own;
using test::PartsOfNorm;
using test::Placement;
using test::reference;
using test::some_cells;
using test::TestField;
using test::Variant;
using testing::HasSubstr;

TEST(GpuBackend, IsTested) { test::need_gpu(); }

class GpuBackends : public Backends {
 protected:
  static Variant cuda(Memory memory = Memory::device) {
    return {.backend = &find_backend("cuda"), .memory = memory};
  }
  static constexpr Norm all_norms[] = {Norm::none, Norm::max, Norm::l2};
};

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GpuBackends);
INSTANTIATE_TEST_SUITE_P(AllProblems, GpuBackends,
                         testing::ValuesIn(test::no_gpu()
                                               ? std::vector<test::ProblemCase>{}
                                               : test::those_with_turn(test::problem_cases())),
                         testing::PrintToStringParamName());

// A warp's strip is 128 cells in f32 and 64 in f64 wide; it takes four rows at once in 3-D, and
// 4 to 32 layers in one go.
TEST_P(GpuBackends, ComputeTheBitsOfTheReferenceInStripsAndPieces) {
  const std::vector<Extents> cells_of_axes[] = {
      {{1}, {255}, {256}, {257}, {5000}},
      {{63, 3}, {64, 4}, {65, 5}, {127, 6}, {128, 7}, {129, 33}, {260, 9}, {5, 70}},
      {{63, 4, 3}, {64, 5, 4}, {66, 3, 5}, {129, 8, 2}, {5, 9, 37}, {131, 1, 9}}};
  for (const Extents& cells : cells_of_axes[GetParam().axes - 1])
    for (const Norm norm : all_norms)
      compare({.cells = cells, .placement = own, .norm = norm}, {cuda()});
}

// With so many tiles that a warp's walk is as long as can be.
TEST_P(GpuBackends, ComputeTheBitsOfTheReferenceInLongWalks) {
  const Extents cells_of_axes[] = {{20'000}, {130, 1'060}, {70, 66, 41}};
  compare({.cells = cells_of_axes[GetParam().axes - 1], .placement = own, .norm = Norm::max},
          {cuda()});
}

TEST_P(GpuBackends, SweepInAnyMemoryThatTheGpuReads) {
  for (const Memory memory : test::memories_here())
    for (const Placement& placement : {own, Placement{}})
      if (gpu_reads(memory))
        compare({.cells = some_cells(GetParam().axes), .placement = placement, .norm = Norm::l2},
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
      for (const Norm norm : all_norms)
        compare({.cells = cells, .halo = 3, .placement = own, .norm = norm, .region = region},
                {cuda()});
    }
}

TEST_P(GpuBackends, DoNothingOnceStopped) {
  const Extents cells = some_cells(GetParam().axes);
  with_real([&]<class Real>(Real) {
    for (const Placement& placement : {own, Placement{}})
      for (const Norm norm : all_norms) {
        TestField<Real> in(cells, 1, placement);
        in.fill();
        const TestField<Real> there = in.in(Memory::device),
                              out(cells, 1, placement, Memory::device);
        const TestField<Real> untouched = out.in(Memory::host);
        const PartsOfNorm parts;
        const GpuValue<double> sum(0.5), last(0.25);
        const GpuValue<unsigned> stop(1);
        const device::OwnedStream stream;
        const auto sweep = sweep_of(cuda(), cells);
        Pass pass{.in = there.field(),
                  .out = out.field(),
                  .region = there.field().shape().owned,
                  .norms = {.kind = norm, .sum = sum.place()},
                  .reduction = {.parts = parts.place(),
                                .kind = Norm::max,
                                .norm = last.place(),
                                .stop = stop.place(),
                                .tolerance = 1e30},
                  .stop = stop.place()};
        sweep->run(pass, stream.get());
        sweep->reduce(pass.reduction, stream.get());
        device::synchronize(stream.get());
        EXPECT_TRUE(same_bytes(out.in(Memory::host), untouched));
        EXPECT_EQ(sum.get(), 0.5);
        EXPECT_EQ(last.get(), 0.25);
        // The word is read when the sweep comes to it, not when it is given.
        device::clear(stop.place(), sizeof(unsigned), stream.get());
        pass.reduction = {};
        sweep->run(pass, stream.get());
        device::synchronize(stream.get());
        EXPECT_FALSE(same_bytes(out.in(Memory::host), untouched));
      }
  });
}

// The norm of a sweep over two regions is reduced by the next sweep, while that leaves its own.
TEST_P(GpuBackends, SettleANormWhileTheNextSweepRuns) {
  const Extents cells = some_cells(GetParam().axes);
  with_real([&]<class Real>(Real) {
    TestField<Real> in(cells, 1, own);
    in.fill();
    const TestField<Real> there = in.in(Memory::device), out(cells, 1, own, Memory::device);
    const Box owned = in.field().shape().owned;
    Box left = owned, right = owned;
    left.upper.x = right.lower.x = 5;
    for (const Norm norm : {Norm::max, Norm::l2}) {
      const auto sweep = sweep_of(cuda(), cells);
      const double sum =
          outcome(cuda(), *sweep, in, {.cells = cells, .placement = own, .norm = norm}).norm;
      const double expected = norm == Norm::l2 ? std::sqrt(sum) : sum;
      const PartsOfNorm parts[2];
      const GpuValue<double> norms[3] = {GpuValue<double>(-1), GpuValue<double>(-1),
                                         GpuValue<double>(-1)};
      const GpuValue<unsigned> stop(0);
      const device::OwnedStream stream;
      const auto reduction = [&](int s, double tolerance) {
        return stencil::NormReduction{.parts = parts[s % 2].place(),
                                      .kind = norm,
                                      .norm = norms[s].place(),
                                      .stop = stop.place(),
                                      .tolerance = tolerance};
      };
      for (int s = 0; s < 3; ++s)
        for (const Box& region : {left, right}) {
          const bool is_first = region == left;
          sweep->run({.in = there.field(),
                      .out = out.field(),
                      .region = region,
                      .norms = {.kind = norm, .parts = parts[s % 2].place()},
                      .is_first = is_first,
                      .reduction = is_first && s > 0 ? reduction(s - 1, expected / 2)
                                                     : stencil::NormReduction{}},
                     stream.get());
        }
      device::synchronize(stream.get());
      EXPECT_EQ(stop.get(), 0u);
      sweep->reduce(reduction(2, expected * 2), stream.get());
      device::synchronize(stream.get());
      EXPECT_EQ(stop.get(), 1u) << "at most the tolerance";
      for (const auto& got : norms)
        EXPECT_NEAR(got.get(), expected, norm == Norm::l2 ? 1e-12 * expected : 0);
    }
  });
}

TEST_P(GpuBackends, StopAtNormsThatAreNotFiniteOrSmallEnough) {
  const Extents cells = some_cells(GetParam().axes);
  with_real([&]<class Real>(Real) {
    const auto stops = [&](Norm norm, Real value, double tolerance) {
      TestField<Real> in(cells, 1, own);
      in.fill();
      in.field()(cells[0] / 2, cells[1] / 2, cells[2] / 2) = value;
      const TestField<Real> there = in.in(Memory::device), out(cells, 1, own, Memory::device);
      const PartsOfNorm parts;
      const GpuValue<unsigned> stop(0);
      const device::OwnedStream stream;
      const auto sweep = sweep_of(cuda(), cells);
      sweep->run({.in = there.field(),
                  .out = out.field(),
                  .region = there.field().shape().owned,
                  .norms = {.kind = norm, .parts = parts.place()}},
                 stream.get());
      sweep->reduce(
          {.parts = parts.place(), .kind = norm, .stop = stop.place(), .tolerance = tolerance},
          stream.get());
      device::synchronize(stream.get());
      return stop.get() == 1;
    };
    for (const Norm norm : {Norm::max, Norm::l2}) {
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

}  // namespace
}  // namespace halocline::stencil

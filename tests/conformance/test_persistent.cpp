// SPDX-License-Identifier: Apache-2.0
// Many sweeps in one launch against as many of the reference backend, bit by bit.

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/queue.hpp"
#include "grid/text.hpp"
#include "stencil/persistent.hpp"
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
using test::TestField;
using testing::HasSubstr;

std::vector<test::ProblemCase> cases_of(int axes) {
  std::vector<test::ProblemCase> all;
  if (!test::no_gpu())
    for (const test::ProblemCase& c : test::problem_cases())
      if (c.axes == axes) all.push_back(c);
  return test::those_with_turn(all);
}

class PersistentSweeps : public Backends {
 protected:
  struct Run {
    Extents cells;
    std::vector<std::int64_t> passes;  ///< sweeps of each
    Norm norm = Norm::max;
    std::int64_t norm_every = 1;
    std::int64_t stops_at = -1;  ///< the sweep whose norm stops the run
    std::array<bool, 3> periodic{};
    int fewest_rows = 2;
  };

  template <class Real>
  struct Result {
    TestField<Real> field;
    std::vector<double> norms;  // of sweeps that have one
    std::int64_t sweeps;
  };

  static bool has_norm(const Run& run, std::int64_t sweep) {
    return run.norm != Norm::none && sweep >= 0 && sweep % run.norm_every == 0;
  }

  /// Halos along periodic axes, from the other end; the others stay.
  template <class Real>
  static void wrap(const Field<Real>& field, const Run& run) {
    const std::array<std::int64_t, 3> extent = extent_of(run.cells);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (!run.periodic[axis]) continue;
      std::array<std::int64_t, 3> face = extent;
      face[axis] = 1;
      for (std::int64_t z = 0; z < face[2]; ++z)
        for (std::int64_t y = 0; y < face[1]; ++y)
          for (std::int64_t x = 0; x < face[0]; ++x) {
            const auto value = [&](std::int64_t along) -> Real& {
              std::array<std::int64_t, 3> at{x, y, z};
              at[axis] = along;
              return field(at[0], at[1], at[2]);
            };
            value(-1) = value(extent[axis] - 1);
            value(extent[axis]) = value(0);
          }
    }
  }

  static std::array<std::int64_t, 3> extent_of(const Extents& cells) {
    return {cells[0], cells[1], cells.axes() == 3 ? cells[2] : 1};
  }

  template <class Real>
  Result<Real> one_by_one(const TestField<Real>& start, const Run& run) const {
    TestField<Real> levels[2] = {start.in(Memory::host), start.in(Memory::host)};
    Result<Real> result{start.in(Memory::host), {}, 0};
    const auto sweep = sweep_of(test::reference(), run.cells);
    std::int64_t sweeps = 0;
    for (const std::int64_t pass : run.passes) sweeps += pass;
    for (std::int64_t s = 0; s < sweeps; ++s) {
      const Field<Real>&in = levels[s % 2].field(), &out = levels[(s + 1) % 2].field();
      wrap(in, run);
      double norm = 0;
      sweep->run({.in = in,
                  .out = out,
                  .region = in.shape().owned,
                  .norms = {.kind = has_norm(run, s) ? run.norm : Norm::none, .sum = &norm}},
                 Stream::host());
      ++result.sweeps;
      if (has_norm(run, s)) result.norms.push_back(run.norm == Norm::l2 ? std::sqrt(norm) : norm);
      if (s == run.stops_at) break;
    }
    result.field = levels[result.sweeps % 2];
    return result;
  }

  template <class Real>
  Result<Real> at_once(const TestField<Real>& start, const Run& run, double tolerance) const {
    const TestField<Real> levels[2] = {start.in(Memory::device), start.in(Memory::device)};
    const std::int64_t vectors = (run.cells[0] * std::int64_t{sizeof(Real)} + 15) / 16;
    const int last = run.cells.axes() - 1;
    const std::int64_t lines = last == 2 ? run.cells[1] : 1;
    const std::int64_t edge =
        lines * vectors * device::edge_pairs_per_vector * std::int64_t{sizeof(device::EdgeWords)};
    const auto edges = device::allocate(Memory::device, 2 * edge);
    device::EdgePort port{};
    if (run.periodic[static_cast<std::size_t>(last)]) {
      auto* const below = static_cast<device::EdgeWords*>(edges.get());
      auto* const above = below + edge / std::int64_t{sizeof(device::EdgeWords)};
      port.lower = {above, below};
      port.upper = {below, above};
    }
    const auto persistent =
        find_backend("cuda").make_persistent({.model = model_for(run.cells),
                                              .levels = {levels[0].field(), levels[1].field()},
                                              .wraps = {run.periodic[0], run.periodic[1]},
                                              .port = port,
                                              .fewest_rows = run.fewest_rows,
                                              .norm = run.norm});
    const device::OwnedStream stream;
    const auto sweep = sweep_of({.backend = &find_backend("cuda")}, run.cells);
    const PartsOfNorm parts[2];
    const GpuValue<unsigned> stop(0);
    std::int64_t sweeps = 0;
    for (const std::int64_t pass : run.passes) sweeps += pass;
    const auto norms =
        device::allocate(Memory::device, (sweeps + 1) * std::int64_t{sizeof(double)});
    const auto reduction_in = [&](std::int64_t s) {
      return NormReduction{.parts = has_norm(run, s - 1) ? parts[(s - 1) % 2].place() : nullptr,
                           .kind = run.norm,
                           .norm = static_cast<double*>(norms.get()) + s,
                           .stop = stop.place(),
                           .tolerance = tolerance};
    };
    const std::int64_t counted = run.stops_at >= 0 ? run.stops_at + 1 : sweeps;
    std::int64_t first = 0;
    std::size_t level = 0, last_level = 0;
    for (const std::int64_t count : run.passes) {
      const std::int64_t last_sweep = first + count - 1;
      const std::int64_t every = run.norm_every;
      if (first < counted) last_level = 1 - level;
      persistent->run(
          {.in = levels[level].field(),
           .out = levels[1 - level].field(),
           .region = levels[0].field().shape().owned,
           .first_sweep = first,
           .sweeps = count,
           .norms = {.kind = run.norm,
                     .first = (every - first % every) % every,
                     .every = every,
                     .parts = has_norm(run, last_sweep) ? parts[last_sweep % 2].place() : nullptr},
           .reduction = reduction_in(first)},
          stream.get());
      first += count;
      level = 1 - level;
    }
    if (has_norm(run, sweeps - 1)) sweep->reduce(reduction_in(sweeps), stream.get());
    device::synchronize(stream.get());
    std::vector<double> all(static_cast<std::size_t>(sweeps) + 1);
    device::copy(all.data(), norms.get(), (sweeps + 1) * std::int64_t{sizeof(double)},
                 Stream::host());
    EXPECT_EQ(stop.get(), run.stops_at >= 0 ? 1u : 0u);
    Result<Real> result{levels[last_level].in(Memory::host), {}, counted};
    for (std::int64_t s = 0; s < counted; ++s)
      if (has_norm(run, s)) result.norms.push_back(all[static_cast<std::size_t>(s) + 1]);
    return result;
  }

  template <class Real>
  void compare(const Run& run) const {
    TestField<Real> start(run.cells, 1, own);
    start.fill();
    const Result<Real> expected = one_by_one(start, run);
    double tolerance = -1;
    if (run.stops_at >= 0) tolerance = expected.norms.back();
    // Only that norm may be so small.
    for (std::size_t i = 0; run.stops_at >= 0 && i + 1 < expected.norms.size(); ++i)
      ASSERT_GT(expected.norms[i], tolerance);
    if (run.norm == Norm::l2) tolerance *= 1 + 1e-12;
    const Result<Real> got = at_once(start, run, tolerance);
    expect_same_cells(got.field.field(), expected.field.field());
    ASSERT_EQ(got.norms.size(), expected.norms.size());
    for (std::size_t i = 0; i < got.norms.size(); ++i)
      ASSERT_NEAR(got.norms[i], expected.norms[i],
                  run.norm == Norm::l2 ? 1e-12 * expected.norms[i] : 0)
          << i;
  }

  static std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }
  static std::uint64_t bits_of(double value) { return std::bit_cast<std::uint64_t>(value); }

  template <class Real>
  static void expect_same_cells(const Field<Real>& got, const Field<Real>& expected) {
    const Box& owned = expected.shape().owned;
    for (std::int64_t z = owned.lower.z; z < owned.upper.z; ++z)
      for (std::int64_t y = owned.lower.y; y < owned.upper.y; ++y)
        for (std::int64_t x = owned.lower.x; x < owned.upper.x; ++x)
          ASSERT_EQ(bits_of(got(x, y, z)), bits_of(expected(x, y, z))) << fmt::format(
              "{}, {}, {}: {} instead of {}", x, y, z, got(x, y, z), expected(x, y, z));
  }

  void compare(const Run& run) const {
    SCOPED_TRACE(
        fmt::format("cells {}, norm {} every {}, stops at {}, {} launches, periodic {:d} {:d} {:d}",
                    grid::text_of(run.cells), name_of(run.norm), run.norm_every, run.stops_at,
                    run.passes.size(), run.periodic[0], run.periodic[1], run.periodic[2]));
    if (GetParam().precision == Precision::f32)
      compare<float>(run);
    else
      compare<double>(run);
  }
};

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PersistentSweeps);
INSTANTIATE_TEST_SUITE_P(AllProblems, PersistentSweeps, testing::ValuesIn(cases_of(2)),
                         testing::PrintToStringParamName());

using PersistentSweepsInSpace = PersistentSweeps;
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PersistentSweepsInSpace);
INSTANTIATE_TEST_SUITE_P(AllProblems, PersistentSweepsInSpace, testing::ValuesIn(cases_of(3)),
                         testing::PrintToStringParamName());

// A warp's tile is at most 128 cells in f32 and 64 in f64 wide, and 2 to 16 rows high; 16 make a
// block.
TEST_P(PersistentSweeps, ComputeTheBitsOfTheReference) {
  for (const Extents& cells : std::vector<Extents>{
           {8, 1}, {5, 2}, {9, 3}, {64, 4}, {127, 5}, {129, 33}, {130, 70}, {700, 40}, {2100, 3}})
    for (const Norm norm : {Norm::none, Norm::max, Norm::l2})
      compare({.cells = cells, .passes = {1, 5, 2}, .norm = norm, .norm_every = 2});
}

TEST_P(PersistentSweeps, KeepManyRowsInOneWarp) {
  for (const int rows : {4, 8, 16})
    for (const Extents& cells : std::vector<Extents>{{8, 1}, {132, 39}, {128, 64}})
      for (const auto& periodic : {std::array{false, false, false}, {true, true, false}})
        compare({.cells = cells,
                 .passes = {3, 4},
                 .norm = Norm::l2,
                 .periodic = periodic,
                 .fewest_rows = rows});
  compare({.cells = {132, 39},
           .passes = {3, 4},
           .norm = Norm::max,
           .periodic = {true, true, false},
           .fewest_rows = 16});
}

TEST_P(PersistentSweeps, AreTheirOwnNeighboursAlongPeriodicAxes) {
  for (const auto& periodic :
       {std::array{true, false, false}, {false, true, false}, {true, true, false}})
    for (const Extents& cells :
         std::vector<Extents>{{8, 1}, {12, 2}, {132, 35}, {128, 64}, {700, 40}})
      compare({.cells = cells, .passes = {4, 1, 3}, .periodic = periodic});
  for (const Extents& cells : std::vector<Extents>{{9, 3}, {131, 33}})
    compare({.cells = cells, .passes = {4, 1, 3}, .periodic = {false, true, false}});
}

TEST_P(PersistentSweeps, StopAtAnySweep) {
  for (const std::int64_t every : {1, 3})
    for (std::int64_t stops_at = 0; stops_at < 8; stops_at += every)
      for (const auto& passes : std::vector<std::vector<std::int64_t>>{{8}, {1, 2, 1, 4}})
        compare({.cells = {131, 37},
                 .passes = passes,
                 .norm = stops_at % 2 == 0 ? Norm::max : Norm::l2,
                 .norm_every = every,
                 .stops_at = stops_at});
}

TEST_P(PersistentSweeps, DoNothingOnceStopped) {
  const Extents cells{37, 13};
  with_real([&]<class Real>(Real) {
    TestField<Real> start(cells, 1, own);
    start.fill();
    const TestField<Real> a = start.in(Memory::device), b = start.in(Memory::device);
    const auto persistent = find_backend("cuda").make_persistent(
        {.model = model_for(cells), .levels = {a.field(), b.field()}, .wraps = {}, .port = {}});
    const PartsOfNorm parts[2];
    const GpuValue<double> norm(0.25);
    const GpuValue<unsigned> stop(1);
    const device::OwnedStream stream;
    for (const bool reduces : {false, true})
      persistent->run({.in = a.field(),
                       .out = b.field(),
                       .region = a.field().shape().owned,
                       .sweeps = 3,
                       .norms = {.kind = Norm::max, .parts = parts[0].place()},
                       .reduction = {.parts = reduces ? parts[1].place() : nullptr,
                                     .kind = Norm::max,
                                     .norm = norm.place(),
                                     .stop = stop.place()}},
                      stream.get());
    device::synchronize(stream.get());
    EXPECT_TRUE(same_bytes(a.in(Memory::host), start));
    EXPECT_TRUE(same_bytes(b.in(Memory::host), start));
    EXPECT_EQ(norm.get(), 0.25);
  });
}

TEST_P(PersistentSweeps, RefuseWhatDoesNotFit) {
  const auto text_of = [&](const Extents& cells, const test::Placement& placement, bool wraps) {
    std::string text;
    with_real([&]<class Real>(Real) {
      const TestField<Real> field(cells, 1, placement, Memory::device);
      const auto error = caught([&] {
        find_backend("cuda").make_persistent({.model = model_for(cells),
                                              .levels = {field.field(), field.field()},
                                              .wraps = {wraps, false},
                                              .port = {}});
      });
      EXPECT_EQ(error.kind, ErrorKind::unavailable);
      text = error.text;
    });
    return text;
  };
  EXPECT_THAT(text_of({37, 13}, {}, false), HasSubstr("16-byte boundaries"));
  EXPECT_THAT(text_of({2, 13}, own, false), HasSubstr("shorter than 32 bytes"));
  EXPECT_THAT(text_of({37, 13}, own, true), HasSubstr("not a multiple of 16 bytes"));
  EXPECT_THAT(text_of({40'000, 1'000}, own, false), HasSubstr("registers hold at most "));
}

TEST(PersistentSweep, RefusesFormulasThatItCannotCompile) {
  if (test::no_gpu()) return;
  const std::string none = caught([] {}).text;
  const auto text_of = [&](const std::string& rest, const std::string& update) {
    const problem::Model model = test::model_of_text(
        "axes = 2\ncells = [16, 16]\nprecision = \"f32\"\nparameters.dt = 0.5\n[fields.u]\ninitial "
        "= 0\n" +
        rest + "[update]\nu = \"" + update + "\"\n[stop]\nsweeps = 1\n");
    const TestField<float> field({16, 16}, 1, own, Memory::device);
    const auto error = caught([&] {
      find_backend("cuda").make_persistent(
          {.model = model, .levels = {field.field(), field.field()}, .wraps = {}, .port = {}});
    });
    if (error.text != none) {
      EXPECT_EQ(error.kind, ErrorKind::unavailable);
    }
    return error.text;
  };
  const std::string outside = "boundary = { \"*\" = { outside = 0 } }\n";
  EXPECT_EQ(text_of(outside, "0.5*u[1,0] + i + t"), none);
  EXPECT_THAT(text_of(outside, "0.5*u[1,1]"), HasSubstr("farther than the nearest"));
  EXPECT_THAT(text_of(outside, "0.5*u[2,0]"), HasSubstr("farther than the nearest"));
  EXPECT_THAT(text_of(outside + "[coefficients]\nc = { value = \"i\" }\n", "c*u[1,0]"),
              HasSubstr("coefficient"));
  std::string sines = "u[1,0]";
  for (int i = 0; i < 3; ++i) sines = "sin(" + sines + " + 0.5)";
  EXPECT_EQ(text_of(outside, sines), none);
  for (int i = 0; i < 2; ++i) sines = "sin(" + sines + " + 0.5)";
  EXPECT_THAT(text_of(outside, sines), HasSubstr("operations"));
}

// A tile is rows of one line, a y: those of other lines are in other warps, from 16 lines on in
// other blocks, of which the emulated GPU has room for three.
TEST_P(PersistentSweepsInSpace, ComputeTheBitsOfTheReference) {
  for (const Extents& cells : std::vector<Extents>{
           {8, 1, 1}, {5, 2, 3}, {9, 3, 1}, {64, 17, 5}, {129, 9, 6}, {190, 5, 8}, {12, 9, 17}})
    for (const Norm norm : {Norm::none, Norm::max, Norm::l2})
      compare({.cells = cells, .passes = {1, 5, 2}, .norm = norm, .norm_every = 2});
}

TEST_P(PersistentSweepsInSpace, KeepManyRowsInOneWarp) {
  for (const int rows : {4, 8})
    for (const Extents& cells : std::vector<Extents>{{8, 3, 1}, {72, 18, 7}, {64, 16, 19}})
      for (const auto& periodic : {std::array{false, false, false}, {true, true, true}})
        compare({.cells = cells,
                 .passes = {3, 4},
                 .norm = Norm::l2,
                 .periodic = periodic,
                 .fewest_rows = rows});
}

TEST_P(PersistentSweepsInSpace, AreTheirOwnNeighboursAlongPeriodicAxes) {
  for (const auto& periodic : {std::array{true, false, false},
                               {false, true, false},
                               {false, false, true},
                               {true, true, true}})
    for (const Extents& cells : std::vector<Extents>{{8, 1, 1}, {12, 2, 5}, {64, 35, 3}})
      compare({.cells = cells, .passes = {4, 1, 3}, .periodic = periodic});
  for (const Extents& cells : std::vector<Extents>{{9, 3, 2}, {61, 33, 3}})
    compare({.cells = cells, .passes = {4, 1, 3}, .periodic = {false, true, true}});
}

TEST_P(PersistentSweepsInSpace, StopAtAnySweep) {
  for (std::int64_t stops_at = 0; stops_at < 8; ++stops_at)
    for (const auto& passes : std::vector<std::vector<std::int64_t>>{{8}, {1, 2, 1, 4}})
      compare({.cells = {13, 18, 7},
               .passes = passes,
               .norm = stops_at % 2 == 0 ? Norm::max : Norm::l2,
               .stops_at = stops_at});
}

TEST(PersistentSweep, IsForBackendsOfGpusAndTwoOrThreeAxes) {
  const problem::Model heat = test::built_in("heat", {8}, {.precision = Precision::f32});
  Field<float> field(Grid(0, 1, {.cells = {8}}));
  const auto text_of = [&](const Backend& backend) {
    return caught([&] {
             backend.make_persistent(
                 {.model = heat, .levels = {field, field}, .wraps = {}, .port = {}});
           })
        .text;
  };
  EXPECT_THAT(text_of(find_backend("cpu")), HasSubstr("backend cpu"));
  if (test::no_gpu()) return;
  EXPECT_THAT(text_of(find_backend("cuda")), HasSubstr("two or three axes"));
}

}  // namespace
}  // namespace halocline::stencil

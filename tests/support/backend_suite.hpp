// SPDX-License-Identifier: Apache-2.0
#pragma once
// Backends against the reference backend, bit by bit: the ways to ask one, and a suite for each
// problem, number of axes and precision.

#include <array>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "device/queue.hpp"
#include "stencil/sweep.hpp"
#include "support/models.hpp"
#include "support/test_field.hpp"

namespace halocline::test {

using stencil::Backend;
using stencil::Sweep;

/// One way in which a backend can be asked to work.
struct Variant {
  const Backend* backend;
  stencil::SweepOptions options{};
  Memory memory = Memory::host;

  std::string text() const;
};

Variant reference();
/// Every backend that is to be had here but the reference; on CPUs for each width of vectors,
/// number of threads and kind of stores, or for some.
std::vector<Variant> all_variants();
std::vector<Variant> some_variants();

struct ProblemCase {
  std::string problem;
  int axes;
  Precision precision;

  problem::Model model(const Extents& cells) const {
    return built_in(problem, cells, {.axes = axes, .precision = precision});
  }
};

void PrintTo(const ProblemCase& c, std::ostream* to);

std::vector<ProblemCase> problem_cases();

Extents some_cells(int axes);

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
    Norm norm = Norm::none;
    std::optional<Box> region{};  ///< else the owned cells
    double norm_before = 0;
  };

  /// Lives as long as the test. Made once for each extent, not for each variant.
  const problem::Model& model_for(const Extents& cells) const {
    const Int3& n = cells.values();
    const auto [found, is_new] = models_.try_emplace({cells.axes(), n.x, n.y, n.z});
    if (is_new) found->second = std::make_unique<problem::Model>(GetParam().model(cells));
    return *found->second;
  }
  std::unique_ptr<Sweep> sweep_of(const Variant& variant, const Extents& cells) const {
    return variant.backend->make(model_for(cells), variant.options);
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
                 .norms = {.kind = work.norm, .sum = &outcome.norm}},
                Stream::host());
      return outcome;
    }
    const TestField<Real> in_there = in.in(variant.memory), out = outcome.out.in(variant.memory);
    const GpuValue<double> norm(work.norm_before);
    const device::OwnedStream stream;
    sweep.run({.in = in_there.field(),
               .out = out.field(),
               .region = region,
               .norms = {.kind = work.norm, .sum = norm.place()}},
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
      if (work.norm == Norm::max) {
        ASSERT_EQ(got.norm, expected.norm) << variant.text();
      }
      if (work.norm == Norm::l2) {
        ASSERT_NEAR(got.norm, expected.norm, 1e-13 * expected.norm) << variant.text();
        // Formulas that are interpreted are added up in another order.
        const bool is_interpreted = variant.options.formulas == stencil::Formulas::interpreted;
        const std::string level = fmt::format("{}, {}, {}", variant.backend->name(),
                                              variant.options.simd, is_interpreted);
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

 private:
  mutable std::map<std::array<std::int64_t, 4>, std::unique_ptr<problem::Model>> models_;
};

}  // namespace halocline::test

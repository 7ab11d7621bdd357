// SPDX-License-Identifier: Apache-2.0
// HALOCLINE_CHECK_HALOS: what a program reads from a halo that no exchange has filled is NaN, in
// every memory; a program that is right gets the same values as without.

#include <cmath>
#include <cstddef>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/exchange.hpp>
#include <halocline/solver.hpp>

#include "device/queue.hpp"
#include "support/communicators.hpp"
#include "support/memories.hpp"
#include "support/ranks.hpp"
#include "support/set_variable.hpp"
#include "support/small_solve.hpp"

namespace halocline::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr double wall_value = -5;

/// A field in an array of the program, of which the test sees the values in any memory.
class Watched {
 public:
  Watched(const Grid& grid, Memory memory)
      : field_(grid, {.memory = memory}), bytes_(field_.allocated_bytes()) {
    values_.resize(static_cast<std::size_t>(bytes_));
  }
  const Field<double>& field() const { return field_; }

  /// Gives every cell a value, halo included.
  void set_all(double value) {
    see();
    for_held([&](double& cell, bool) { cell = value; });
    device::copy(field_.bytes(), values_.data(), bytes_, Stream::host());
  }
  /// How many cells of the domain beyond the owned ones are NaN, and how many others are.
  struct Count {
    int in_halo = 0, elsewhere = 0;
  };
  Count nans() {
    see();
    Count count;
    for_held([&](double cell, bool is_filled) {
      if (std::isnan(cell)) ++(is_filled ? count.in_halo : count.elsewhere);
    });
    return count;
  }

 private:
  void see() { device::copy(values_.data(), field_.bytes(), bytes_, Stream::host()); }
  template <class Work>
  void for_held(const Work& work) {
    const FieldShape& shape = field_.shape();
    const Box held = shape.held();
    const std::int64_t first = field_.first_owned() - field_.bytes();
    for (std::int64_t y = held.lower.y; y < held.upper.y; ++y)
      for (std::int64_t x = held.lower.x; x < held.upper.x; ++x) {
        const Int3 at = Int3{x, y, 0} - shape.owned.lower;
        const Strides& step = field_.strides();
        auto& cell = *reinterpret_cast<double*>(values_.data() + first +
                                                (at.x * step.x + at.y * step.y) *
                                                    static_cast<std::int64_t>(sizeof(double)));
        const bool is_halo = !shape.owned.contains(Int3{x, y, 0}) && y >= 0 && y < 4 * ranks();
        work(cell, is_halo);
      }
  }

  Field<double> field_;
  std::int64_t bytes_;
  std::vector<std::byte> values_;
};

// Periodic along x, where a rank is its own neighbour, and split along y between walls.
Grid make_grid() {
  return Grid(rank(), ranks(),
              {.cells = {6, 4 * ranks()}, .periodic = {true}, .process_grid = {1, ranks()}});
}

/// Of a rank, within the domain.
int halo_cells() {
  const int neighbours = (rank() > 0 ? 1 : 0) + (rank() + 1 < ranks() ? 1 : 0);
  return 2 * 4 + neighbours * 8;
}

TEST(CheckedHalos, AreNaNUntilTheyAreFilled) {
  const SetVariable check("HALOCLINE_CHECK_HALOS", "1");
  for (const Memory memory : memories_here()) {
    SCOPED_TRACE(name_of(memory));
    const Grid grid = make_grid();
    const TestStream stream(memory);
    Watched even(grid, memory), odd(grid, memory), forgotten(grid, memory);
    EXPECT_EQ(forgotten.nans().in_halo, halo_cells()) << "it has no exchange at all";
    EXPECT_EQ(forgotten.nans().elsewhere, 0) << "the rest is zero";
    even.set_all(wall_value);  // as in an array of the program
    odd.set_all(wall_value);
    LevelExchange halos(world(), grid, {{even.field()}, {odd.field()}});
    EXPECT_THAT(halos.info().notes, Contains(HasSubstr("HALOCLINE_CHECK_HALOS")));
    EXPECT_EQ(even.nans().in_halo, halo_cells());
    halos.run(0, stream.get());
    device::synchronize(stream.get());
    EXPECT_EQ(even.nans().in_halo, 0);
    EXPECT_EQ(odd.nans().in_halo, halo_cells()) << "the other level was exchanged";
    EXPECT_EQ(even.nans().elsewhere + odd.nans().elsewhere, 0);

    // Corners belong to another exchange. Those within the rank are filled when it starts.
    const int neighbours = halo_cells() / 8 - 1;
    Exchange faces(world(), grid, {even.field()},
                   {.neighbours = Neighbours::faces,
                    .transport = memory == Memory::host ? "same-node=shared" : "auto"});
    EXPECT_EQ(even.nans().in_halo, 0) << "they are filled already";
    faces.start(stream.get());
    if (memory == Memory::host) {
      EXPECT_EQ(even.nans().in_halo, neighbours * 6);
    }
    faces.finish(stream.get());
    device::synchronize(stream.get());
    EXPECT_EQ(even.nans().in_halo, 0);
  }
  // Another plan for memory that had one: that plan is gone.
  Watched again(make_grid(), Memory::host);
  Exchange(world(), make_grid(), {again.field()}).run();
  const Exchange second(world(), make_grid(), {again.field()});
  EXPECT_EQ(again.nans().in_halo, halo_cells());
}

TEST(CheckedHalos, AreLeftAloneUnlessAskedFor) {
  const SetVariable check("HALOCLINE_CHECK_HALOS", "0");
  Watched u(make_grid(), Memory::host);
  const Exchange halos(world(), make_grid(), {u.field()});
  EXPECT_EQ(u.nans().in_halo, 0);
  EXPECT_THAT(halos.info().notes, Not(Contains(HasSubstr("HALOCLINE_CHECK_HALOS"))));
}

TEST(CheckedHalos, LeaveTheBitsOfARun) {
  struct Run {
    const char* problem;
    const char* schedule;
    int depth;
  };
  for (const Run& run : {Run{"laplace", "sequential", 1}, Run{"laplace", "overlap", 1},
                         Run{"gray_scott", "sequential", 3}, Run{"gray_scott", "overlap", 1},
                         Run{"star7", "sequential", 2}}) {
    SCOPED_TRACE(fmt::format("{}, {}, {}", run.problem, run.schedule, run.depth));
    SolveOptions options = small(run.problem, {12, 8 * ranks()}, 7);
    if (std::string_view(run.problem) == "star7") options.cells = {12, 5, 8 * ranks()};
    options.schedule = run.schedule;
    options.halo_depth = run.depth;
    const SolveResult plain = solve(world(), options);
    const SetVariable check("HALOCLINE_CHECK_HALOS", "1");
    const SolveResult checked = solve(world(), options);
    EXPECT_EQ(checked.checksum, plain.checksum);
    EXPECT_TRUE(std::isfinite(checked.sum));
    EXPECT_THAT(checked.notes, Contains(HasSubstr("HALOCLINE_CHECK_HALOS")));
  }
}

}  // namespace
}  // namespace halocline::test

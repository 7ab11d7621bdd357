// SPDX-License-Identifier: Apache-2.0
// Cells updated again while a run goes on: a single wrong bit is found, and no right one.

#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/solver.hpp>

#include "comm/collectives.hpp"
#include "field/cells.hpp"
#include "problem/written.hpp"
#include "solver/case.hpp"
#include "solver/engine/levels.hpp"
#include "solver/engine/time_loop.hpp"
#include "solver/run_files/spot_check.hpp"
#include "solver/verify.hpp"
#include "stencil/sweep.hpp"
#include "support/caught.hpp"
#include "support/memories.hpp"
#include "support/random.hpp"
#include "support/ranks.hpp"
#include "support/shared_folder.hpp"
#include "support/small_solve.hpp"
#include "support/turns.hpp"

namespace halocline::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// One sweep of one rank, after which bits may be flipped.
class OneSweep {
 public:
  explicit OneSweep(const std::string& problem, const Extents& cells)
      : options_(small(problem, cells, 2)),
        problem_(problem::find_problem(options_.problem)),
        case_(solver::make_case(options_, 1, problem_)),
        grid_(0, 1, case_.grid),
        levels_(solver::make_levels(case_, grid_, 1, Memory::host)),
        coefficients_(solver::make_coefficients(case_, grid_, 1, Memory::host)),
        check_(case_, grid_) {
    solver::fill_levels(case_, grid_, levels_, coefficients_, Communicator::self(), 1);
  }

  void take() { check_.take(levels_[0], coefficients_, 0, 1); }
  void sweep() {
    const auto sweep = stencil::find_backend("cpu").make(*case_.model, {});
    sweep->run({.in = levels_[0],
                .out = levels_[1],
                .region = grid_.owned(),
                .coefficients = coefficients_},
               Stream::host());
  }
  std::string compare(std::int64_t sweeps = 1) { return check_.compare(levels_[1], sweeps); }
  void flip(std::size_t level, std::size_t field, const Int3& cell, int bit) {
    std::byte* byte = field::address_of(levels_[level][field], cell) + bit / 8;
    *byte ^= std::byte{1} << bit % 8;
  }
  const solver::SpotCheck& check() const { return check_; }

 private:
  SolveOptions options_;
  problem::ProblemText problem_;
  solver::Case case_;
  Grid grid_;
  solver::Levels levels_;
  solver::Level coefficients_;
  solver::SpotCheck check_;
};

TEST(SpotCheck, FindsAnyBitOfAnyCellItUpdates) {
  // The whole of such a grid, but for the cells at its sides; in fp32.
  Random random(1);
  for (int number = 0; number < 50; ++number) {
    OneSweep run("gray_scott", {20, 20});
    run.take();
    run.sweep();
    const Int3 cell{random.between(1, 18), random.between(1, 18), 0};
    const auto field = static_cast<std::size_t>(random.between(0, 1));
    run.flip(1, field, cell, static_cast<int>(random.between(0, 31)));
    EXPECT_THAT(run.compare(),
                StartsWith(fmt::format("cell {} of field '{}' is ", solver::cell_text(cell, 2),
                                       field == 0 ? "u" : "v")));
    EXPECT_EQ(run.check().cells_checked(), 18 * 18);
  }
}

TEST(SpotCheck, FindsABitThatFlippedBeforeTheSweepReadIt) {
  OneSweep run("laplace", {20, 20});
  run.take();
  run.flip(0, 0, {7, 8, 0}, 51);
  run.sweep();
  EXPECT_THAT(run.compare(), HasSubstr("but the reference gives"));
}

TEST(SpotCheck, FindsNothingWhereNothingIsWrong) {
  for (const char* problem :
       {"laplace", "star7", "box125", "wave_sponge", "anisotropic", "acoustic"}) {
    OneSweep run(problem, std::string(problem) == "star7" || std::string(problem) == "box125"
                              ? Extents{30, 20, 20}
                              : Extents{300, 90});
    run.take();
    run.sweep();
    EXPECT_EQ(run.compare(), "") << problem;
    EXPECT_GT(run.check().cells_checked(), 0) << problem;
  }
}

TEST(SpotCheck, ComparesOnlyTheSweepThatItKept) {
  OneSweep run("laplace", {20, 20});
  run.take();
  EXPECT_EQ(run.compare(2), "");
  EXPECT_EQ(run.check().sweeps_checked(), 0);
}

TEST(SpotCheck, LeavesPartsThatAreTooNarrow) {
  OneSweep run("star25", {40, 40, 8});
  run.take();
  run.sweep();
  EXPECT_EQ(run.compare(), "");
  EXPECT_EQ(run.check().sweeps_checked(), 1);
  EXPECT_EQ(run.check().cells_checked(), 0);
}

TEST(SpotCheck, StopsOneSweepLaterToo) {
  for (std::int64_t every = 1; every < 8; ++every) {
    const solver::Pauses pauses{.intervals = {every, 10}, .later = solver::Pauses::Later{every, 1}};
    const auto is_stop = [&](std::int64_t sweeps) {
      return sweeps % every == 0 || sweeps % 10 == 0 || (sweeps > 0 && (sweeps - 1) % every == 0);
    };
    for (std::int64_t sweeps = 0; sweeps < 50; ++sweeps) {
      EXPECT_EQ(pauses.is_due(sweeps), is_stop(sweeps)) << every << ' ' << sweeps;
      std::int64_t next = sweeps + 1;
      while (!is_stop(next)) ++next;
      EXPECT_EQ(pauses.sweeps_left(sweeps), next - sweeps) << every << ' ' << sweeps;
    }
  }
}

/// Backends, schedules and layouts, with checkpoints between: no right bit is called wrong, and the
/// run is what it would be.
TEST(SpotCheck, ChangesNothing) {
  for (std::size_t number = 0; number < 12; ++number) {
    if (!has_turn(number)) continue;
    SCOPED_TRACE(how_to_repeat(number));
    Random random(number);
    const char* const problem = random.once_in(2) ? "gray_scott" : "laplace";
    SolveOptions options = small(problem, {70, 61}, 40);
    if (!no_gpu() && random.once_in(2)) options.backend = "cuda";
    if (random.once_in(3)) options.layout = "brick";
    options.halo_depth = random.between(1, 3);
    options.norm_every = 8;
    const SolveResult plain = solve(world(), options);
    const SharedFolder folder(world());
    options.checkpoint = folder / "checkpoints";
    options.checkpoint_every = 7;
    options.verify_every = random.between(1, 9);
    const SolveResult checked = solve(world(), options);
    EXPECT_EQ(checked.checksum, plain.checksum);
    EXPECT_EQ(checked.norm_history, plain.norm_history);
    ASSERT_TRUE(checked.spot_checks);
    EXPECT_EQ(checked.spot_checks->wrong, "");
    EXPECT_EQ(checked.spot_checks->sweeps,
              (40 + *options.verify_every - 1) / *options.verify_every);
    EXPECT_GT(checked.spot_checks->cells, 0);
  }
}

TEST(SpotCheck, RefusesNoInterval) {
  SolveOptions options = small("laplace", {20, 20}, 3);
  options.verify_every = 0;
  const Caught error = caught([&] { solve(world(), options); });
  EXPECT_EQ(error.kind, ErrorKind::usage);
  EXPECT_THAT(error.text, HasSubstr("cannot verify every 0 sweeps"));
}

}  // namespace
}  // namespace halocline::test

// SPDX-License-Identifier: Apache-2.0
// The late norm, without sweeps: whatever the delays, all ranks stop after the same sweep, and
// have begun one too many at most.

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "device/queue.hpp"
#include "solver/case.hpp"
#include "solver/engine/levels.hpp"
#include "solver/engine/stopping.hpp"
#include "support/communicators.hpp"
#include "support/memories.hpp"
#include "support/random.hpp"
#include "support/ranks.hpp"
#include "support/small_solve.hpp"

namespace halocline::test {
namespace {

using History = std::vector<std::pair<std::int64_t, double>>;

/// A run whose norm is 0.5 after one sweep, and 2 after all others: a norm that is overlooked
/// once does not come again.
struct Course {
  std::string norm;
  std::int64_t norm_every, sweeps, meets_tolerance;

  bool has_norm(std::int64_t sweep) const { return sweep % norm_every == 0 || sweep == sweeps - 1; }
  bool stops() const { return meets_tolerance < sweeps && has_norm(meets_tolerance); }
  std::int64_t counted() const { return stops() ? meets_tolerance + 1 : sweeps; }
  /// Always before sweep k + 2, never earlier: or ranks would wait for one that has stopped.
  std::int64_t begun() const { return std::min(counted() + 1, sweeps); }
  double norm_of(std::int64_t sweep) const { return sweep == meets_tolerance ? 0.5 : 2; }
  /// This rank's: the norm is another rank's after every sweep.
  double share_of(std::int64_t sweep) const {
    if (sweep % ranks() != rank()) return 0;
    return norm == "l2" ? norm_of(sweep) * norm_of(sweep) : norm_of(sweep);
  }
  History history() const {
    History history;
    for (std::int64_t sweep = 0; sweep < counted(); ++sweep)
      if (has_norm(sweep)) history.emplace_back(sweep, norm_of(sweep));
    return history;
  }
  std::string text() const {
    return norm + " every " + std::to_string(norm_every) + ", met after sweep " +
           std::to_string(meets_tolerance) + " of " + std::to_string(sweeps);
  }
};

class Stopping : public testing::TestWithParam<const char*> {
 protected:
  void expect_as_wanted(const Course& course) {
    SolveOptions options;
    options.problem = "laplace";
    options.cells = {16, 16};
    options.sweeps = course.sweeps;
    options.norm = norm_named(course.norm);
    options.norm_every = course.norm_every;
    options.tolerance = 0.5;
    const solver::Case the_case = solver::make_case(options, ranks());
    const Grid grid(rank(), ranks(), the_case.grid);
    const auto levels = solver::make_levels(the_case, grid, 1, Memory::host);
    const auto stopping = solver::make_mpi_stopping(world_, the_case, {}, Stream::host());

    std::int64_t sweep = 0;
    for (; sweep < course.sweeps && !stopping->stops_before(sweep); ++sweep) {
      delay();
      stencil::Pass pass{.in = levels[0], .out = levels[1], .region = {}, .first_sweep = sweep};
      stopping->begin(pass, Stream::host());
      ASSERT_EQ(pass.norms.kind != Norm::none, course.has_norm(sweep));
      ASSERT_EQ(pass.norms.sum != nullptr, course.has_norm(sweep));
      if (pass.norms.sum != nullptr) *pass.norms.sum = course.share_of(sweep);
      delay();
      stopping->end(pass, Stream::host());
    }
    EXPECT_EQ(sweep, course.begun());
    EXPECT_EQ(stopping->finish(sweep), course.counted());
    EXPECT_EQ(stopping->converged(), course.stops());
    EXPECT_EQ(stopping->history(), course.history());
  }

 private:
  void delay() {
    if (random_.once_in(6))
      std::this_thread::sleep_for(std::chrono::microseconds(random_.between(1, 1'000)));
  }

  const Communicator& world_ = communicator_with({.wait_limit = wait_limit});
  Random random_{static_cast<std::uint64_t>(rank())};
};

TEST_P(Stopping, ComesAfterAnySweep) {
  for (const std::int64_t norm_every : {1, 2, 3})
    for (std::int64_t sweeps = 1; sweeps <= 6; ++sweeps)
      for (std::int64_t sweep = 0; sweep <= sweeps; ++sweep) {
        const Course course{GetParam(), norm_every, sweeps, sweep};
        SCOPED_TRACE(course.text() + "; " + how_to_repeat(static_cast<std::uint64_t>(rank())));
        expect_as_wanted(course);
        if (!all_well()) return;
      }
}

// Its numbers may diverge, at a sweep of each rank's own: sweeps that do nothing would not be
// timed, and leave neighbours waiting in the next trial.
TEST(StoppingOfTrials, IsLeftToTheirLength) {
  NEED_GPU();
  solver::Case trial = solver::make_case(small("laplace", {32, 32}, 10), 1);
  trial.norm = Norm::max;
  const device::OwnedStream stream;
  const auto sweep = stencil::find_backend("cuda").make(*trial.model, {});
  const auto stop_of = [&] {
    const auto stopping = solver::make_gpu_stopping({.communicator = world(),
                                                     .the_case = trial,
                                                     .sweep = *sweep,
                                                     .all_reduce = nullptr,
                                                     .gather = nullptr,
                                                     .stream = stream.get()},
                                                    {});
    const double nan = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(stopping->would_stop(nan), trial.may_stop);
    const solver::Levels none(2);
    stencil::Pass pass{.in = none[0], .out = none[1], .region = {}};
    stopping->begin(pass, stream.get());
    return pass.stop;
  };
  EXPECT_NE(stop_of(), nullptr);
  trial.may_stop = false;
  EXPECT_EQ(stop_of(), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Norms, Stopping, testing::Values("max", "l2"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace halocline::test

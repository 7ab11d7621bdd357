// SPDX-License-Identifier: Apache-2.0
// A run that begins where another one ended: the same bits and norms as one run, by every schedule.

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/text/notes.hpp"
#include "program/shares.hpp"
#include "solver/case.hpp"
#include "solver/engine/runner.hpp"
#include "solver/engine/schedule.hpp"
#include "solver/engine/schedules/schedules.hpp"
#include "solver/target.hpp"
#include "support/memories.hpp"
#include "support/small_solve.hpp"
#include "support/turns.hpp"

namespace halocline::test {
namespace {

using solver::Graphs;
using solver::RunState;
using History = std::vector<std::pair<std::int64_t, double>>;

struct Outcome {
  std::uint64_t checksum;
  RunState end;
};

/// A case and a runner of it, filled once.
class Resumed {
 public:
  explicit Resumed(const SolveOptions& options)
      : options_(options), case_(solver::make_case(options, ranks())) {
    Notes notes;
    target_ = solver::choose_target(world(), options_, notes);
    sweep_ = target_.backend->make(*case_.model, {.threads = 1});
    runner_.emplace(case_, solver::RunnerParts{.communicator = world(),
                                               .target = target_,
                                               .sweep = *sweep_,
                                               .transport = options_.transport,
                                               .proofs = options_.proofs});
    runner_->fill(1);
  }

  solver::Runner& runner() { return *runner_; }

  /// Runs from `start` until `sweeps` are done.
  Outcome run(const solver::Execution& execution, std::int64_t sweeps, const RunState& start) {
    solver::Case leg = case_;
    leg.sweeps = sweeps;
    leg.tolerance.reset();
    const auto [done, stopping] = runner_->run(
        leg, execution, [](std::int64_t, const solver::Stopping&) {}, start);
    EXPECT_EQ(done.sweeps, sweeps);
    const solver::Level result =
        solver::seen_by_host(runner_->levels()[done.level], runner_->grid());
    return {program::checksum(result[0], runner_->grid(), 1),
            {.sweep = done.sweeps, .level = done.level, .norms = stopping->history()}};
  }

 private:
  SolveOptions options_;
  solver::Case case_;
  solver::Target target_;
  std::unique_ptr<stencil::Sweep> sweep_;
  std::optional<solver::Runner> runner_;
};

/// A leg has a norm at its last sweep, which one run has only where the norm's turn is.
History without_ends_of_legs(const History& history, std::int64_t every, std::int64_t sweeps) {
  History result;
  for (const auto& [sweep, norm] : history)
    if (sweep % every == 0 || sweep == sweeps - 1) result.emplace_back(sweep, norm);
  return result;
}

void expect_the_same(const SolveOptions& options, const solver::Execution& execution,
                     std::initializer_list<std::int64_t> starts) {
  const std::int64_t sweeps = *options.sweeps;
  const solver::Schedule& schedule = *execution.schedule;
  Resumed whole(options);
  if (whole.runner().unavailable(schedule)) return;
  if (execution.graphs != Graphs::none && whole.runner().no_graphs_because()) return;
  const Outcome expected = whole.run(execution, sweeps, {});
  for (const std::int64_t first : starts) {
    SCOPED_TRACE(std::string(schedule.name()) + ", from sweep " + std::to_string(first) +
                 ", halo depth " + std::to_string(options.halo_depth));
    Resumed resumed(options);
    ASSERT_FALSE(resumed.runner().unavailable(schedule));
    const Outcome half = resumed.run(execution, first, {});
    const Outcome result = resumed.run(execution, sweeps, half.end);
    EXPECT_EQ(result.checksum, expected.checksum);
    EXPECT_EQ(without_ends_of_legs(result.end.norms, options.norm_every.value_or(1), sweeps),
              expected.end.norms);
    if (!all_well()) return;
  }
}

SolveOptions options_for(std::int64_t depth) {
  SolveOptions options = small("laplace", {96, 64}, 210);
  options.norm_every = 3;
  options.halo_depth = depth;
  return options;
}

/// Does `work` by every schedule, in graphs and without, those that have the turn.
template <class Work>
void in_turn_on_gpus(const Work& work) {
  std::size_t number = 0;
  for (const std::int64_t depth : {1, 2})
    for (const solver::Schedule* schedule : solver::schedules())
      for (const Graphs graphs : {Graphs::none, Graphs::wherever_possible}) {
        if (graphs != Graphs::none && schedule->no_graphs_because()) continue;
        // A deep halo and graphs together are the harder case.
        if (depth > 1 && graphs == Graphs::none && !schedule->no_graphs_because()) continue;
        if (!has_turn(number++)) continue;
        SolveOptions options = options_for(depth);
        options.process_grid = {1, ranks()};
        options.backend = "cuda";
        work(options, solver::Execution{.schedule = schedule, .graphs = graphs});
        if (!all_well()) return;
      }
}

TEST(Resume, GivesTheBitsOfOneRun) {
  for (const std::int64_t depth : {1, 3})
    for (const solver::Schedule* schedule : solver::schedules()) {
      SolveOptions options = options_for(depth);
      options.backend = "cpu";
      expect_the_same(options, {.schedule = schedule}, {1, 2, 5, 64, 71});
      if (!all_well()) return;
    }
}

TEST(Resume, GivesTheBitsOfOneRunOnGpus) {
  NEED_GPU();
  in_turn_on_gpus([](SolveOptions options, const solver::Execution& execution) {
    options.sweeps = 150;
    // In the middle of a batch, and of the next one.
    expect_the_same(options, execution, {5, 71});
  });
}

/// Runs once without stops, and once more with them: the same bits and norms, and at each stop
/// those of a run that ends there.
void expect_the_same_with_stops(const SolveOptions& options, const solver::Execution& execution,
                                const std::vector<std::int64_t>& intervals) {
  Resumed plain(options);
  if (plain.runner().unavailable(*execution.schedule)) return;
  if (execution.graphs != Graphs::none && plain.runner().no_graphs_because()) return;
  const auto nothing = [](std::int64_t, const solver::Stopping&) {};
  const solver::Case the_case = solver::make_case(options, ranks());
  const auto checksum_of = [](Resumed& run, std::size_t level) {
    const solver::Level seen =
        solver::seen_by_host(run.runner().levels()[level], run.runner().grid());
    return program::checksum(seen[0], run.runner().grid(), 1);
  };
  const auto expected = plain.runner().run(the_case, execution, nothing);

  Resumed stopping(options);
  std::vector<std::pair<std::int64_t, std::uint64_t>> visits;
  ASSERT_FALSE(stopping.runner().unavailable(*execution.schedule));
  const auto result = stopping.runner().run(
      the_case, execution, nothing, {},
      {.intervals = intervals,
       .on_pause = [&](std::int64_t sweeps, std::size_t level, solver::Stopping&) {
         visits.emplace_back(sweeps, checksum_of(stopping, level));
         return solver::Pauses::Next::resume;
       }});
  EXPECT_EQ(result.loop.sweeps, expected.loop.sweeps);
  EXPECT_EQ(result.loop.sweeps<*options.sweeps, *options.tolerance> 0);
  EXPECT_EQ(result.stopping->history(), expected.stopping->history());
  EXPECT_EQ(result.stopping->converged(), expected.stopping->converged());
  EXPECT_EQ(checksum_of(stopping, result.loop.level), checksum_of(plain, expected.loop.level));

  std::size_t visit = 0;
  SolveOptions on_cpu = options;
  on_cpu.backend = "cpu";
  Resumed legs(on_cpu);
  RunState at;
  for (std::int64_t sweeps = 0; sweeps <= result.loop.sweeps; ++sweeps) {
    if (!std::any_of(intervals.begin(), intervals.end(),
                     [&](std::int64_t interval) { return sweeps % interval == 0; }))
      continue;
    // After the last sweep only if it was not known yet that it is.
    if (sweeps == result.loop.sweeps && visit == visits.size()) break;
    ASSERT_LT(visit, visits.size());
    EXPECT_EQ(visits[visit].first, sweeps);
    std::uint64_t checksum = checksum_of(legs, 0);
    if (sweeps > 0) {
      ASSERT_FALSE(legs.runner().unavailable(solver::sequential_schedule()));
      const Outcome leg = legs.run({.schedule = &solver::sequential_schedule()}, sweeps, at);
      at = leg.end;
      checksum = leg.checksum;
    }
    EXPECT_EQ(visits[visit].second, checksum) << "after " << sweeps << " sweeps";
    ++visit;
  }
  EXPECT_EQ(visit, visits.size());
}

/// Without a tolerance, and with one that stops the run in the middle of a batch.
void expect_the_same_with_stops(SolveOptions options, const solver::Execution& execution) {
  SCOPED_TRACE(std::string(execution.schedule->name()) + ", halo depth " +
               std::to_string(options.halo_depth));
  using Intervals = std::vector<std::int64_t>;
  for (const auto& [tolerance, intervals] :
       {std::pair(0.0, Intervals{64}), std::pair(0.0685, Intervals{7, 100}),
        std::pair(0.0525, Intervals{11})}) {
    options.tolerance = tolerance;
    expect_the_same_with_stops(options, execution, intervals);
    if (!all_well()) return;
  }
}

TEST(Pauses, LeaveTheBitsOfARun) {
  for (const std::int64_t depth : {1, 3})
    for (const solver::Schedule* schedule : solver::schedules()) {
      SolveOptions options = options_for(depth);
      options.backend = "cpu";
      expect_the_same_with_stops(options, {.schedule = schedule});
      if (!all_well()) return;
    }
}

TEST(Pauses, LeaveTheBitsOfARunOnGpus) {
  NEED_GPU();
  in_turn_on_gpus([](const SolveOptions& options, const solver::Execution& execution) {
    expect_the_same_with_stops(options, execution);
  });
}

}  // namespace
}  // namespace halocline::test

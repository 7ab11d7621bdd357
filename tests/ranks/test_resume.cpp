// SPDX-License-Identifier: Apache-2.0
// A run that begins where another one ended: the same bits and norms as one run, by every schedule.

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/notes.hpp"
#include "program/shares.hpp"
#include "solver/case.hpp"
#include "solver/runner.hpp"
#include "solver/schedule.hpp"
#include "solver/target.hpp"
#include "support/memories.hpp"
#include "support/small_solve.hpp"

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
    sweep_ = target_.backend->make(*case_.problem, case_.setting, case_.precision, {.threads = 1});
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
    const FieldStorage result =
        solver::seen_by_host(runner_->levels()[done.level], case_, runner_->grid());
    return {program::checksum(result, runner_->grid(), 1),
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
    EXPECT_EQ(without_ends_of_legs(result.end.norms, options.norm_every, sweeps),
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
  need_gpu();
  if (IsSkipped() || HasFatalFailure()) return;
  for (const std::int64_t depth : {1, 2})
    for (const solver::Schedule* schedule : solver::schedules())
      for (const Graphs graphs : {Graphs::none, Graphs::wherever_possible}) {
        if (graphs != Graphs::none && schedule->no_graphs_because()) continue;
        SolveOptions options = options_for(depth);
        options.process_grid = {1, ranks()};
        options.backend = "cuda";
        // In the middle of a batch, and of the next one.
        expect_the_same(options, {.schedule = schedule, .graphs = graphs}, {5, 71});
        if (!all_well()) return;
      }
}

}  // namespace
}  // namespace halocline::test

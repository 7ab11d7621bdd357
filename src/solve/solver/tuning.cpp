// SPDX-License-Identifier: Apache-2.0
#include "solver/tuning.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/utc.hpp"
#include "comm/collectives.hpp"
#include "grid/decomposition.hpp"
#include "grid/text.hpp"
#include "solver/tuning_file.hpp"

namespace halocline::solver {
namespace {

constexpr double share_of_run = 0.02, most_seconds = 2;
// A run that may converge is not counted as longer: nobody knows when it ends.
constexpr std::int64_t most_sweeps_until_converged = 1000;
// What a way has to gain over the rule's: two measurements of the same differ by as much.
constexpr double least_gain = 0.03;
// Of many ranks there are dozens, and those with more traffic lose.
constexpr std::size_t most_process_grids = 4;

// Of the sweeps that are timed: enough that recording a graph again, and the ranks' barrier
// before and after, do not matter. With 1 ms instead, sequential sweeps of 13 us were taken for 8.
constexpr double seconds_of_trial = 0.01;

/// Two runs whose difference is the time of whole units of sweeps: batches, where these are given
/// to a GPU at once. Each is done twice, and the shorter time counts.
struct Trial {
  std::int64_t first;         ///< sweeps before the first unit: what only they cost
  std::int64_t unit;          ///< sweeps
  std::int64_t fewest_timed;  ///< of them
  std::int64_t sweeps(std::int64_t timed) const { return 2 * first + 2 * (first + timed); }
};

/// After a batch of single sweeps and one that is recorded; or, where the host looks at every
/// sweep, after the first ones.
Trial trial_of(const Case& the_case, std::int64_t batch_sweeps) {
  if (batch_sweeps == 1) return {.first = 2, .unit = 1, .fewest_timed = 2};
  return {.first = 2 * batch_sweeps + the_case.halo_depth,
          .unit = batch_sweeps,
          .fewest_timed = 2 * batch_sweeps};
}

using GraphOption = SolveOptions::Graphs;

/// What the options leave open, and what a file has decided.
struct Wanted {
  Extents process_grid;  // no axes: open
  std::string transport, schedule;
  GraphOption graph;
};

Wanted wanted_by(const TuningParts& parts) {
  return {.process_grid = parts.the_case.grid.process_grid,
          .transport = parts.options.transport,
          .schedule = parts.options.schedule,
          .graph = parts.options.graph};
}

bool is_open(const std::string& option) { return option == "auto"; }
bool is_open(GraphOption option) { return option == GraphOption::automatic; }

class Chooser {
 public:
  Chooser(const TuningParts& parts, const Wanted& wanted, const TuningBudget& budget, Notes& notes)
      : parts_(parts), wanted_(wanted), budget_(budget), notes_(notes) {}

  Chosen choose();

 private:
  using Measured = SolveResult::Choice::Tried;

  std::unique_ptr<Runner> runner_on(const Extents& process_grid) const;
  const Schedule& schedule_by_rule(Runner& runner) const;
  Execution rule(Runner& runner) const;
  Graphs graphs_for(const Runner& runner, const Schedule& schedule) const;
  Execution execution_of(const Runner& runner, const Schedule& schedule) const;
  /// Not if graphs are asked for, and it has none.
  bool may_be_tried(const Schedule& schedule) const {
    return wanted_.graph != GraphOption::on || !schedule.no_graphs_because();
  }
  std::vector<Extents> other_process_grids() const;

  bool can_afford(std::int64_t sweeps, double per_sweep, double other_seconds) const;
  bool can_try(double other_seconds) const;
  double seconds_used() const;
  void consider(const Execution& execution);
  std::optional<double> measure(Execution execution);
  double seconds_of(std::int64_t sweeps, const Execution& execution);
  void try_schedules();
  void try_graphs();
  void try_process_grids();
  bool has_a_choice() const;

  const TuningParts& parts_;
  const Wanted wanted_;
  const TuningBudget budget_;
  Notes& notes_;
  Clock::time_point begun_ = Clock::now();
  double build_seconds_ = 0;
  std::unique_ptr<Runner> runner_;
  Execution best_;
  Extents best_grid_;
  double best_seconds_ = 0;  // per sweep; 0: not measured
  std::int64_t sweeps_used_ = 0;
  std::vector<Measured> tried_;
};

std::unique_ptr<Runner> Chooser::runner_on(const Extents& process_grid) const {
  Case the_case = parts_.the_case;
  the_case.grid.process_grid = process_grid;
  return std::make_unique<Runner>(the_case, RunnerParts{.communicator = parts_.communicator,
                                                        .target = parts_.target,
                                                        .sweep = parts_.sweep,
                                                        .transport = wanted_.transport,
                                                        .proofs = parts_.options.proofs});
}

/// Throws unavailable for a schedule that was asked for and cannot be.
const Schedule& Chooser::schedule_by_rule(Runner& runner) const {
  const std::string& wanted = wanted_.schedule;
  if (!is_open(wanted)) {
    const Schedule& schedule = find_schedule(wanted);
    if (const auto why_not = runner.unavailable(schedule))
      throw Error(ErrorKind::unavailable, fmt::format("schedule {} cannot be used: {}; it needs {}",
                                                      wanted, *why_not, schedule.needs()));
    return schedule;
  }
  return solver::schedule_by_rule(runner,
                                  [this](const Schedule& one) { return may_be_tried(one); });
}

/// Throws unavailable if graphs are asked for and cannot be.
Graphs Chooser::graphs_for(const Runner& runner, const Schedule& schedule) const {
  if (wanted_.graph == GraphOption::off) return Graphs::none;
  std::optional<std::string> why_not = runner.no_graphs_because();
  if (!why_not) why_not = schedule.no_graphs_because();
  const bool is_wanted = wanted_.graph == GraphOption::on;
  if (!why_not) return is_wanted ? Graphs::wherever_possible : Graphs::where_they_pay;
  if (is_wanted)
    throw Error(ErrorKind::unavailable,
                fmt::format("sweeps cannot be recorded in CUDA graphs: {}; set "
                            "option 'graph' to 'auto', or use transport peer",
                            *why_not));
  return Graphs::none;
}

Execution Chooser::execution_of(const Runner& runner, const Schedule& schedule) const {
  return {.schedule = &schedule, .graphs = graphs_for(runner, schedule)};
}

Execution Chooser::rule(Runner& runner) const {
  return execution_of(runner, schedule_by_rule(runner));
}

double Chooser::seconds_used() const {
  return comm::max_over_ranks(parts_.communicator, seconds_since(begun_));
}

/// Whether so many more sweeps may be done, of such a length and after something else.
bool Chooser::can_afford(std::int64_t sweeps, double per_sweep, double other_seconds) const {
  return sweeps_used_ + sweeps <= budget_.sweeps &&
         seconds_used() + static_cast<double>(sweeps) * per_sweep + other_seconds <=
             budget_.seconds;
}

/// Whether one more way may be measured, if it is as fast as the best.
bool Chooser::can_try(double other_seconds) const {
  const Trial trial = trial_of(parts_.the_case, runner_->batch_sweeps());
  return can_afford(trial.sweeps(trial.fewest_timed), best_seconds_,
                    other_seconds + 2 * seconds_of_trial);
}

/// Seconds that so many sweeps take after the first of them, on the slowest rank.
double Chooser::seconds_of(std::int64_t sweeps, const Execution& execution) {
  Case short_case = parts_.the_case;
  short_case.sweeps = sweeps;
  short_case.tolerance = std::nullopt;
  const auto once = [&] {
    const Runner::Result done =
        runner_->run(short_case, execution, [](std::int64_t, const auto&) {});
    sweeps_used_ += sweeps;
    return comm::max_over_ranks(parts_.communicator, done.loop.loop_seconds);
  };
  const double one = once();
  return std::min(one, once());
}

/// Seconds per sweep; nothing if the budget is spent before.
std::optional<double> Chooser::measure(Execution execution) {
  // A trial has no time to find out whether graphs pay.
  if (execution.graphs == Graphs::where_they_pay) execution.graphs = Graphs::wherever_possible;
  runner_->fill_for_trial(parts_.threads);
  const Trial trial = trial_of(parts_.the_case, runner_->batch_sweeps());
  const double of_first = seconds_of(trial.first, execution);
  double per_sweep = of_first / static_cast<double>(trial.first - 1);
  for (std::int64_t timed = trial.fewest_timed;;) {
    if (!can_afford(2 * (trial.first + timed), per_sweep, 0)) return std::nullopt;
    const double seconds = seconds_of(trial.first + timed, execution) - of_first;
    if (seconds >= seconds_of_trial) return seconds / static_cast<double>(timed);
    if (seconds > 0) per_sweep = seconds / static_cast<double>(timed);
    const double wanted = std::min(1.5 * seconds_of_trial / per_sweep, 1e9);
    timed = std::max(2 * timed, static_cast<std::int64_t>(wanted) / trial.unit * trial.unit);
  }
}

void Chooser::consider(const Execution& execution) {
  const std::optional<double> measured = measure(execution);
  if (!measured) return;
  tried_.push_back({.process_grid = runner_->grid().process_grid(),
                    .schedule = std::string(execution.schedule->name()),
                    .in_graphs = execution.graphs != Graphs::none,
                    .seconds_per_sweep = *measured});
  if (tried_.size() > 1 && *measured > (1 - least_gain) * best_seconds_) return;
  best_ = execution;
  best_grid_ = runner_->grid().process_grid();
  best_seconds_ = *measured;
}

void Chooser::try_schedules() {
  if (!is_open(wanted_.schedule)) return;
  const Schedule* by_rule = best_.schedule;
  for (const Schedule* schedule : schedules()) {
    if (schedule == by_rule || !may_be_tried(*schedule) || runner_->unavailable(*schedule))
      continue;
    if (runner_->exchange_info().transports.empty() && schedule->is_about_halos()) continue;
    if (can_try(0)) consider(execution_of(*runner_, *schedule));
  }
}

void Chooser::try_graphs() {
  if (is_open(wanted_.graph) && best_.graphs != Graphs::none && can_try(0))
    consider({best_.schedule, Graphs::none});
}

/// The next best in traffic, and slabs, whose sweeps may send their halos themselves.
std::vector<Extents> Chooser::other_process_grids() const {
  if (wanted_.process_grid.axes() > 0) return {};
  std::vector<Extents> grids =
      grid::process_grids(parts_.communicator.size(), parts_.the_case.grid);
  const auto is_slab = [](const Extents& grid) {
    bool whole_rows = true;
    for (int axis = 0; axis + 1 < grid.axes(); ++axis) whole_rows &= grid[axis] == 1;
    return whole_rows;
  };
  const auto slabs = std::find_if(grids.begin(), grids.end(), is_slab);
  if (slabs != grids.end() && slabs - grids.begin() >= std::ptrdiff_t{most_process_grids})
    std::rotate(grids.begin() + 1, slabs, slabs + 1);
  if (grids.size() > most_process_grids) grids.resize(most_process_grids);
  grids.erase(std::remove(grids.begin(), grids.end(), best_grid_), grids.end());
  return grids;
}

void Chooser::try_process_grids() {
  for (const Extents& process_grid : other_process_grids()) {
    // One to be built for the trial, and again if it is not the last one.
    if (!can_try(2 * build_seconds_)) return;
    const Schedule* best = best_.schedule;
    Execution by_rule;
    runner_.reset();  // its memory may be all there is
    try {
      runner_ = runner_on(process_grid);
      by_rule = rule(*runner_);
    } catch (const Error& error) {
      // One that the schedule asked for does not suit is no news.
      if (error.kind() != ErrorKind::unavailable)
        notes_.add(fmt::format("process grid {} was left out: {}", grid::text_of(process_grid),
                               error.what()));
      if (!runner_) runner_ = runner_on(best_grid_);
      continue;
    }
    consider(by_rule);
    if (is_open(wanted_.schedule) && by_rule.schedule != best && !runner_->unavailable(*best) &&
        can_try(0))
      consider(execution_of(*runner_, *best));
  }
}

/// Whether there is anything that measuring could change, and sweeps to measure with.
bool Chooser::has_a_choice() const {
  // Where no halo moves, the plainest schedule is the rule's unless another is better in all.
  const bool of_schedule =
      is_open(wanted_.schedule) &&
      (!runner_->exchange_info().transports.empty() || best_.schedule != schedules().front());
  const bool of_graphs = is_open(wanted_.graph) && best_.graphs != Graphs::none;
  const Trial trial = trial_of(parts_.the_case, runner_->batch_sweeps());
  return (of_schedule || of_graphs || !other_process_grids().empty()) &&
         2 * trial.sweeps(trial.fewest_timed) <= budget_.sweeps && budget_.seconds > 0;
}

Chosen Chooser::choose() {
  runner_ = runner_on(wanted_.process_grid);
  build_seconds_ = seconds_used();
  best_ = rule(*runner_);
  best_grid_ = runner_->grid().process_grid();
  if (has_a_choice()) {
    begun_ = Clock::now();
    consider(best_);
    if (!tried_.empty()) {
      try_schedules();
      try_graphs();
      try_process_grids();
    }
    if (runner_->grid().process_grid() != best_grid_) {
      runner_.reset();
      runner_ = runner_on(best_grid_);
      // Makes the links of the schedule.
      runner_->unavailable(*best_.schedule);
    }
  }
  Chosen chosen{.runner = std::move(runner_), .execution = best_, .report = {}};
  chosen.report.by = "rule";
  // One alone says nothing.
  if (tried_.size() < 2) return chosen;
  chosen.report = {.by = "measurement",
                   .when = {},
                   .seconds = seconds_used(),
                   .seconds_per_sweep = best_seconds_,
                   .tried = std::move(tried_)};
  return chosen;
}

/// The fields of a record that options leave open.
Wanted completed(Wanted wanted, const TunedExecution& tuned) {
  if (wanted.process_grid.axes() == 0) wanted.process_grid = tuned.process_grid;
  if (is_open(wanted.transport)) wanted.transport = tuned.transport;
  if (is_open(wanted.schedule)) wanted.schedule = tuned.schedule;
  if (is_open(wanted.graph) && !tuned.in_graphs) wanted.graph = GraphOption::off;
  return wanted;
}

TunedExecution record_of(const Chosen& chosen, proof::EnvironmentKey key) {
  return {.key = std::move(key),
          .when = now_in_utc(),
          .process_grid = chosen.runner->grid().process_grid(),
          .transport = chosen.runner->exchange_info().transport(),
          .schedule = std::string(chosen.execution.schedule->name()),
          .in_graphs = chosen.execution.graphs != Graphs::none,
          .seconds_per_sweep = chosen.report.seconds_per_sweep};
}

}  // namespace

TuningBudget tuning_budget(const Case& the_case, const SolveOptions& options) {
  constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
  if (options.tuning_seconds) return {*options.tuning_seconds, any};
  if (options.tuning_file) return {most_seconds, any};
  const std::int64_t sweeps = the_case.tolerance && *the_case.tolerance > 0
                                  ? std::min(the_case.sweeps, most_sweeps_until_converged)
                                  : the_case.sweeps;
  return {most_seconds, static_cast<std::int64_t>(share_of_run * static_cast<double>(sweeps))};
}

Chosen choose_execution(const TuningParts& parts, Notes& notes) {
  const Wanted wanted = wanted_by(parts);
  const TuningBudget budget = tuning_budget(parts.the_case, parts.options);
  if (!parts.options.tuning_file) return Chooser(parts, wanted, budget, notes).choose();

  const std::string& path = *parts.options.tuning_file;
  proof::EnvironmentKey key =
      tuning_key(parts.communicator, parts.the_case, parts.options, parts.target, parts.threads);
  if (const auto tuned = find_tuned(parts.communicator, path, key.hash, notes)) {
    try {
      Chosen chosen = Chooser(parts, completed(wanted, *tuned), {0, 0}, notes).choose();
      chosen.report.by = "file";
      chosen.report.when = tuned->when;
      chosen.report.seconds_per_sweep = tuned->seconds_per_sweep;
      return chosen;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unavailable && error.kind() != ErrorKind::usage) throw;
      notes.add(fmt::format("what '{}' says of such a run cannot be: {}", path, error.what()));
    }
  }
  Chosen chosen = Chooser(parts, wanted, budget, notes).choose();
  if (!chosen.report.tried.empty())
    keep_tuned(parts.communicator, path, record_of(chosen, std::move(key)), notes);
  return chosen;
}

}  // namespace halocline::solver

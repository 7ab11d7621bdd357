// SPDX-License-Identifier: Apache-2.0
#include "solver/engine/tuning.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "comm/collectives.hpp"
#include "grid/decomposition.hpp"
#include "grid/text.hpp"
#include "solver/engine/tuning_file.hpp"
#include "text/utc.hpp"
#include "transport/transport.hpp"

namespace halocline::solver {
namespace {

constexpr double share_of_run = 0.02, most_seconds = 2;
// A run with a tolerance counts as at most so long: when it converges is unknown.
constexpr std::int64_t most_sweeps_until_converged = 1000;
// The least gain over the rule's choice: two measurements of the same execution differ by as much.
constexpr double least_gain = 0.03;
// Many ranks have dozens of process grids, of which those with more traffic are slower.
constexpr std::size_t most_process_grids = 4;

// The least time of the timed sweeps: recording a graph again, and the barriers before and after,
// then do not matter. With 1 ms instead, sequential sweeps of 13 us were measured as 8 us.
constexpr double seconds_of_trial = 0.01;

/// Two runs whose difference is the time of whole units of sweeps, which are batches where the host
/// queues batches on a GPU. Each runs twice, and the shorter time counts.
struct Trial {
  std::int64_t first;         ///< sweeps before the first unit, with costs that only they have
  std::int64_t unit;          ///< sweeps of a unit
  std::int64_t fewest_timed;  ///< sweeps
  std::int64_t sweeps(std::int64_t timed) const { return 2 * first + 2 * (first + timed); }
};

/// Units begin after a batch of single sweeps and a recorded batch; where the host reads the norm
/// of every sweep, after the first two sweeps.
Trial trial_of(const Case& the_case, std::int64_t batch_sweeps) {
  if (batch_sweeps == 1) return {.first = 2, .unit = 1, .fewest_timed = 2};
  return {.first = 2 * batch_sweeps + the_case.halo_depth,
          .unit = batch_sweeps,
          .fewest_timed = 2 * batch_sweeps};
}

using GraphOption = SolveOptions::Graphs;

/// The choices that the options or a tuning file fix; the others are open.
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
  std::vector<std::string> other_transports() const;
  void try_transports();
  const Schedule& schedule_by_rule(Runner& runner) const;
  Execution rule(Runner& runner) const;
  Graphs graphs_for(const Runner& runner, const Schedule& schedule) const;
  Execution execution_of(const Runner& runner, const Schedule& schedule) const;
  /// False if the options require graphs and the schedule has none.
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
  bool graphs_are_open(const Schedule& schedule) const;
  void try_graphs();
  void try_process_grids();
  bool has_a_choice() const;

  const TuningParts& parts_;
  Wanted wanted_;
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

/// Throws unavailable if the options name a schedule that is not available.
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

/// Throws unavailable if the options require graphs and they are not available.
Graphs Chooser::graphs_for(const Runner& runner, const Schedule& schedule) const {
  if (wanted_.graph == GraphOption::off) return Graphs::none;
  std::optional<std::string> why_not = runner.no_graphs_because();
  if (!why_not) why_not = schedule.no_graphs_because();
  const bool is_wanted = wanted_.graph == GraphOption::on;
  if (!why_not && is_wanted) return Graphs::wherever_possible;
  // The host serves a network for every call in a graph: on two H200, laplace in f32 on 16384x16384
  // cells took 364 us a sweep in graphs with nccl over sockets and 279 without
  // (bench/results/h200x2/nccl-between-nodes.txt).
  if (!why_not) return runner.calls_between_nodes() ? Graphs::none : Graphs::where_they_pay;
  if (is_wanted)
    throw Error(ErrorKind::unavailable,
                fmt::format("sweeps cannot be recorded in CUDA graphs: {}; set option 'graph' to "
                            "'auto'{}",
                            *why_not, parts_.target.gpu ? ", or use transport peer" : ""));
  return Graphs::none;
}

Execution Chooser::execution_of(const Runner& runner, const Schedule& schedule) const {
  return {.schedule = &schedule,
          .graphs = graphs_for(runner, schedule),
          .sweeps_per_pass = runner.sweeps_per_pass()};
}

Execution Chooser::rule(Runner& runner) const {
  return execution_of(runner, schedule_by_rule(runner));
}

double Chooser::seconds_used() const {
  return comm::max_over_ranks(parts_.communicator, seconds_since(begun_));
}

/// Returns whether the budget allows `sweeps` more sweeps of `per_sweep` seconds, and
/// `other_seconds`.
bool Chooser::can_afford(std::int64_t sweeps, double per_sweep, double other_seconds) const {
  return sweeps_used_ + sweeps <= budget_.sweeps &&
         seconds_used() + static_cast<double>(sweeps) * per_sweep + other_seconds <=
             budget_.seconds;
}

/// Whether the budget allows one more trial, if it is as fast as the best so far.
bool Chooser::can_try(double other_seconds) const {
  const Trial trial = trial_of(parts_.the_case, runner_->batch_sweeps());
  return can_afford(trial.sweeps(trial.fewest_timed), best_seconds_,
                    other_seconds + 2 * seconds_of_trial);
}

/// Returns the seconds of `sweeps` sweeps without the first, on the slowest rank.
double Chooser::seconds_of(std::int64_t sweeps, const Execution& execution) {
  Case short_case = parts_.the_case;
  short_case.sweeps = sweeps;
  short_case.may_stop = false;
  const auto once = [&] {
    const Runner::Result done =
        runner_->run(short_case, execution, [](std::int64_t, const auto&) {});
    sweeps_used_ += sweeps;
    return comm::max_over_ranks(parts_.communicator, done.loop.loop_seconds);
  };
  const double one = once();
  return std::min(one, once());
}

/// Returns the seconds per sweep; nothing if the budget ends before.
std::optional<double> Chooser::measure(Execution execution) {
  // A trial is too short to find out whether graphs pay.
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
    timed = next_timed(timed, seconds, 1.5 * seconds_of_trial, trial.unit);
  }
}

void Chooser::consider(const Execution& execution) {
  const std::optional<double> measured = measure(execution);
  if (!measured) return;
  tried_.push_back({.process_grid = runner_->grid().process_grid(),
                    .schedule = std::string(execution.schedule->name()),
                    .transport = runner_->exchange_info().transport(),
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
    if (schedule == by_rule || !may_be_tried(*schedule) || !schedule->is_worth_making(*runner_) ||
        runner_->unavailable(*schedule))
      continue;
    if (runner_->exchange_info().transports.empty() && schedule->is_about_halos()) continue;
    if (can_try(0)) consider(execution_of(*runner_, *schedule));
  }
}

/// Whether sweeps may or may not be in graphs.
bool Chooser::graphs_are_open(const Schedule& schedule) const {
  return is_open(wanted_.graph) && !runner_->no_graphs_because() && !schedule.no_graphs_because();
}

void Chooser::try_graphs() {
  if (!graphs_are_open(*best_.schedule) || !can_try(0)) return;
  Execution other = best_;
  other.graphs = best_.graphs == Graphs::none ? Graphs::where_they_pay : Graphs::none;
  consider(other);
}

/// Returns the process grids with the next least traffic, and slabs, whose sweeps can send their
/// own halos.
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

/// Returns the words of option 'transport' for the others that raced between nodes.
std::vector<std::string> Chooser::other_transports() const {
  std::vector<std::string> others;
  exchange::Choice choice = runner_->transports();
  const transport::Transport*& between =
      choice[static_cast<std::size_t>(transport::Pair::other_node)];
  const transport::Transport* const used = between;
  for (const ExchangeInfo::Race& race : runner_->exchange_info().races) {
    if (race.pair != transport::name_of(transport::Pair::other_node)) continue;
    between = &transport::find_transport(race.transport);
    if (between != used) others.push_back(exchange::text_of(choice));
  }
  return others;
}

/// Between nodes the fastest exchange need not make the fastest sweep: with norms gathered over
/// sockets too, laplace in f32 on 4096x4096 cells and two H200 took 78 us a sweep by nccl and 46 by
/// staged, of whose exchanges alone 40 and 36.
void Chooser::try_transports() {
  for (const std::string& transport : other_transports()) {
    if (!can_try(2 * build_seconds_)) return;
    const std::string before = std::exchange(wanted_.transport, transport);
    const double best = best_seconds_;
    runner_.reset();  // two runners may not fit in memory
    try {
      runner_ = runner_on(best_grid_);
      consider(rule(*runner_));
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::communication) throw;
      // The schedule or graphs that the options name may not suit it: no reason for a note.
      if (error.kind() != ErrorKind::unavailable)
        notes_.add(fmt::format("transport {} was left out: {}", transport, error.what()));
    }
    if (best_seconds_ < best) continue;
    wanted_.transport = before;
    runner_.reset();
    runner_ = runner_on(best_grid_);
    runner_->unavailable(*best_.schedule);  // makes the stepper
  }
}

void Chooser::try_process_grids() {
  for (const Extents& process_grid : other_process_grids()) {
    // The time to build a runner for the trial and, if it is not the fastest, another one.
    if (!can_try(2 * build_seconds_)) return;
    const Schedule* best = best_.schedule;
    Execution by_rule;
    runner_.reset();  // two runners may not fit in memory
    try {
      runner_ = runner_on(process_grid);
      by_rule = rule(*runner_);
    } catch (const Error& error) {
      // The schedule that the options name may not suit this process grid: no reason for a note.
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

/// Whether a measurement could change the choice and the budget allows one.
bool Chooser::has_a_choice() const {
  // Without halos, a rule that chooses the simplest schedule leaves no other to try.
  const bool of_schedule =
      is_open(wanted_.schedule) &&
      (!runner_->exchange_info().transports.empty() || best_.schedule != schedules().front());
  const bool of_graphs = graphs_are_open(*best_.schedule);
  const Trial trial = trial_of(parts_.the_case, runner_->batch_sweeps());
  return (of_schedule || of_graphs || !other_process_grids().empty() ||
          !other_transports().empty()) &&
         2 * trial.sweeps(trial.fewest_timed) <= budget_.sweeps && budget_.seconds > 0;
}

Chosen Chooser::choose() {
  runner_ = runner_on(wanted_.process_grid);
  build_seconds_ = seconds_used();
  const std::vector<ExchangeInfo::Race> races = runner_->exchange_info().races;
  best_ = rule(*runner_);
  best_grid_ = runner_->grid().process_grid();
  if (has_a_choice()) {
    begun_ = Clock::now();
    consider(best_);
    if (!tried_.empty()) {
      try_transports();
      try_schedules();
      try_graphs();
      try_process_grids();
    }
    if (runner_->grid().process_grid() != best_grid_) {
      runner_.reset();
      runner_ = runner_on(best_grid_);
      // For its side effect: makes the stepper and its links.
      runner_->unavailable(*best_.schedule);
    }
  }
  Chosen chosen{.runner = std::move(runner_), .execution = best_, .report = {}, .races = races};
  chosen.report.by = "rule";
  // A single measurement is no comparison.
  if (tried_.size() < 2) return chosen;
  chosen.report = {.by = "measurement",
                   .when = {},
                   .seconds = seconds_used(),
                   .seconds_per_sweep = best_seconds_,
                   .tried = std::move(tried_)};
  return chosen;
}

/// Fills the open choices from a record.
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

std::int64_t next_timed(std::int64_t timed, double seconds, double wanted, std::int64_t unit) {
  constexpr std::int64_t most_times = 10;
  if (seconds * static_cast<double>(most_times) <= wanted) return most_times * timed;
  const double sweeps = wanted / seconds * static_cast<double>(timed);
  return std::max(2 * timed, static_cast<std::int64_t>(sweeps) / unit * unit);
}

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
      notes.add(
          fmt::format("the choice stored in '{}' cannot be used here: {}", path, error.what()));
    }
  }
  Chosen chosen = Chooser(parts, wanted, budget, notes).choose();
  if (!chosen.report.tried.empty())
    keep_tuned(parts.communicator, path, record_of(chosen, std::move(key)), notes);
  else
    notes.add(
        fmt::format("nothing was kept in '{}': there was nothing to choose by measuring", path));
  return chosen;
}

}  // namespace halocline::solver

// SPDX-License-Identifier: Apache-2.0
#include "solver/trial_of_passes.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "comm/collectives.hpp"
#include "device/gpu.hpp"
#include "program/copy_cells.hpp"
#include "solver/run_files/requests.hpp"

namespace halocline::solver {
namespace {

using Compiling = stencil::Backend::Compiling;

constexpr double most_trial_seconds = 0.2;
constexpr std::int64_t fewest_sweeps_of_trial = 2 * stencil::most_sweeps_of_pass;

bool is_ready(const std::future<bool>& future) {
  return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

}  // namespace

TrialOfPasses::TrialOfPasses(const Parts& parts)
    : parts_(parts),
      with_passes_(parts.the_case),
      trial_seconds_(std::min(most_trial_seconds,
                              parts.options.tuning_seconds.value_or(most_trial_seconds) / 2)) {
  if (nothing_to_try()) return;
  sweeps_per_pass_ =
      parts_.target.backend->suggested_sweeps_of_pass(*with_passes_.model, with_passes_.norm);
  with_passes_.grid.process_grid = parts_.chosen.runner->grid().process_grid();
  try {
    allow_passes(with_passes_, sweeps_per_pass_, parts_.communicator);
  } catch (const Error&) {  // the same on every rank: parts are too thin
    sweeps_per_pass_ = 1;
  }
  // A checkpoint has the levels and halos of single sweeps, and may be gone when passes begin.
  if (with_passes_.restart && !fit(parts_.chosen.runner->the_case())) sweeps_per_pass_ = 1;
  parts_.sweep_options.sweeps_per_pass = sweeps_per_pass_;
  parts_.sweep_options.largest_part = largest_part(with_passes_, parts_.communicator.size());
}

/// Whether a runner of single sweeps has the halos and levels that passes take.
bool TrialOfPasses::fit(const Case& singly) const {
  return with_passes_.halo_depth == singly.halo_depth && with_passes_.levels() == singly.levels();
}

bool TrialOfPasses::nothing_to_try() const {
  const std::string& schedule = parts_.options.schedule;
  return no_passes_because(with_passes_, *parts_.target.backend) ||
         (schedule != "auto" && !find_schedule(schedule).does_passes()) || trial_seconds_ <= 0 ||
         parts_.chosen.runner->no_passes_because();
}

Runner::Result TrialOfPasses::run(const Runner::AfterSweep& after_sweep, const RunState& start,
                                  RunPauses& run_pauses, Notes& notes) {
  after_sweep_ = after_sweep;
  run_pauses_ = &run_pauses;
  at_ = start;
  Chosen& chosen = parts_.chosen;
  const Stretch singly =
      run_until([this](double seconds, std::int64_t sweeps) { return may_begin(seconds, sweeps); },
                *chosen.runner, chosen.execution);
  if (singly.is_last) return std::move(sum_);
  std::optional<Execution> passes;
  try {
    passes = make_passes();
  } catch (const Error& error) {  // the same on every rank
    if (error.kind() == ErrorKind::communication) throw;
    notes.add(
        fmt::format("several sweeps in one pass over memory were not tried: {}", error.what()));
    other_.reset();
    run_until(nullptr, *chosen.runner, chosen.execution);
    return std::move(sum_);
  }

  Runner& runner = other_ ? *other_ : *chosen.runner;
  const auto is_tried = [this](double seconds, std::int64_t sweeps) {
    return seconds >= trial_seconds_ && sweeps >= fewest_sweeps_of_trial;
  };
  const Stretch by_passes = run_until(is_tried, runner, *passes);
  const bool goes_on = by_passes.is_last ||
                       rules.prefers_passes(by_passes.seconds_per_sweep, singly.seconds_per_sweep);
  report(singly, *passes, by_passes, goes_on);
  if (goes_on) {
    if (other_) chosen.runner = std::move(other_);
    chosen.execution = *passes;
  } else if (other_) {
    move(*other_, *chosen.runner);
    other_.reset();
  } else {
    chosen.runner->allow_passes(1);
  }
  if (!by_passes.is_last) run_until(nullptr, *chosen.runner, chosen.execution);
  return std::move(sum_);
}

/// Whether kernels are at hand and the run is long enough. Compiles them if it is longer.
bool TrialOfPasses::may_begin(double seconds, std::int64_t sweeps) {
  const double left = seconds_left(seconds, sweeps);
  if (seconds < trial_seconds_ || sweeps < fewest_sweeps_of_trial || left < rules.worth_a_trial)
    return false;
  if (compilation_.valid()) return is_ready(compilation_);
  const auto have_kernels = [backend = parts_.target.backend, gpu = parts_.target.gpu,
                             model = with_passes_.model,
                             options = parts_.sweep_options](Compiling compiling) {
    if (gpu) device::use(gpu->gpu);
    return backend->has_passes_at_hand(*model, options, compiling);
  };
  if (!std::exchange(has_looked_, true)) {
    try {
      if (have_kernels(Compiling::forbidden)) return true;
    } catch (const Error&) {  // the compilation, if it comes to that, throws it again
    }
  }
  if (seconds >= rules.before_compiling && left >= rules.worth_compiling)
    compilation_ = std::async(std::launch::async, have_kernels, Compiling::allowed);
  return false;
}

/// A run that a norm may end is taken to last as long again as it has.
double TrialOfPasses::seconds_left(double seconds, std::int64_t sweeps) const {
  const auto left = static_cast<double>(with_passes_.sweeps - at_.sweep - sweeps);
  const double by_sweeps = left * seconds / static_cast<double>(std::max<std::int64_t>(sweeps, 1));
  return with_passes_.tolerance ? std::min(by_sweeps, seconds) : by_sweeps;
}

TrialOfPasses::Stretch TrialOfPasses::run_until(const Ends& ends, Runner& runner,
                                                const Execution& execution) {
  const auto begun = Clock::now();
  std::int64_t sweeps = at_.sweep;
  bool is_asked = false, is_others = false, has_ended = false;
  Requests requests(parts_.communicator, [&] {
    const bool mine =
        parts_.communicator.rank() == 0 && ends && ends(seconds_since(begun), sweeps - at_.sweep);
    return mine ? Request::stop : Request::none;
  });
  Pauses pauses = run_pauses_->pauses(execution.sweeps_per_pass);
  if (ends)
    pauses.is_requested = [&, others = pauses.is_requested](std::int64_t now) {
      sweeps = now;
      is_others = others && others(now);
      is_asked = is_asked || requests.agreed(now) == Request::stop;
      return is_others || is_asked;
    };
  // What is due after the same sweep is done when the next stretch begins.
  pauses.on_pause = [&, others = pauses.on_pause](std::int64_t now, std::size_t level,
                                                  Stopping& stopping) {
    if (!is_asked || is_others) return others(now, level, stopping);
    run_pauses_->end_check(now, level);
    has_ended = run_pauses_->has_right_bits();
    return Pauses::Next::end;
  };
  const Case& the_case = execution.sweeps_per_pass > 1 ? with_passes_ : parts_.the_case;
  Runner::Result done = runner.run(the_case, execution, after_sweep_, at_, pauses);
  requests.finish();
  const std::int64_t timed = done.loop.sweeps - at_.sweep - (at_.continues ? 0 : 1);
  Stretch stretch{.is_last = !has_ended || done.stopping->converged() || done.stopping->diverged(),
                  .seconds = comm::max_over_ranks(parts_.communicator, done.loop.loop_seconds)};
  stretch.seconds_per_sweep =
      stretch.seconds / static_cast<double>(std::max<std::int64_t>(timed, 1));
  add(std::move(done));
  return stretch;
}

void TrialOfPasses::add(Runner::Result next) {
  if (at_.continues) {
    next.loop.exchanges += sum_.loop.exchanges;
    next.loop.sweeps_in_graphs += sum_.loop.sweeps_in_graphs;
    next.loop.sweeps_in_passes += sum_.loop.sweeps_in_passes;
    next.loop.first_sweep_seconds += sum_.loop.first_sweep_seconds;
    next.loop.loop_seconds += sum_.loop.loop_seconds;
  }
  sum_ = std::move(next);
  at_ = {.sweep = sum_.loop.sweeps,
         .level = sum_.loop.level,
         .norms = sum_.stopping->history(),
         .continues = true};
}

/// Makes what passes need and gives them the state of the run; its time is the run's.
Execution TrialOfPasses::make_passes() {
  const auto begun = Clock::now();
  Chosen& chosen = parts_.chosen;
  comm::together(parts_.communicator, [&] {
    if (compilation_.valid()) compilation_.get();
  });
  parts_.sweep.make_passes(parts_.sweep_options);
  const auto require_several = [](const Runner& runner) {
    if (runner.sweeps_per_pass() == 1)
      throw Error(ErrorKind::unavailable, "no kernel of several fits the fields");
  };
  if (fit(chosen.runner->the_case())) {
    chosen.runner->allow_passes(sweeps_per_pass_);
    require_several(*chosen.runner);
  } else {
    const std::string transport = chosen.runner->exchange_info().transport();
    other_ = std::make_unique<Runner>(
        with_passes_,
        RunnerParts{.communicator = parts_.communicator,
                    .target = parts_.target,
                    .sweep = parts_.sweep,
                    .transport = transport.empty() ? parts_.options.transport : transport,
                    .proofs = parts_.options.proofs});
    require_several(*other_);
    other_->fill(parts_.sweep_options.threads);
    move(*chosen.runner, *other_);
  }
  Runner& runner = other_ ? *other_ : *chosen.runner;
  const Schedule& schedule = chosen.execution.schedule->does_passes() ? *chosen.execution.schedule
                                                                      : find_schedule("sequential");
  const bool in_graphs =
      parts_.options.graph != SolveOptions::Graphs::off && !runner.no_graphs_because();
  sum_.loop.loop_seconds += seconds_since(begun);
  return {.schedule = &schedule,
          .graphs = in_graphs ? Graphs::where_they_pay : Graphs::none,
          .sweeps_per_pass = runner.sweeps_per_pass()};
}

void TrialOfPasses::move(const Runner& from, Runner& to) {
  comm::together(parts_.communicator, [&] {
    for (std::size_t f = 0; f < with_passes_.model->fields.size(); ++f)
      program::copy_owned(from.levels()[at_.level][f], to.levels()[0][f]);
  });
  at_.level = 0;
  run_pauses_->follow(to);
}

void TrialOfPasses::report(const Stretch& singly, const Execution& passes, const Stretch& by_passes,
                           bool goes_on) {
  const Chosen& chosen = parts_.chosen;
  SolveResult::Choice& choice = parts_.chosen.report;
  const auto way_of = [&](const Execution& execution, const Stretch& stretch) {
    return SolveResult::Choice::Tried{.process_grid = chosen.runner->grid().process_grid(),
                                      .schedule = std::string(execution.schedule->name()),
                                      .transport = chosen.runner->exchange_info().transport(),
                                      .in_graphs = execution.graphs != Graphs::none,
                                      .sweeps_per_pass = execution.sweeps_per_pass,
                                      .seconds_per_sweep = stretch.seconds_per_sweep};
  };
  const SolveResult::Choice::Tried single = way_of(chosen.execution, singly);
  // The run itself is the better measurement.
  std::erase_if(choice.tried, [&](const SolveResult::Choice::Tried& earlier) {
    return earlier.process_grid == single.process_grid && earlier.schedule == single.schedule &&
           earlier.transport == single.transport && earlier.in_graphs == single.in_graphs;
  });
  choice.tried.push_back(single);
  choice.tried.push_back(way_of(passes, by_passes));
  choice.by = "measurement";
  choice.seconds += by_passes.seconds;
  choice.seconds_per_sweep = (goes_on ? by_passes : singly).seconds_per_sweep;
}

}  // namespace halocline::solver

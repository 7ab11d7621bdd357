// SPDX-License-Identifier: Apache-2.0
#include "solver/run_files/run_pauses.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text/words.hpp"
#include "comm/collectives.hpp"
#include "program/shares.hpp"

namespace halocline::solver {
namespace {

// Reading all fields takes 0.03 of a sweep of gray_scott (512x512) and 0.8 of one of shallow_water
// (2048x2048) on a Xeon: at most 1 % of the run.
constexpr std::int64_t sweeps_between_looks = 64;

bool has_lost_a_rank(const Attempts& attempts) {
  return attempts.error() && attempts.error()->kind() == ErrorKind::communication;
}

}  // namespace

RunPauses::RunPauses(const Communicator& communicator, const Case& the_case,
                     const SolveOptions& options, const problem::ProblemText& problem)
    : communicator_(communicator), case_(the_case), options_(options) {
  if (options.checkpoint || the_case.output_every) writer_.emplace(communicator, options.writing);
  if (options.checkpoint) checkpoints_.emplace(writer_->communicator(), the_case, options, problem);
}

void RunPauses::open(const Runner& runner, const Target& target, int threads) {
  runner_ = &runner;
  target_ = &target;
  threads_ = threads;
  const Grid& grid = grid_.emplace(runner.grid());
  outputs_.emplace(writer_ ? writer_->communicator() : communicator_, grid, case_);
  if (case_.has_series()) series_.emplace(communicator_, grid, case_, threads);
  if (series_ && case_.restart) series_->resume(case_.restart->rows);
  if (options_.checkpoint || options_.stop_request)
    requests_.emplace(communicator_, [this] { return request(); });
  if (writer_)
    writer_->take_room(grid, runner.levels()[0],
                       fields_of({.output = case_.output_every.has_value(),
                                  .checkpoint = checkpoints_.has_value()}),
                       target);
  if (options_.verify_every) spot_check_.emplace(case_, grid);
}

std::string RunPauses::reason_to_stop() const {
  return options_.stop_request ? options_.stop_request() : std::string();
}

/// Returns the request of this rank.
Request RunPauses::request() const {
  if (!reason_to_stop().empty()) return Request::stop;
  const bool is_time = checkpoints_ && communicator_.rank() == 0 && !writer_->is_busy() &&
                       checkpoints_->is_due_by_clock();
  return is_time ? Request::checkpoint : Request::none;
}

Pauses RunPauses::pauses(std::int64_t sweeps_per_pass) {
  if (options_.verify_every) sweeps_of_check_ = std::min(*options_.verify_every, sweeps_per_pass);
  Pauses pauses{.on_pause = [this](std::int64_t sweeps, std::size_t level, Stopping& stopping) {
    return pause(sweeps, level, stopping);
  }};
  if (requests_)
    pauses.is_requested = [this](std::int64_t sweeps) {
      requested_ = requests_->agreed(sweeps);
      return requested_ != Request::none;
    };
  for (const Interval& one : intervals()) pauses.intervals.push_back(one.sweeps);
  if (checks_values()) pauses.intervals.push_back(sweeps_between_looks);
  if (spot_check_) pauses.later = Pauses::Later{*options_.verify_every, sweeps_of_check_};
  return pauses;
}

void RunPauses::end_check(std::int64_t sweeps, std::size_t level) {
  if (!spot_check_) return;
  check_bits(sweeps, runner_->levels()[level]);
  spot_check_->give_up();
}

std::vector<RunPauses::Interval> RunPauses::intervals() const {
  std::vector<Interval> all;
  if (checkpoints_ && options_.checkpoint_every)
    all.push_back({"a checkpoint", *options_.checkpoint_every});
  if (case_.output_every) all.push_back({"output", *case_.output_every});
  if (series_) all.push_back({"a row of the series", case_.series_every});
  if (spot_check_) all.push_back({"a check of bits", *options_.verify_every});
  return all;
}

Pauses::Next RunPauses::pause(std::int64_t sweeps, std::size_t level, Stopping& stopping) {
  using Next = Pauses::Next;
  const Level& fields = runner_->levels()[level];
  check_bits(sweeps, fields);
  if (!has_right_bits()) return Next::end;
  if (spot_check_ && sweeps % *options_.verify_every == 0)
    comm::together(communicator_, [&] {
      spot_check_->take(fields, runner_->coefficients(), sweeps, sweeps_of_check_);
    });
  const bool has_row = series_ && sweeps % case_.series_every == 0;
  const bool has_output = case_.output_every && sweeps % *case_.output_every == 0;
  // Not for probes alone, which take no time. Outputs, the row and the cell that is not finite
  // follow as at the end of every run.
  const bool is_time =
      has_output || (has_row && !case_.sums.empty()) || sweeps % sweeps_between_looks == 0;
  if (sweeps > 0 && is_time && checks_values() && !is_finite(fields)) return Next::end;
  if (has_row) series_->add(fields, sweeps);
  std::optional<Due> due = due_after(sweeps, stopping);
  const bool ends_by_norm = !due;
  if (!due) due.emplace();
  due->output = has_output;
  write(sweeps, fields, std::move(*due));
  if (requested_ != Request::stop) return ends_by_norm ? Next::end : Next::resume;
  stopped_by_ = comm::first_text(communicator_, reason_to_stop());
  return Next::end;
}

/// Searches for values that are not finite. The norm finds those of its fields; others would have
/// to be copied from a GPU.
bool RunPauses::checks_values() const { return case_.model->fields.size() > 1 && !target_->gpu; }

bool RunPauses::is_finite(const Level& level) const {
  const bool is_here = std::all_of(level.begin(), level.end(), [&](const FieldStorage& field) {
    return program::is_finite(field, threads_);
  });
  return comm::max_over_ranks(communicator_, std::int64_t{is_here ? 0 : 1}) == 0;
}

/// Compares the bits of the last sweeps, if they are to be checked.
void RunPauses::check_bits(std::int64_t sweeps, const Level& level) {
  if (!spot_check_) return;
  std::string wrong;
  comm::together(communicator_, [&] { wrong = spot_check_->compare(level, sweeps); });
  if (!wrong.empty())
    wrong = fmt::format("after {} on rank {}{} {}", counted(sweeps, "sweep"), communicator_.rank(),
                        target_->gpu ? fmt::format(" ({})", target_->gpu->gpu.uuid) : "", wrong);
  wrong_bits_ = comm::first_text(communicator_, wrong);
}

/// Returns nothing if the run ends here by its norm, which the last sweep has and no rank has seen
/// yet: then the end of the run saves it.
std::optional<RunPauses::Due> RunPauses::due_after(std::int64_t sweeps, Stopping& stopping) const {
  const std::int64_t begun_at = case_.restart ? case_.restart->state.sweep : 0;
  const bool is_time =
      requested_ != Request::none || (checkpoints_ && checkpoints_->is_due_at(sweeps));
  if (!checkpoints_ || !is_time || sweeps == begun_at) return Due();
  Due due{.checkpoint = true, .norms = stopping.history()};
  if (const auto norm = stopping.norm_of_last(sweeps)) {
    if (stopping.would_stop(*norm)) return std::nullopt;
    due.norms.emplace_back(sweeps - 1, *norm);
  }
  return due;
}

std::set<std::size_t> RunPauses::fields_of(const Due& due) const {
  std::set<std::size_t> fields;
  if (due.output)
    for (const Case::Output& output : case_.outputs)
      fields.insert(output.fields.begin(), output.fields.end());
  if (due.checkpoint)
    for (std::size_t field = 0; field < case_.model->fields.size(); ++field) fields.insert(field);
  return fields;
}

void RunPauses::write(std::int64_t sweeps, const Level& level, Due due) {
  const std::set<std::size_t> fields = fields_of(due);
  if (fields.empty()) return;
  finish_writing();
  writer_->start(level, fields,
                 [this, sweeps, due = std::move(due), rows = rows()](const Level& copies) {
                   if (due.output) {
                     Attempts now;
                     now.attempt([&] { outputs_->write_some(copies, sweeps, now); });
                     writing_.attempt([&] { now.finish(); });
                     report_trouble(sweeps, now, "it is not tried again before the end");
                   }
                   if (!due.checkpoint || has_lost_a_rank(writing_)) return;
                   checkpoints_->write({.grid = *grid_,
                                        .level = copies,
                                        .coefficients = runner_->coefficients(),
                                        .sweeps = sweeps,
                                        .norms = due.norms,
                                        .rows = rows},
                                       saving_);
                   report_trouble(sweeps, saving_, "the next checkpoint is tried when it is due");
                 });
}

/// A lost rank ends the run, whose error reports it.
void RunPauses::report_trouble(std::int64_t sweeps, const Attempts& attempts,
                               const char* then) const {
  if (!attempts.error() || has_lost_a_rank(attempts)) return;
  if (communicator_.rank() == 0 && options_.on_trouble)
    options_.on_trouble(fmt::format("after {}: {}; the run continues, and {}",
                                    counted(sweeps, "sweep"), attempts.error()->what(), then));
}

/// Another rank that is lost ends the run now; other failures are reported at the end.
void RunPauses::finish_writing() {
  writer_->finish();
  for (const Attempts* attempts : {&writing_, &saving_})
    if (has_lost_a_rank(*attempts)) attempts->finish();
}

std::vector<SolveResult::Series::Row> RunPauses::rows() const {
  return series_ ? series_->so_far().rows : std::vector<SolveResult::Series::Row>();
}

void RunPauses::finish(std::int64_t sweeps, const Level& level) {
  if (requests_) requests_->finish();
  if (writer_) {
    finish_writing();
    writer_->release();
  }
  if (!spot_check_) return;
  if (has_right_bits()) check_bits(sweeps, level);
  cells_checked_ = static_cast<std::int64_t>(comm::sum_over_ranks(
      communicator_, static_cast<std::uint64_t>(spot_check_->cells_checked())));
}

bool RunPauses::has_right_bits() const { return wrong_bits_.empty(); }

std::optional<std::int64_t> RunPauses::saved() const {
  return checkpoints_ ? checkpoints_->newest() : std::nullopt;
}

void RunPauses::end_series(const Level& result_level, SolveResult& result) {
  if (!series_) return;
  series_->add(result_level, result.sweeps);
  result.series = series_->so_far();
}

void RunPauses::report(SolveResult& result, Notes& notes) const {
  result.stopped_by = stopped_by_;
  if (checkpoints_) {
    result.checkpoints = checkpoints_->so_far();
    checkpoints_->note(notes);
  }
  if (writer_) result.writing = writer_->so_far();
  if (spot_check_)
    result.spot_checks = {
        .sweeps = spot_check_->sweeps_checked(), .cells = cells_checked_, .wrong = wrong_bits_};
  for (const Interval& one : intervals())
    if (const std::int64_t of_pass = result.sweeps_per_pass; one.sweeps % of_pass != 0)
      notes.add(
          fmt::format("{} after every {} ends passes over memory early: with a multiple of {} "
                      "none ends early",
                      one.what, counted(one.sweeps, "sweep"), of_pass));
}

/// A run can also be continued from its end, with more sweeps.
void RunPauses::save_end(const Level& result_level, const SolveResult& result, Attempts& attempts) {
  attempts = writing_;
  if (!checkpoints_) return;
  attempts.attempt([&] {
    if (has_right_bits())
      checkpoints_->write({.grid = *grid_,
                           .level = result_level,
                           .coefficients = runner_->coefficients(),
                           .sweeps = result.sweeps,
                           .norms = result.norm_history,
                           .rows = rows()},
                          saving_);
    saving_.finish();
  });
}

void RunPauses::write_end(const Level& result_level, SolveResult& result, Attempts& attempts,
                          Notes& notes) {
  outputs_->write_last(result_level, result.sweeps, attempts);
  outputs_->report(result, notes);
}

}  // namespace halocline::solver

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include <halocline/error.hpp>
#include <halocline/solver.hpp>

#include "base/files/temporary_file.hpp"
#include "base/text/notes.hpp"
#include "base/text/words.hpp"
#include "comm/collectives.hpp"
#include "files/attempts.hpp"
#include "machine/cores.hpp"
#include "problem/written.hpp"
#include "program/copy_cells.hpp"
#include "program/shares.hpp"
#include "solver/alone.hpp"
#include "solver/baseline.hpp"
#include "solver/case.hpp"
#include "solver/engine/levels.hpp"
#include "solver/engine/tuning.hpp"
#include "solver/options.hpp"
#include "solver/run_files/outputs.hpp"
#include "solver/run_files/restart.hpp"
#include "solver/run_files/run_pauses.hpp"
#include "solver/run_files/series.hpp"
#include "solver/run_files/trace.hpp"
#include "solver/target.hpp"
#include "solver/verify.hpp"

namespace halocline {
namespace {

using solver::Case;

Spread spread_over_ranks(const Communicator& communicator, double mine) {
  const std::vector<double> all = comm::gather_all(communicator, mine);
  return {*std::min_element(all.begin(), all.end()),
          std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size()),
          *std::max_element(all.begin(), all.end())};
}

/// One solve, from options to result.
class SolveRun {
 public:
  SolveRun(const Communicator& communicator, const SolveOptions& options,
           const problem::ProblemText& problem,
           const std::shared_ptr<const solver::Restart>& restart)
      : communicator_(communicator),
        options_(options),
        problem_(problem),
        case_(solver::make_case(options, communicator.size(), problem)) {
    case_.restart = restart;
  }

  SolveResult run();

 private:
  SolveResult end();
  void prepare();
  void check_arrays() const;
  void give_arrays();
  void note_files_that_are_not_read();
  void note_crowding();
  void loop();
  void measure();
  void note_growth();
  void find_what_is_not_finite();
  void verify();
  void compare_with_one_rank();
  void take_notes_of(const solver::Baseline& alone);
  solver::RunState start() const;
  void write_series(const std::string& path);
  void say_what_ran();
  /// The result, in memory that the host can read.
  const solver::Level& answer() const { return answer_; }
  double glups_of(double sweeps, double seconds) const;
  const Grid& grid() const { return chosen_.runner->grid(); }
  const ExchangeInfo& exchange() const { return chosen_.runner->exchange_info(); }

  Communicator communicator_;
  const SolveOptions& options_;
  const problem::ProblemText& problem_;
  Case case_;
  Clock::time_point begun_ = Clock::now();
  stencil::SweepOptions sweep_options_;
  solver::Target target_;
  std::unique_ptr<stencil::Sweep> sweep_;
  solver::Chosen chosen_;
  Attempts attempts_;
  std::size_t last_level_ = 0;
  solver::Level answer_;
  Notes notes_;
  SolveResult result_;
  std::optional<solver::RunPauses> run_pauses_;  // last: it ends before what it writes
};

void SolveRun::prepare() {
  run_pauses_.emplace(communicator_, case_, options_, problem_);
  solver::check_files(communicator_, options_, case_);
  target_ = solver::choose_target(communicator_, options_, notes_, &case_);
  comm::together(communicator_, [&] {
    const Grid grid(communicator_, case_.grid);
    solver::check_memory(communicator_, case_, grid, target_);
    solver::check_memory_alone(communicator_, case_, grid, target_, options_);
  });
  sweep_options_ = {
      .threads = options_.threads > 0 ? options_.threads : machine::default_threads(communicator_),
      .ranks_on_node = communicator_.node_size(),
      .simd = options_.simd,
      .in_bricks = case_.brick.axes() > 0};
  stencil::SweepOptions together = sweep_options_;
  together.communicator = &communicator_;
  together.norms = {case_.norm};
  if (case_.norm != Norm::none && case_.norm_every > 1) together.norms.push_back(Norm::none);
  comm::together(communicator_, [&] { sweep_ = target_.backend->make(*case_.model, together); });
  chosen_ = solver::choose_execution({.communicator = communicator_,
                                      .the_case = case_,
                                      .options = options_,
                                      .target = target_,
                                      .sweep = *sweep_,
                                      .threads = sweep_options_.threads},
                                     notes_);
  comm::together(communicator_, [&] { check_arrays(); });
  chosen_.runner->fill(sweep_options_.threads);
  note_files_that_are_not_read();
  run_pauses_->open(*chosen_.runner, target_, sweep_options_.threads);
  if (!target_.gpu) note_crowding();
  for (const std::string& note : chosen_.runner->notes().all()) notes_.add(note);
}

void SolveRun::check_arrays() const {
  const FieldStorage& field = chosen_.runner->levels()[0][0];  // all have its shape
  for (const SolveOptions::Array& array : options_.arrays) {
    std::string why_not = program::cannot_copy_because(array.cells, field);
    const std::string order = array.cells.layout().order(), ours = field.layout().order();
    if (why_not.empty() && program::is_for_gpu(array.cells) && order != ours)
      why_not =
          fmt::format("its axes are in the order {}, but on a GPU it has to be {}", order, ours);
    if (!why_not.empty())
      throw Error(ErrorKind::usage,
                  fmt::format("array '{}' does not fit the run: {}", array.name, why_not));
  }
}

/// To a GPU's memory from where the result lies.
void SolveRun::give_arrays() {
  comm::together(communicator_, [&] {
    for (const auto& [field, array] : case_.result_arrays)
      program::copy_owned(program::is_for_gpu(array) ? chosen_.runner->levels()[last_level_][field]
                                                     : answer()[field],
                          array);
  });
}

void SolveRun::note_files_that_are_not_read() {
  if (!case_.restart) return;
  for (const problem::ModelCoefficient& coefficient : case_.model->coefficients)
    if (coefficient.values.file && case_.restart->has(coefficient.name))
      notes_.add(fmt::format("'{}' has the values of the checkpoint; '{}' was not read again",
                             coefficient.name, *coefficient.values.file));
}

void SolveRun::note_crowding() {
  const int cores = machine::node_cores(communicator_);
  const bool are_bound_alike = machine::are_bound_alike(communicator_);
  const int wanted = communicator_.node_size() * sweep_options_.threads;
  if (wanted > cores)
    notes_.add(
        fmt::format("{} with {} each share {} of a node: "
                    "times are unreliable",
                    counted(communicator_.node_size(), "rank"),
                    counted(sweep_options_.threads, "thread"), counted(cores, "core")));
  else if (are_bound_alike)
    notes_.add(
        "OpenMP binds threads here (OMP_PROC_BIND, OMP_PLACES, GOMP_CPU_AFFINITY), those of all "
        "ranks to the same cores, so they take turns: let the launcher give each rank cores of its "
        "own (mpirun --map-by slot:PE=N --bind-to core), or unset these variables");
}

double SolveRun::glups_of(double sweeps, double seconds) const {
  return seconds > 0 ? static_cast<double>(case_.cells()) * sweeps / seconds / 1e9 : 0;
}

solver::RunState SolveRun::start() const {
  return case_.restart ? solver::start_of(*case_.restart, case_) : solver::RunState{};
}

void SolveRun::write_series(const std::string& path) {
  comm::on_first_rank(communicator_, [&] {
    write_text_file(path, solver::csv_of(*result_.series), Otherwise::use_working_folder);
  });
}

void SolveRun::loop() {
  result_.schedule = chosen_.execution.schedule->name();
  result_.halos_by_sweeps = chosen_.execution.schedule->halos_by_sweeps(*chosen_.runner);
  result_.compile_seconds = comm::max_over_ranks(
      communicator_, sweep_->compile_seconds() + chosen_.runner->compile_seconds());
  result_.setup_seconds = comm::max_over_ranks(communicator_, seconds_since(begun_));

  const auto loop_begun = Clock::now();
  auto last_told = loop_begun;
  const bool tells = communicator_.rank() == 0 && options_.on_progress != nullptr;
  const auto after_sweep = [&](std::int64_t sweep, const solver::Stopping& stopping) {
    if (!tells || seconds_since(last_told) < 0.5) return;
    last_told = Clock::now();
    const double seconds = seconds_since(loop_begun);
    options_.on_progress(
        {.sweep = sweep + 1,
         .sweeps = case_.sweeps,
         .first = start().sweep,
         .norm = stopping.history().empty() ? std::nullopt
                                            : std::optional(stopping.history().back().second),
         .seconds = seconds,
         .glups = glups_of(static_cast<double>(sweep + 1 - start().sweep), seconds),
         .saved = run_pauses_->saved()});
  };
  const auto [done, stopping] =
      chosen_.runner->run(case_, chosen_.execution, after_sweep, start(), run_pauses_->pauses());
  last_level_ = done.level;
  const solver::Level& last = chosen_.runner->levels()[last_level_];
  run_pauses_->finish(done.sweeps, last);
  answer_ = solver::seen_by_host(last, grid());
  result_.sweeps = done.sweeps;
  run_pauses_->end_series(answer_, result_);
  result_.exchanges = done.exchanges;
  result_.sweeps_in_graphs = done.sweeps_in_graphs;
  result_.converged = stopping->converged();
  result_.diverged = stopping->diverged();
  result_.norm_history = stopping->history();
  result_.first_sweep_seconds = comm::max_over_ranks(communicator_, done.first_sweep_seconds);
  result_.loop_seconds = comm::max_over_ranks(communicator_, done.loop_seconds);
  if (stopping->was_close())
    notes_.add(
        "the L2 norm came so near the tolerance that rounding decides: on another number of ranks "
        "the run may stop one sweep earlier or later");
  if (result_.diverged)
    notes_.add(fmt::format("the norm of sweep {} is not finite: the run diverged",
                           result_.norm_history.back().first));
  note_growth();
}

/// Of a problem that has no condition for it. A sweep changes a stable field less and less, or by
/// about as much as before.
void SolveRun::note_growth() {
  constexpr double much = 1e6;
  const auto& norms = result_.norm_history;
  const auto first =
      std::find_if(norms.begin(), norms.end(), [](const auto& norm) { return norm.second > 0; });
  // A source that sets in makes the first norms small.
  const bool begins_at_rest = case_.least_norm > 0;
  if (case_.model->has_requirements || begins_at_rest || first == norms.end()) return;
  const double last = norms.back().second;
  if (!(last >= much * first->second)) return;
  notes_.add(
      fmt::format("the {} norm has grown from {:.3g} to {:.3g}: unless the problem is so, its step "
                  "is too large for its formulas; a condition under [require] refuses such a step",
                  name_of(case_.norm), first->second, last));
}

/// A sum shows it: nearly all of them are finite, and need no second look. What a run began with is
/// its user's affair.
void SolveRun::find_what_is_not_finite() {
  if (result_.sweeps == 0) return;
  const Int3& cells = grid().cells().values();
  for (std::size_t f = 0; f < answer().size() && !result_.not_finite; ++f) {
    if (std::isfinite(result_.fields[f].sum)) continue;
    constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
    const std::int64_t first = -comm::max_over_ranks(
        communicator_, -program::first_not_finite(answer()[f], grid()).value_or(none));
    if (first == none) continue;  // a sum of large numbers
    const Int3 cell{first % cells.x, first / cells.x % cells.y, first / cells.x / cells.y};
    result_.not_finite = {.field = result_.fields[f].name, .cell = cell};
  }
}

void SolveRun::measure() {
  const std::int64_t swept = result_.sweeps - start().sweep;
  result_.glups = swept <= 1 ? glups_of(static_cast<double>(swept), result_.first_sweep_seconds)
                             : glups_of(static_cast<double>(swept - 1), result_.loop_seconds);
  // At best, each update reads every value once and writes every new one.
  result_.gigabytes_per_second =
      result_.glups * static_cast<double>(problem::effort_of(*case_.model).bytes);

  const Recorder& recorder = comm::recorder(communicator_);
  double exchange_seconds = 0;
  for (std::size_t p = 0; p < phase_count - 1; ++p) {
    const auto phase = static_cast<Phase>(p);
    const double seconds = recorder.seconds(phase);
    result_.phases.emplace_back(name_of(phase), spread_over_ranks(communicator_, seconds));
    if (phase != Phase::compute && phase != Phase::reduce) exchange_seconds += seconds;
  }
  // The recorder excludes the first sweep and its exchange.
  const auto counted = std::max<std::int64_t>(1, result_.exchanges - 1);
  result_.exchange_seconds =
      spread_over_ranks(communicator_, exchange_seconds / static_cast<double>(counted));
  const ExchangeInfo& info = exchange();
  result_.halo_messages = comm::max_over_ranks(communicator_, info.messages);
  result_.halo_bytes = comm::max_over_ranks(communicator_, info.bytes);
  result_.transports = info.transports;
  result_.choice = chosen_.report;
  result_.races = chosen_.races;
  result_.profile = solver::gather_profile(communicator_);

  for (std::size_t f = 0; f < answer().size(); ++f) {
    const FieldStorage& field = answer()[f];
    result_.fields.push_back(
        {.name = case_.model->fields[f].name,
         .checksum = comm::sum_over_ranks(communicator_,
                                          program::checksum(field, grid(), sweep_options_.threads)),
         .sum =
             comm::sum_in_rank_order(communicator_, program::sum(field, sweep_options_.threads))});
  }
  find_what_is_not_finite();
  result_.checksum = result_.fields[0].checksum;
  result_.sum = result_.fields[0].sum;
}

void SolveRun::verify() {
  const solver::Checker judge =
      solver::choose_checker(case_, result_.sweeps, target_, sweep_options_);
  Case from_start = case_;
  from_start.restart.reset();
  std::optional<solver::AloneResult> alone;
  comm::on_first_rank(communicator_, [&] {
    alone = solver::solve_on_one_rank(from_start, result_.sweeps, judge.options);
  });
  result_.verification = solver::compare({.communicator = communicator_,
                                          .the_case = case_,
                                          .grid = grid(),
                                          .fields = answer(),
                                          .norm_history = result_.norm_history,
                                          .alone = alone ? &*alone : nullptr,
                                          .against = judge.name});
}

void SolveRun::compare_with_one_rank() {
  solver::Baseline alone;
  comm::on_first_rank(communicator_, [&] {
    try {
      alone = solver::run_baseline({.communicator = communicator_,
                                    .the_case = case_,
                                    .options = options_,
                                    .target = target_,
                                    .sweep = sweep_options_,
                                    .sweeps = result_.sweeps});
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("the baseline on one rank: {}", error.what()));
    }
  });
  // The other ranks have zeros.
  const solver::RunsCompared runs{
      .ranks = communicator_.size(),
      .one_seconds = comm::max_over_ranks(communicator_, alone.loop_seconds),
      .all_seconds = result_.loop_seconds,
      .one_bytes = comm::max_over_ranks(communicator_, alone.bytes),
      .all_bytes = comm::max_over_ranks(communicator_, solver::bytes_of_all(case_, grid())),
      .one_schedule = comm::broadcast(communicator_, alone.schedule, 0),
      .all_schedule = result_.schedule};
  result_.baseline = {.seconds = runs.one_seconds,
                      .speedup = runs.speedup(),
                      .efficiency = runs.speedup() / runs.ranks,
                      .schedule = runs.one_schedule};
  take_notes_of(alone);
  if (const auto note = solver::note_on_speedup(runs)) notes_.add(*note);
}

void SolveRun::take_notes_of(const solver::Baseline& alone) {
  const std::uint64_t checksum = comm::sum_over_ranks(communicator_, alone.checksum);
  if (checksum != result_.checksum)
    notes_.add(
        fmt::format("the result of the baseline differs: its checksum is {:016x}", checksum));
  const auto mine = static_cast<std::int64_t>(alone.notes.all().size());
  const std::int64_t count = comm::max_over_ranks(communicator_, mine);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string note = comm::broadcast(
        communicator_, i < mine ? alone.notes.all()[static_cast<std::size_t>(i)] : "", 0);
    // The notes of the run already have it.
    const std::vector<std::string>& told = notes_.all();
    if (std::find(told.begin(), told.end(), note) == told.end())
      notes_.add(fmt::format("baseline: {}", note));
  }
}

void SolveRun::say_what_ran() {
  result_.problem = case_.model->name;
  result_.cells = grid().cells();
  result_.process_grid = grid().process_grid();
  result_.periodic = case_.grid.periodic;
  result_.precision = name_of(case_.precision());
  result_.norm = name_of(case_.norm);
  result_.backend = target_.backend->name();
  result_.memory = name_of(target_.memory);
  result_.devices = solver::devices_of(communicator_, target_);
  result_.simd = sweep_->simd();
  result_.processor = machine::processor_name();
  result_.mpi = comm::library_version();
  result_.ranks = communicator_.size();
  result_.nodes = communicator_.node_count();
  result_.threads = sweep_options_.threads;
  result_.halo_depth = case_.halo_depth;
  result_.brick = case_.brick;
  result_.tolerance = case_.tolerance;
  if (case_.model->dt) result_.time = case_.time_of(result_.sweeps);
  if (case_.norm != Norm::none)
    for (const std::size_t field : case_.model->norm_of)
      result_.norm_of.push_back(case_.model->fields[field].name);
  if (case_.restart) result_.restart = {case_.restart->path, case_.restart->state.sweep};
}

SolveResult SolveRun::run() {
  prepare();
  // After tuning, so that the trace shows only the run.
  if (options_.trace) comm::recorder(communicator_).set_detail(Recorder::Detail::trace);
  loop();
  measure();
  say_what_ran();
  // From here on there is a result, which nothing that fails may take away. Files come first: what
  // follows them may take as long as the run, and more memory.
  run_pauses_->save_end(answer(), result_, attempts_);
  run_pauses_->tell(result_, notes_);
  if (!run_pauses_->has_right_bits() || !result_.stopped_by.empty()) return end();
  attempts_.attempt([this] { give_arrays(); });
  run_pauses_->write_end(answer(), result_.sweeps, attempts_, notes_);
  if (options_.series) attempts_.attempt([this] { write_series(*options_.series); });
  if (options_.trace)
    attempts_.attempt([this] { solver::write_trace(communicator_, *options_.trace); });
  if (options_.verify == SolveOptions::Extra::yes) attempts_.attempt([this] { verify(); });
  if (options_.baseline == SolveOptions::Extra::yes)
    attempts_.attempt([this] { compare_with_one_rank(); });
  return end();
}

SolveResult SolveRun::end() {
  result_.total_seconds = seconds_since(begun_);
  result_.notes = notes_.all();
  if (attempts_.error()) throw IncompleteSolve(*attempts_.error(), std::move(result_));
  return std::move(result_);
}

}  // namespace

namespace {

/// Read by rank 0: a file may be elsewhere, or another, on other nodes. Collective.
problem::ProblemText problem_of(const Communicator& communicator, const SolveOptions& options) {
  problem::ProblemText problem{options.problem.name(), ""};
  comm::on_first_rank(communicator, [&] { problem = problem::find_problem(options.problem); });
  problem.text = comm::broadcast(communicator, problem.text, 0);
  return problem;
}

SolveResult solve(const Communicator& communicator, const SolveOptions& options,
                  const problem::ProblemText& problem,
                  const std::shared_ptr<const solver::Restart>& restart) {
  std::optional<SolveRun> run;
  comm::together(communicator, [&] { run.emplace(communicator, options, problem, restart); });
  return run->run();
}

}  // namespace

SolveResult solve(const Communicator& communicator, const SolveOptions& options) {
  comm::require_same(communicator, "options", solver::shared_options(options));
  if (!options.restart) return solve(communicator, options, problem_of(communicator, options), {});
  const auto restart = solver::find_restart(communicator, *options.restart);
  SolveOptions going_on;
  comm::together(communicator, [&] { going_on = solver::continued(options, *restart); });
  return solve(communicator, going_on, restart->problem, restart);
}

SolveResult solve(const Communicator& communicator, const Grid& grid, const SolveOptions& options) {
  if (options.cells.axes() > 0 || options.cells_per_rank.axes() > 0 ||
      options.process_grid.axes() > 0)
    throw Error(ErrorKind::usage,
                "a grid sets cells and process grid; leave options 'cells', 'cells_per_rank' and "
                "'process_grid' out");
  SolveOptions on_grid = options;
  on_grid.cells = grid.cells();
  on_grid.process_grid = grid.process_grid();
  return solve(communicator, on_grid);
}

}  // namespace halocline

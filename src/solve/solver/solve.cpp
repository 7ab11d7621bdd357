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
#include "machine/keep_denormals.hpp"
#include "problem/written.hpp"
#include "program/copy_cells.hpp"
#include "program/shares.hpp"
#include "solver/baseline.hpp"
#include "solver/case.hpp"
#include "solver/engine/levels.hpp"
#include "solver/engine/tuning.hpp"
#include "solver/options.hpp"
#include "solver/reference_solve.hpp"
#include "solver/run_files/outputs.hpp"
#include "solver/run_files/restart.hpp"
#include "solver/run_files/run_pauses.hpp"
#include "solver/run_files/series.hpp"
#include "solver/run_files/trace.hpp"
#include "solver/target.hpp"
#include "solver/trial_of_passes.hpp"
#include "solver/verify.hpp"
#include "text/refuse.hpp"

namespace halocline {
namespace {

using solver::Case;

/// One solve, from options to result. The members of a step have no meaning before it.
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
  void choose_target();
  void take_passes();
  void choose_execution();
  void fill();
  void run_sweeps();
  void measure();
  void measure_phases();
  void measure_fields();
  void describe();
  void write_files();
  void verify();
  void compare_with_one_rank();
  SolveResult end();

  solver::RunState start() const;
  bool tells_progress() const;
  solver::Runner::AfterSweep progress();
  void tell_progress(std::int64_t sweeps, const solver::Stopping& stopping);
  void check_arrays() const;
  void copy_to_arrays();
  void note_files_not_read();
  void note_passes();
  void note_crowding();
  void note_end(const solver::Stopping& stopping);
  void note_growth();
  void find_not_finite();
  double glups_of(std::int64_t sweeps, double seconds) const;
  const Grid& grid() const { return chosen_.runner->grid(); }

  Communicator communicator_;
  const SolveOptions& options_;
  const problem::ProblemText& problem_;
  Case case_;
  Clock::time_point begun_ = Clock::now(), sweeps_begun_, told_;  // told: of the last progress
  solver::Target target_;
  stencil::SweepOptions sweep_options_;
  std::optional<machine::KeepDenormals> keep_denormals_;
  std::unique_ptr<stencil::Sweep> sweep_;
  solver::Chosen chosen_;
  std::optional<solver::TrialOfPasses> trial_of_passes_;
  std::size_t last_level_ = 0;
  solver::Level result_level_;  // in memory that the host can read
  Attempts attempts_;
  Notes notes_;
  SolveResult result_;
  std::optional<solver::RunPauses> run_pauses_;  // last: it ends before what it writes
};

SolveResult SolveRun::run() {
  run_pauses_.emplace(communicator_, case_, options_, problem_);
  solver::check_files(communicator_, options_, case_);
  choose_target();
  choose_execution();
  fill();
  run_sweeps();
  measure();
  describe();
  // From here on there is a result, and no failure may lose it. The checkpoint is first, then the
  // other files: what follows them may take as long as the run, and more memory.
  run_pauses_->save_end(result_level_, result_, attempts_);
  run_pauses_->report(result_, notes_);
  if (!run_pauses_->has_right_bits() || !result_.stopped_by.empty()) return end();
  write_files();
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

// ---- before the sweeps ----

void SolveRun::choose_target() {
  target_ = solver::choose_target(communicator_, options_, notes_, &case_);
  comm::together(communicator_, [&] {
    if (options_.sweeps_per_pass > 1) take_passes();
    const Grid grid(communicator_, case_.grid);
    solver::check_memory(communicator_, case_, grid, target_);
    solver::check_memory_of_one_rank(communicator_, case_, grid, target_, options_);
  });
}

/// Throws unavailable where passes cannot be of several sweeps.
void SolveRun::take_passes() {
  if (const auto why_not = solver::no_passes_because(case_, *target_.backend))
    throw Error(ErrorKind::unavailable,
                fmt::format("a pass of {} sweeps cannot be done: {}; leave out option "
                            "'sweeps_per_pass'",
                            options_.sweeps_per_pass, *why_not));
  solver::allow_passes(case_, options_.sweeps_per_pass, communicator_);
}

void SolveRun::choose_execution() {
  const Int3 part = solver::largest_part(case_, communicator_.size());
  sweep_options_ = {
      .threads = options_.threads > 0 ? options_.threads : machine::default_threads(communicator_),
      .ranks_on_node = communicator_.node_size(),
      .simd = options_.simd,
      .in_bricks = case_.brick.axes() > 0,
      .formulas = stencil::read_formulas(options_.formulas),
      .updates_to_come = static_cast<double>(case_.sweeps - start().sweep) *
                         static_cast<double>(part.x) * static_cast<double>(part.y) *
                         static_cast<double>(part.z),
      .norms = {case_.norm},
      .sweeps_per_pass = case_.sweeps_per_pass,
      .largest_part = part};
  if (case_.norm != Norm::none && case_.norm_every > 1) sweep_options_.norms.push_back(Norm::none);
  keep_denormals_.emplace(sweep_options_.threads);
  stencil::SweepOptions together = sweep_options_;
  together.communicator = &communicator_;
  comm::together(communicator_, [&] { sweep_ = target_.backend->make(*case_.model, together); });
  chosen_ = solver::choose_execution({.communicator = communicator_,
                                      .the_case = case_,
                                      .options = options_,
                                      .target = target_,
                                      .sweep = *sweep_,
                                      .threads = sweep_options_.threads},
                                     notes_);
  if (options_.sweeps_per_pass == SolveOptions::automatic_sweeps_per_pass)
    trial_of_passes_.emplace(solver::TrialOfPasses::Parts{.communicator = communicator_,
                                                          .the_case = case_,
                                                          .options = options_,
                                                          .target = target_,
                                                          .sweep = *sweep_,
                                                          .sweep_options = together,
                                                          .chosen = chosen_});
  if (trial_of_passes_ && !trial_of_passes_->has_any()) trial_of_passes_.reset();
}

/// Tells where passes have fewer sweeps than the options allow.
void SolveRun::note_passes() {
  const std::int64_t most = chosen_.execution.sweeps_per_pass;
  if (most >= case_.sweeps_per_pass) return;
  const std::string why = chosen_.runner->no_passes_because().value_or(
      "values of more do not fit in registers, or too many operations would be compiled");
  notes_.add(fmt::format("a pass over memory has at most {}, not {}: {}", counted(most, "sweep"),
                         case_.sweeps_per_pass, why));
}

void SolveRun::fill() {
  comm::together(communicator_, [&] { check_arrays(); });
  chosen_.runner->fill(sweep_options_.threads);
  note_files_not_read();
  note_passes();
  run_pauses_->open(*chosen_.runner, target_, sweep_options_.threads);
  if (!target_.gpu) note_crowding();
  if (const std::string why_not = sweep_->not_compiled_because(); !why_not.empty())
    notes_.add("formulas are interpreted, since they could not be compiled: " + why_not);
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
    if (!why_not.empty()) refuse("array '{}' does not fit the run: {}", array.name, why_not);
  }
}

void SolveRun::note_files_not_read() {
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

// ---- the sweeps ----

solver::RunState SolveRun::start() const {
  return case_.restart ? solver::start_of(*case_.restart, case_) : solver::RunState{};
}

void SolveRun::run_sweeps() {
  // After tuning, so that the trace shows only the run.
  if (options_.trace) comm::recorder(communicator_).set_detail(Recorder::Detail::trace);
  result_.compile_seconds = comm::max_over_ranks(
      communicator_, sweep_->compile_seconds() + chosen_.runner->compile_seconds());
  result_.setup_seconds = comm::max_over_ranks(communicator_, seconds_since(begun_));

  const auto [done, stopping] =
      trial_of_passes_
          ? trial_of_passes_->run(progress(), start(), *run_pauses_, notes_)
          : chosen_.runner->run(case_, chosen_.execution, progress(), start(),
                                run_pauses_->pauses(chosen_.execution.sweeps_per_pass));
  result_.schedule = chosen_.execution.schedule->name();
  result_.halos_by_sweeps = chosen_.execution.schedule->halos_by_sweeps(*chosen_.runner);
  if (tells_progress()) tell_progress(done.sweeps, *stopping);
  last_level_ = done.level;
  const solver::Level& last = chosen_.runner->levels()[last_level_];
  run_pauses_->finish(done.sweeps, last);
  result_level_ = solver::seen_by_host(last, grid());
  result_.sweeps = done.sweeps;
  run_pauses_->end_series(result_level_, result_);
  result_.exchanges = done.exchanges;
  result_.sweeps_in_graphs = done.sweeps_in_graphs;
  result_.sweeps_per_pass = chosen_.execution.sweeps_per_pass;
  result_.sweeps_in_passes = done.sweeps_in_passes;
  result_.converged = stopping->converged();
  result_.diverged = stopping->diverged();
  result_.norm_history = stopping->history();
  result_.first_sweep_seconds = comm::max_over_ranks(communicator_, done.first_sweep_seconds);
  result_.loop_seconds = comm::max_over_ranks(communicator_, done.loop_seconds);
  note_end(*stopping);
}

bool SolveRun::tells_progress() const {
  return communicator_.rank() == 0 && options_.on_progress != nullptr;
}

/// Returns the call that reports progress on rank 0, at most twice a second.
solver::Runner::AfterSweep SolveRun::progress() {
  if (!tells_progress()) return [](std::int64_t, const solver::Stopping&) {};
  sweeps_begun_ = told_ = Clock::now();
  return [this](std::int64_t sweep, const solver::Stopping& stopping) {
    if (seconds_since(told_) >= 0.5) tell_progress(sweep + 1, stopping);
  };
}

void SolveRun::tell_progress(std::int64_t sweeps, const solver::Stopping& stopping) {
  told_ = Clock::now();
  const double seconds = seconds_since(sweeps_begun_);
  const auto& norms = stopping.history();
  options_.on_progress({.sweep = sweeps,
                        .sweeps = case_.sweeps,
                        .first = start().sweep,
                        .norm = norms.empty() ? std::nullopt : std::optional(norms.back().second),
                        .seconds = seconds,
                        .glups = glups_of(sweeps - start().sweep, seconds),
                        .saved = run_pauses_->saved()});
}

double SolveRun::glups_of(std::int64_t sweeps, double seconds) const {
  return seconds > 0
             ? static_cast<double>(case_.cells()) * static_cast<double>(sweeps) / seconds / 1e9
             : 0;
}

void SolveRun::note_end(const solver::Stopping& stopping) {
  if (stopping.was_close())
    notes_.add(
        "the L2 norm came so near the tolerance that rounding decides: on another number of ranks "
        "the run may stop one sweep earlier or later");
  if (result_.diverged)
    notes_.add(fmt::format("the norm of sweep {} is not finite: the run diverged",
                           result_.norm_history.back().first));
  note_growth();
}

/// Notes a growing norm of a problem without conditions on its step: a sweep changes a stable field
/// less and less, or by about as much as before.
void SolveRun::note_growth() {
  constexpr double much = 1e6;
  const auto& norms = result_.norm_history;
  const auto first =
      std::find_if(norms.begin(), norms.end(), [](const auto& norm) { return norm.second > 0; });
  // A source that begins later makes the first norms small.
  const bool begins_at_rest = case_.least_norm > 0;
  if (case_.model->has_requirements || begins_at_rest || first == norms.end()) return;
  const double last = norms.back().second;
  if (!(last >= much * first->second)) return;
  notes_.add(
      fmt::format("the {} norm has grown from {:.3g} to {:.3g}: unless the problem is so, its step "
                  "is too large for its formulas; a condition under [require] refuses such a step",
                  name_of(case_.norm), first->second, last));
}

// ---- after the sweeps ----

void SolveRun::measure() {
  const std::int64_t swept = result_.sweeps - start().sweep;
  result_.glups = swept <= 1 ? glups_of(swept, result_.first_sweep_seconds)
                             : glups_of(swept - 1, result_.loop_seconds);
  const problem::Effort effort = problem::effort_of(*case_.model);
  result_.bytes_per_update = effort.bytes;
  result_.operations_per_update = effort.operations;
  measure_phases();
  const ExchangeInfo& info = chosen_.runner->exchange_info();
  result_.halo_messages = comm::max_over_ranks(communicator_, info.messages);
  result_.halo_bytes = comm::max_over_ranks(communicator_, info.bytes);
  result_.transports = info.transports;
  result_.choice = chosen_.report;
  result_.races = chosen_.races;
  result_.profile = solver::gather_profile(communicator_);
  measure_fields();
}

Spread spread_of(const std::vector<double>& all) {
  return {*std::min_element(all.begin(), all.end()),
          std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size()),
          *std::max_element(all.begin(), all.end())};
}

void SolveRun::measure_phases() {
  const Recorder& recorder = comm::recorder(communicator_);
  double exchange_seconds = 0;
  for (std::size_t p = 0; p < phase_count - 1; ++p) {
    const auto phase = static_cast<Phase>(p);
    const double seconds = recorder.seconds(phase);
    result_.phases_of_ranks.push_back(comm::gather_all(communicator_, seconds));
    result_.phases.emplace_back(name_of(phase), spread_of(result_.phases_of_ranks.back()));
    if (phase != Phase::compute && phase != Phase::reduce) exchange_seconds += seconds;
  }
  // The recorder excludes the first sweep and its exchange.
  const auto counted = std::max<std::int64_t>(1, result_.exchanges - 1);
  result_.exchange_seconds =
      spread_of(comm::gather_all(communicator_, exchange_seconds / static_cast<double>(counted)));
}

void SolveRun::measure_fields() {
  const int threads = sweep_options_.threads;
  for (std::size_t f = 0; f < result_level_.size(); ++f) {
    const FieldStorage& field = result_level_[f];
    result_.fields.push_back(
        {.name = case_.model->fields[f].name,
         .checksum = comm::sum_over_ranks(communicator_, program::checksum(field, grid(), threads)),
         .sum = comm::sum_in_rank_order(communicator_, program::sum(field, threads))});
  }
  find_not_finite();
  result_.checksum = result_.fields[0].checksum;
  result_.sum = result_.fields[0].sum;
}

/// Searches only fields whose sum is not finite. Start values are not checked.
void SolveRun::find_not_finite() {
  if (result_.sweeps == 0) return;
  const Int3& cells = grid().cells().values();
  for (std::size_t f = 0; f < result_level_.size() && !result_.not_finite; ++f) {
    if (std::isfinite(result_.fields[f].sum)) continue;
    constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
    const std::int64_t first = -comm::max_over_ranks(
        communicator_, -program::first_not_finite(result_level_[f], grid()).value_or(none));
    if (first == none) continue;  // a sum of large numbers
    const Int3 cell{first % cells.x, first / cells.x % cells.y, first / cells.x / cells.y};
    result_.not_finite = {.field = result_.fields[f].name, .cell = cell};
  }
}

void SolveRun::describe() {
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
  result_.formulas = sweep_->has_compiled_formulas() ? "compiled" : "interpreted";
  result_.processor = machine::processor_name();
  result_.mpi = comm::library_version();
  result_.ranks = communicator_.size();
  result_.nodes = communicator_.node_count();
  result_.threads = sweep_options_.threads;
  result_.halo_depth = chosen_.runner->the_case().halo_depth;
  result_.brick = case_.brick;
  result_.tolerance = case_.tolerance;
  if (case_.model->dt) result_.time = case_.time_of(result_.sweeps);
  if (case_.norm != Norm::none)
    for (const std::size_t field : case_.model->norm_of)
      result_.norm_of.push_back(case_.model->fields[field].name);
  if (case_.restart) result_.restart = {case_.restart->path, case_.restart->state.sweep};
}

void SolveRun::write_files() {
  attempts_.attempt([this] { copy_to_arrays(); });
  run_pauses_->write_end(result_level_, result_, attempts_, notes_);
  if (options_.series)
    attempts_.attempt([this] {
      comm::on_first_rank(communicator_, [this] {
        write_text_file(*options_.series, solver::csv_of(*result_.series),
                        Otherwise::use_working_folder);
      });
    });
  if (options_.trace)
    attempts_.attempt([this] { solver::write_trace(communicator_, *options_.trace); });
}

/// Copies to arrays on a GPU from the memory of the sweeps.
void SolveRun::copy_to_arrays() {
  comm::together(communicator_, [&] {
    for (const auto& [field, array] : case_.result_arrays)
      program::copy_owned(program::is_for_gpu(array) ? chosen_.runner->levels()[last_level_][field]
                                                     : result_level_[field],
                          array);
  });
}

void SolveRun::verify() {
  const solver::Reference reference =
      solver::choose_reference(case_, result_.sweeps, target_, sweep_options_);
  Case from_start = case_;
  from_start.restart.reset();
  std::optional<solver::ReferenceResult> expected;
  comm::on_first_rank(communicator_, [&] {
    expected = solver::solve_on_one_rank(from_start, result_.sweeps, reference);
  });
  result_.verification = solver::compare({.communicator = communicator_,
                                          .the_case = case_,
                                          .grid = grid(),
                                          .fields = result_level_,
                                          .norm_history = result_.norm_history,
                                          .expected = expected ? &*expected : nullptr,
                                          .reference = reference.name});
}

void SolveRun::compare_with_one_rank() {
  solver::compare_with_baseline({.communicator = communicator_,
                                 .the_case = case_,
                                 .options = options_,
                                 .target = target_,
                                 .sweep = sweep_options_,
                                 .sweeps = result_.sweeps,
                                 .sweeps_per_pass = chosen_.execution.sweeps_per_pass},
                                grid(), result_, notes_);
}

// ---- entry points ----

/// Reads the problem on rank 0, since other nodes may lack the file or have another. Collective.
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
  const machine::KeepDenormals keep(1);
  comm::require_same(communicator, "options", solver::shared_options(options));
  if (!options.restart) return solve(communicator, options, problem_of(communicator, options), {});
  const auto restart = solver::find_restart(communicator, *options.restart);
  SolveOptions resumed;
  comm::together(communicator, [&] { resumed = solver::continued(options, *restart); });
  return solve(communicator, resumed, restart->problem, restart);
}

SolveResult solve(const Communicator& communicator, const Grid& grid, const SolveOptions& options) {
  if (options.cells.axes() > 0 || options.cells_per_rank.axes() > 0 ||
      options.process_grid.axes() > 0)
    refuse(
        "a grid sets cells and process grid; leave options 'cells', 'cells_per_rank' and "
        "'process_grid' out");
  SolveOptions on_grid = options;
  on_grid.cells = grid.cells();
  on_grid.process_grid = grid.process_grid();
  return solve(communicator, on_grid);
}

}  // namespace halocline

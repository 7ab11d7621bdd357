// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include <halocline/error.hpp>
#include <halocline/solver.hpp>

#include "base/attempts.hpp"
#include "base/notes.hpp"
#include "base/result_files.hpp"
#include "base/words.hpp"
#include "comm/collectives.hpp"
#include "files/npy.hpp"
#include "files/npy_header.hpp"
#include "files/picture.hpp"
#include "grid/text.hpp"
#include "machine/cores.hpp"
#include "program/shares.hpp"
#include "solver/alone.hpp"
#include "solver/baseline.hpp"
#include "solver/case.hpp"
#include "solver/levels.hpp"
#include "solver/option_words.hpp"
#include "solver/target.hpp"
#include "solver/trace.hpp"
#include "solver/tuning.hpp"
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

enum class OutputKind { npy, png };

OutputKind kind_of(const std::string& path) {
  const std::string extension = std::filesystem::path(path).extension();
  if (extension == ".npy") return OutputKind::npy;
  if (extension == ".png") return OutputKind::png;
  throw Error(ErrorKind::usage,
              fmt::format("the output '{}' ends neither in .npy (the whole array) nor in .png (a "
                          "picture)",
                          path));
}

/// The bytes of the file, or more than any disk has if that cannot be counted.
std::int64_t bytes_of_npy(const Case& the_case) {
  double bytes = static_cast<double>(the_case.element_bytes());
  for (int axis = 0; axis < the_case.grid.cells.axes(); ++axis)
    bytes *= static_cast<double>(the_case.grid.cells[axis]);
  bytes += static_cast<double>(npy_header_bytes);
  return bytes < 9e18 ? static_cast<std::int64_t>(bytes) : std::numeric_limits<std::int64_t>::max();
}

/// Throws now the errors that would otherwise appear only after the run, or after its start has
/// taken memory and time.
void check_files(const Communicator& communicator, const SolveOptions& options,
                 const Case& the_case) {
  comm::together(communicator, [&] {
    const bool is_array = options.output && kind_of(*options.output) == OutputKind::npy;
    if (communicator.rank() != 0) return;
    RunFiles all;
    all.add_result("option 'output'", options.output, is_array ? bytes_of_npy(the_case) : 0);
    all.add_result("option 'trace'", options.trace);
    // A run may go on from the array of an earlier one and replace it: that one stays until the new
    // one is complete.
    all.add_used("option 'initial'", options.initial, is_array ? "option 'output'" : "");
    all.add_used("option 'tuning_file'", options.tuning_file);
    all.add_used("option 'proofs'", options.proofs);
    check(all);
    if (is_array) files::require_seekable(*options.output);
    if (options.initial)
      files::check_npy(*options.initial, the_case.grid.cells, the_case.element_bytes());
  });
}

/// One solve, from options to result.
class SolveRun {
 public:
  SolveRun(const Communicator& communicator, const SolveOptions& options)
      : communicator_(communicator),
        options_(options),
        case_(solver::make_case(options, communicator.size())) {}

  SolveResult run();

 private:
  void prepare();
  void note_crowding();
  void loop();
  void measure();
  void verify();
  void compare_with_one_rank();
  void take_notes_of(const solver::Baseline& alone);
  void write_output();
  void say_what_ran();
  /// The result, in memory that the host can read.
  const FieldStorage& answer() const { return *answer_; }
  double glups_of(double sweeps, double seconds) const;
  const Grid& grid() const { return chosen_.runner->grid(); }
  const ExchangeInfo& exchange() const { return chosen_.runner->exchange_info(); }

  Communicator communicator_;
  const SolveOptions& options_;
  Case case_;
  Clock::time_point begun_ = Clock::now();
  stencil::SweepOptions sweep_options_;
  solver::Target target_;
  std::unique_ptr<stencil::Sweep> sweep_;
  solver::Chosen chosen_;
  std::optional<FieldStorage> answer_;
  Notes notes_;
  SolveResult result_;
};

void SolveRun::prepare() {
  check_files(communicator_, options_, case_);
  target_ = solver::choose_target(communicator_, options_, notes_);
  comm::together(communicator_, [&] {
    const Grid grid(communicator_, case_.grid);
    solver::check_memory(communicator_, case_, grid, target_);
    solver::check_memory_alone(communicator_, case_, grid, target_, options_);
  });
  sweep_options_ = {
      .threads = options_.threads > 0 ? options_.threads : machine::default_threads(communicator_),
      .ranks_on_node = communicator_.node_size(),
      .simd = options_.simd};
  comm::together(communicator_, [&] {
    sweep_ = target_.backend->make(*case_.problem, case_.setting, case_.precision, sweep_options_);
  });
  chosen_ = solver::choose_execution({.communicator = communicator_,
                                      .the_case = case_,
                                      .options = options_,
                                      .target = target_,
                                      .sweep = *sweep_,
                                      .threads = sweep_options_.threads},
                                     notes_);
  chosen_.runner->fill(sweep_options_.threads);
  if (!target_.gpu) note_crowding();
  for (const std::string& note : chosen_.runner->notes().all()) notes_.add(note);
}

void SolveRun::note_crowding() {
  const int cores = machine::node_cores(communicator_);
  const int wanted = communicator_.node_size() * sweep_options_.threads;
  if (wanted > cores)
    notes_.add(
        fmt::format("{} with {} each share {} of a node: "
                    "times are unreliable",
                    counted(communicator_.node_size(), "rank"),
                    counted(sweep_options_.threads, "thread"), counted(cores, "core")));
}

double SolveRun::glups_of(double sweeps, double seconds) const {
  return seconds > 0 ? static_cast<double>(case_.cells()) * sweeps / seconds / 1e9 : 0;
}

void SolveRun::loop() {
  result_.schedule = chosen_.execution.schedule->name();
  result_.sweeps_store_halos = chosen_.execution.schedule->sweeps_store_halos();
  result_.setup_seconds = comm::max_over_ranks(communicator_, seconds_since(begun_));

  const auto loop_begun = Clock::now();
  auto last_told = loop_begun;
  const bool tells = communicator_.rank() == 0 && options_.on_progress != nullptr;
  const auto after_sweep = [&](std::int64_t sweep, const solver::Stopping& stopping) {
    if (!tells || seconds_since(last_told) < 0.5) return;
    last_told = Clock::now();
    const double seconds = seconds_since(loop_begun);
    options_.on_progress({.sweep = sweep + 1,
                          .sweeps = case_.sweeps,
                          .norm = stopping.history().empty()
                                      ? std::nullopt
                                      : std::optional(stopping.history().back().second),
                          .seconds = seconds,
                          .glups = glups_of(static_cast<double>(sweep + 1), seconds)});
  };
  const auto [done, stopping] = chosen_.runner->run(case_, chosen_.execution, after_sweep);
  answer_ = solver::seen_by_host(chosen_.runner->levels()[done.level], case_, grid());
  result_.sweeps = done.sweeps;
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
}

void SolveRun::measure() {
  const bool one_sweep = result_.sweeps <= 1;
  result_.glups = one_sweep
                      ? glups_of(static_cast<double>(result_.sweeps), result_.first_sweep_seconds)
                      : glups_of(static_cast<double>(result_.sweeps - 1), result_.loop_seconds);
  // At best, each update reads one value and writes one.
  result_.gigabytes_per_second = result_.glups * 2 * static_cast<double>(case_.element_bytes());

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

  result_.checksum = comm::sum_over_ranks(
      communicator_, program::checksum(answer(), grid(), sweep_options_.threads));
  result_.sum =
      comm::sum_in_rank_order(communicator_, program::sum(answer(), sweep_options_.threads));
}

void SolveRun::verify() {
  const bool by_reference = case_.cells() * std::max<std::int64_t>(1, result_.sweeps) <=
                            solver::most_updates_by_reference;
  std::optional<solver::AloneResult> alone;
  comm::on_first_rank(communicator_, [&] {
    if (by_reference)
      alone = solver::solve_alone(case_, result_.sweeps,
                                  {.backend = stencil::find_backend("reference"),
                                   .sweep = {.threads = 1, .simd = "auto"},
                                   .memory = Memory::host,
                                   .stream = Stream::host()});
    else
      alone = solver::solve_alone(case_, result_.sweeps,
                                  {.backend = *target_.backend,
                                   .sweep = sweep_options_,
                                   .memory = target_.memory,
                                   .stream = target_.stream()});
  });
  result_.verification =
      solver::compare({.communicator = communicator_,
                       .the_case = case_,
                       .grid = grid(),
                       .field = answer(),
                       .norm_history = result_.norm_history,
                       .alone = alone ? &*alone : nullptr,
                       .against = by_reference ? "the reference backend on one rank"
                                               : fmt::format("the {} backend on one rank alone",
                                                             target_.backend->name())});
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
      .one_bytes = 2 * comm::max_over_ranks(communicator_, alone.level_bytes),
      .all_bytes = 2 * comm::max_over_ranks(communicator_, solver::bytes_of_level(case_, grid())),
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

void SolveRun::write_output() {
  if (kind_of(*options_.output) == OutputKind::npy)
    files::write_npy(communicator_, grid(), answer(), *options_.output,
                     Otherwise::use_working_folder);
  else
    files::write_picture(communicator_, grid(), answer(), *options_.output,
                         fmt::format("{} {}, {} sweeps", options_.problem,
                                     grid::text_of(grid().cells()), result_.sweeps),
                         Otherwise::use_working_folder);
}

void SolveRun::say_what_ran() {
  result_.problem = case_.problem->info().name;
  result_.cells = grid().cells();
  result_.process_grid = grid().process_grid();
  result_.periodic = case_.grid.periodic;
  result_.precision = problem::name_of(case_.precision);
  result_.norm = problem::name_of(case_.norm);
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
  result_.tolerance = case_.tolerance;
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
  Attempts attempts;
  if (options_.output) attempts.attempt([this] { write_output(); });
  if (options_.trace)
    attempts.attempt([this] { solver::write_trace(communicator_, *options_.trace); });
  if (options_.verify == SolveOptions::Extra::yes) attempts.attempt([this] { verify(); });
  if (options_.baseline == SolveOptions::Extra::yes)
    attempts.attempt([this] { compare_with_one_rank(); });
  result_.notes = notes_.all();
  if (attempts.error()) throw IncompleteSolve(*attempts.error(), std::move(result_));
  return std::move(result_);
}

}  // namespace

SolveResult solve(const Communicator& communicator, const SolveOptions& options) {
  comm::require_same(communicator, "options", solver::shared_options(options));
  std::optional<SolveRun> run;
  comm::together(communicator, [&] { run.emplace(communicator, options); });
  return run->run();
}

}  // namespace halocline

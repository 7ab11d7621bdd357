// SPDX-License-Identifier: Apache-2.0
#include "cli/solve_command.hpp"

#include <cstdint>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/text/words.hpp"
#include "cli/exit_code.hpp"
#include "cli/exit_report.hpp"
#include "cli/print.hpp"
#include "cli/progress_line.hpp"
#include "cli/stop_requests.hpp"
#include "comm/collectives.hpp"
#include "files/attempts.hpp"
#include "solver/option_words.hpp"
#include "solver/solve_report.hpp"
#include "solver/verify.hpp"

namespace halocline::cli {
namespace {

using Flag = SolveCommand::Flag;

void write_results(const SolveCommand& command, const SolveResult& result) {
  const Report report = solver::report_of(
      result, command.profile == Flag::yes ? solver::ProfileTable::yes : solver::ProfileTable::no);
  write_report(report, command.json, command.quiet == Flag::yes ? Text::quiet : Text::shown);
}

struct Solved {
  SolveResult result;
  std::optional<Error> error;  ///< after the sweeps
};

Solved solve_if_possible(const Communicator& world, const SolveOptions& options) {
  try {
    return {solve(world, options), std::nullopt};
  } catch (const IncompleteSolve& error) {
    return {error.result(), error};
  }
}

/// Returns the files of a run with their flags.
RunFiles files_of(const SolveCommand& command) {
  const SolveOptions& options = command.options;
  RunFiles files;
  std::optional<Numbers> numbers;
  if (options.output_every)
    numbers = {.last = options.sweeps.value_or(std::numeric_limits<std::int64_t>::max())};
  files.add_result("--output", options.output, 0, numbers);
  for (const auto& [field, path] : options.field_outputs)
    files.add_result("--output", path, 0, numbers);
  files.add_result("--series", options.series);
  files.add_result("--trace", options.trace);
  add_report(files, command.json);
  files.add_used("--initial", options.initial, "--output");
  for (const auto& [field, path] : options.field_initials)
    files.add_used("--initial", path, "--output");
  files.add_used("--tune", options.tuning_file);
  files.add_used("--proofs", options.proofs);
  return files;
}

void print_how_to_continue(const SolveResult& result) {
  if (result.checkpoints) forget_request(result.checkpoints->folder);
  print_error(fmt::format(
      "stopped by {} after {}{}", result.stopped_by, counted(result.sweeps, "sweep"),
      result.checkpoints
          ? fmt::format("; to continue: halocline solve --restart {}", result.checkpoints->folder)
          : ""));
}

/// Solves as one of the ranks; throws the same error on every rank.
int solve_together(const SolveCommand& command, const Communicator& world) {
  ProgressLine line(errors_reach_a_terminal() ? ProgressLine::Where::terminal
                                              : ProgressLine::Where::log);
  SolveOptions options = command.options;
  std::optional<StopRequests> requests;
  if (const auto folder = checkpoint_folder(options)) {
    // The command that started ranks has already removed old requests, before it handled signals.
    if (!start_of_this_rank() && world.rank() == 0) forget_request(*folder);
    requests.emplace(world, *folder);
    options.stop_request = [&] { return requests->reason(); };
  }
  if (command.quiet == Flag::no)
    options.on_progress = [&](const auto& progress) { line.show(progress); };
  options.on_trouble = [&](const std::string& text) { line.interrupt(text); };
  const Solved solved = solve_if_possible(world, options);
  line.clear();
  Attempts attempts(solved.error);
  // Without the other ranks if they may be lost.
  if (solved.error && solved.error->kind() == ErrorKind::communication && world.rank() == 0)
    Attempts().attempt([&] { write_results(command, solved.result); });
  attempts.attempt(
      [&] { comm::on_first_rank(world, [&] { write_results(command, solved.result); }); });
  const std::optional<std::string> wrong = what_is_wrong(solved.result);
  if (wrong && world.rank() == 0) print_error("wrong result: " + *wrong);
  attempts.finish();
  if (wrong) return exit_wrong_result;
  if (solved.result.stopped_by.empty()) return exit_ok;
  if (world.rank() == 0) print_how_to_continue(solved.result);
  return exit_stopped;
}

/// Runs that write during the sweeps need MPI with locks, which slow down each call a little.
RankJob::Calls calls_of(const SolveCommand& command) {
  const SolveOptions& options = command.options;
  const bool writes = options.checkpoint || options.restart || options.output_every;
  return writes && options.writing != SolveOptions::Writing::between
             ? RankJob::Calls::from_any_thread
             : RankJob::Calls::from_one_thread;
}

/// Removes stop requests before and after ranks run, so that they affect no other run.
class RequestCleanup {
 public:
  explicit RequestCleanup(std::string folder) : folder_(std::move(folder)) {
    forget_request(folder_);
  }
  ~RequestCleanup() { forget_request(folder_); }
  RequestCleanup(const RequestCleanup&) = delete;
  RequestCleanup& operator=(const RequestCleanup&) = delete;

 private:
  std::string folder_;
};

}  // namespace

std::optional<std::string> what_is_wrong(const SolveResult& result) {
  if (result.spot_checks && !result.spot_checks->wrong.empty()) return result.spot_checks->wrong;
  if (result.verification && !result.verification->passed) return result.verification->text;
  if (result.diverged)
    return fmt::format("the norm of sweep {} is not finite", result.norm_history.back().first);
  if (result.not_finite)
    return fmt::format("field '{}' is not finite after {}, first at cell {}",
                       result.not_finite->field, counted(result.sweeps, "sweep"),
                       solver::cell_text(result.not_finite->cell, result.cells.axes()));
  return std::nullopt;
}

RankJob solve_job(const SolveCommand& command) {
  const SolveOptions& options = command.options;
  const std::optional<std::string> folder = checkpoint_folder(options);
  return {
      .ranks = command.ranks,
      .wait_limit_seconds = command.wait_limit_seconds,
      .files = files_of(command),
      .proofs = {.ranks = command.ranks,
                 .paths =
                     options.backend == "auto" || options.backend == "cuda"
                         ? paths_to_prove({options.transport}, {solver::word_for(options.memory)})
                         : std::vector<probe::Path>{},
                 .file = options.proofs,
                 .notes = command.quiet == Flag::yes ? ProofRequest::Notes::none
                                                     : ProofRequest::Notes::printed},
      .threads_per_rank = options.threads,
      .calls_mpi = calls_of(command),
      .check = [command](int ranks) { check(command.options, ranks); },
      .on_first_signal =
          [folder](int signal) { return folder && ask_to_stop(*folder, name_of_signal(signal)); },
      .work = [command](const Communicator& world) { return solve_together(command, world); }};
}

int run_solve(const SolveCommand& command, const std::vector<std::string>& words) {
  const std::optional<std::string> folder = checkpoint_folder(command.options);
  std::optional<RequestCleanup> cleanup;
  if (folder && !start_of_this_rank() && command.ranks.value_or(1) > 1) cleanup.emplace(*folder);
  return run_on_ranks(solve_job(command), words_for_ranks(words));
}

}  // namespace halocline::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/ranks.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>

#include "base/files/temporary_file.hpp"
#include "base/process/environment.hpp"
#include "base/process/launched.hpp"
#include "base/text/words.hpp"
#include "build_info.hpp"
#include "cli/exit_code.hpp"
#include "cli/exit_report.hpp"
#include "cli/print.hpp"
#include "cli/signals.hpp"
#include "comm/collectives.hpp"
#include "comm/start.hpp"
#include "launch/interrupts.hpp"
#include "launch/job.hpp"
#include "launch/launcher.hpp"
#include "launch/limits.hpp"

namespace halocline::cli {
namespace {

/// Set for ranks whose standard error goes through a launcher's pipe to a terminal.
constexpr const char* terminal_variable = "HALOCLINE_TERMINAL";

/// Works as one of the ranks; throws the same error on every rank.
int work_together(const RankJob& job, const Communicator& world) {
  if (job.ranks && *job.ranks != world.size())
    throw Error(
        ErrorKind::usage,
        fmt::format("--ranks {} was given, but a launcher started {} ranks; leave --ranks out",
                    *job.ranks, world.size()));
  const std::optional<Start>& start = start_of_this_rank();
  if (start && start->ranks != world.size())
    throw Error(ErrorKind::unavailable,
                fmt::format("the launcher started {} instead of {}; {} or the launcher's own "
                            "settings say otherwise",
                            counted(world.size(), "rank"), start->ranks, launcher_variable));
  comm::on_first_rank(world, [&] { check(job.files); });
  return job.work(world);
}

/// Ends all ranks. Thread-safe.
[[noreturn]] void abort_all(const Communicator& world, const std::string& text, int code) {
  remove_temporary_files();
  comm::abort(world, report_exit(code, text));
}

/// Returns whether all ranks arrive soon, in which case they have the same error.
bool all_failed_alike(const Communicator& brief) {
  try {
    comm::barrier(brief);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Throws unavailable if a launcher of another MPI started the ranks, which then do not find each
/// other.
void require_all_ranks() {
  const std::optional<std::string> why = comm::why_alone();
  if (!why) return;
  const Launched launched = launched_by(current_variables()).value();
  if (launched.rank.value_or(0) != 0) std::exit(report_exit(exit_unavailable));
  throw Error(ErrorKind::unavailable, fmt::format("{}, or with --ranks {}", *why, *launched.size));
}

int work_as_rank(const RankJob& job) {
  make_proofs(job.proofs);
  // Only rank 0 has temporary files. Other ranks end at once, as the launcher expects.
  const std::optional<Launched> launched = launched_by(current_variables());
  std::optional<EndingSignals> signals;
  if (!launched || launched->rank.value_or(0) == 0)
    signals.emplace(launched ? EndingSignals::Message::none : EndingSignals::Message::printed);
  const LimitedRuntime runtime(job.wait_limit_seconds, job.calls_mpi);
  require_all_ranks();
  CommunicatorOptions options;
  options.wait_limit = std::chrono::duration<double>(job.wait_limit_seconds);
  const Communicator world = Communicator::world(options);
  set_rank(world.rank());
  if (world.rank() == 0) report_begin();
  options.wait_limit = std::chrono::seconds(5);
  const Communicator brief = Communicator::world(options);
  comm::set_stall_handler(world, [&world](const std::string& text) {
    abort_all(world, fmt::format("rank {}: {}", world.rank(), text), exit_failure);
  });
  try {
    return work_together(job, world);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::communication || !all_failed_alike(brief))
      abort_all(world, error.what(), exit_code(error.kind()));
    if (world.rank() == 0) print_error(error.what());
    return exit_code(error.kind());
  } catch (const std::exception& error) {
    abort_all(world, fmt::format("rank {}: {}", world.rank(), error.what()), exit_failure);
  }
}

/// Describes how a job ended whose ranks did not report it.
std::string how_it_ended(const Launcher& launcher, const JobSpec& job, const JobEnd& end) {
  if (end.how == JobEnd::How::interrupted)
    return fmt::format("stopped by {}", signal_in_words(end.signal));
  if (end.how != JobEnd::How::exited) return fmt::format("{}: {}", launcher.path, end.reason);
  std::string complaint = end.withheld;
  if (const auto signal = signal_of_rank(launcher.kind, end.exit_code))
    return fmt::format("a rank was ended by {}{}{}", signal_in_words(*signal),
                       complaint.empty() ? "" : "\n", complaint);
  if (end.exit_code == exit_ok)
    return fmt::format(
        "{} ended with exit code 0, but no rank has reported its end: check that {} starts "
        "the command that it is given, on {}, and passes on what ranks print on standard error",
        launcher.path, launcher.path, counted(job.ranks, "rank"));
  if (complaint.empty()) complaint = complaint_of(launcher, job);
  return fmt::format("{} ended with exit code {}, and no rank has reported its end{}{}",
                     launcher.path, end.exit_code, complaint.empty() ? "" : ":\n", complaint);
}

/// Returns the exit code that a job's ranks reported. Throws communication if they did not.
int exit_code_of(const Launcher& launcher, const JobSpec& job, const JobEnd& end) {
  const ExitReports reports = read_exit_reports(end.marked);
  const bool exited = end.how == JobEnd::How::exited;
  const int code = reports.code.value_or(exit_failure);
  const bool crashed = code < exit_usage && signal_of_rank(launcher.kind, end.exit_code);
  if (!exited || !reports.code || crashed)
    throw Error(ErrorKind::communication, how_it_ended(launcher, job, end));
  if (reports.by_a_library) std::fputs(end.withheld.c_str(), stderr);
  if (code == exit_ok && end.exit_code != exit_ok)
    print_note(fmt::format("{} ended with exit code {} after the ranks had finished", launcher.path,
                           end.exit_code));
  if (code == exit_ok && end.relay_error != 0)
    throw Error(ErrorKind::resource,
                fmt::format("cannot write to standard output: {}", std::strerror(end.relay_error)));
  return code;
}

/// Not an error: a launcher may hang without output, or wait for hours in a queue.
void note_slow_start(const Launcher& launcher, const JobSpec& job) {
  print_note(
      fmt::format("{} has not brought {} to work yet, and is still waited for; {}; 'halocline "
                  "doctor' looks for the cause",
                  launcher.path, counted(job.ranks, "rank"), words_for(process_limits())));
}

int start_ranks(const RankJob& wanted, const std::vector<std::string>& words) {
  const Interrupts interrupts;
  make_proofs(wanted.proofs);
  const Variables variables = current_variables();
  const Launcher launcher =
      find_launcher(comm::family(), std::string(build_info::mpi_launcher), variables);
  const Start start = new_start(*wanted.ranks);
  JobSpec job{.ranks = *wanted.ranks,
              .program = std::filesystem::read_symlink("/proc/self/exe"),
              .arguments = words,
              .cores = usable_cores(),
              .threads_per_rank = std::max(1, wanted.threads_per_rank),
              .chatter = launcher.kind == LauncherKind::open_mpi ? Chatter::full : Chatter::quiet};
  job.arguments.insert(job.arguments.begin(), word_of(start));
  Variables extra = job_variables(launcher, job);
  if (isatty(STDERR_FILENO) != 0) extra[terminal_variable] = "1";
  const std::vector<std::string> withheld = bindings_withheld(launcher, variables);
  if (!withheld.empty())
    print_note(fmt::format(
        "the ranks do not get {}: OpenMP would bind the threads of each to the same cores; to bind "
        "them, start the ranks by a launcher that gives each its own (halocline doctor prints a "
        "line)",
        fmt::join(withheld, ", ")));
  // mpirun takes a second to end its ranks.
  constexpr std::chrono::milliseconds grace{1400};
  const JobEnd end = run_job(halocline::command(launcher, job), extra,
                             {.output = JobOutput::relay,
                              .grace = grace,
                              .on_first_signal = wanted.on_first_signal,
                              .on_slow_start = [&] { note_slow_start(launcher, job); },
                              .without = withheld,
                              .mark = mark_of(start),
                              .explanations = Explanations::withheld});
  return exit_code_of(launcher, job, end);
}

}  // namespace

std::vector<std::string> words_for_ranks(const std::vector<std::string>& words) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool has_next = i + 1 < words.size();
    // Open MPI's mpirun reads the file after --tune at any position, even among our options; to
    // launchers a word ":" separates two programs.
    const bool is_launchers =
        has_next && (words[i] == "--tune" || (words[i].starts_with("--") && words[i + 1] == ":"));
    if (words[i] == "--ranks")
      ++i;
    else if (is_launchers) {
      result.push_back(fmt::format("{}={}", words[i], words[i + 1]));
      ++i;
    } else if (words[i].rfind("--ranks=", 0) != 0)
      result.push_back(words[i]);
  }
  return result;
}

void check_rank_options(const std::optional<int>& ranks, double& wait_limit_seconds) {
  if (ranks && *ranks < 1)
    throw Error(ErrorKind::usage,
                fmt::format("{} ranks cannot be started; use at least 1", *ranks));
  if (!(wait_limit_seconds >= 0))
    throw Error(
        ErrorKind::usage,
        fmt::format(
            "the wait limit {} is invalid; use --wait-limit with seconds, or 0 for no limit",
            wait_limit_seconds));
  // Longer than any run, and out of range for clocks.
  if (wait_limit_seconds > 1e9) wait_limit_seconds = 0;
}

void check(const RankJob& job) { job.check(job.ranks.value_or(1)); }

int run_on_ranks(const RankJob& job, const std::vector<std::string>& words) {
  if (launched_by(current_variables())) return work_as_rank(job);
  check(job);  // reports usage errors before MPI is started
  return job.ranks.value_or(1) == 1 ? work_as_rank(job) : start_ranks(job, words);
}

bool errors_reach_a_terminal() {
  return isatty(STDERR_FILENO) != 0 || environment(terminal_variable).has_value();
}

}  // namespace halocline::cli

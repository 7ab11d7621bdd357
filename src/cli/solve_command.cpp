#include "cli/solve_command.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/environment.hpp"
#include "base/temporary_file.hpp"
#include "build_info.hpp"
#include "cli/exit_code.hpp"
#include "cli/print.hpp"
#include "cli/proofs.hpp"
#include "comm/collectives.hpp"
#include "launch/job.hpp"
#include "launch/launched.hpp"
#include "launch/launcher.hpp"
#include "report/render.hpp"
#include "solver/solve_report.hpp"

namespace halocline::cli {
namespace {

using Flag = SolveCommand::Flag;

/// Set for ranks whose standard error is a launcher's pipe that ends at a terminal.
constexpr const char* terminal_variable = "HALOCLINE_TERMINAL";

/// Reports how a long run gets on, on standard error: on one line of a terminal, or a line now
/// and then in a log.
class ProgressLine {
 public:
  void show(const SolveOptions::Progress& progress) {
    if (progress.seconds < (terminal_ ? 2 : 30) || progress.seconds < next_) return;
    next_ = progress.seconds + (terminal_ ? 0.5 : 30);
    const double seconds_left = progress.seconds / static_cast<double>(progress.sweep) *
                                static_cast<double>(progress.sweeps - progress.sweep);
    const std::string norm =
        progress.norm ? fmt::format(", norm {:.4g}", *progress.norm) : std::string();
    fmt::print(stderr, "{}sweep {} of {}{}, {:.3g} GLUP/s, at most {:.0f} s left{}",
               terminal_ ? "\r" : "", progress.sweep, progress.sweeps, norm, progress.glups,
               seconds_left, terminal_ ? "\033[K" : "\n");
    std::fflush(stderr);
    shown_ = true;
  }
  void clear() {
    if (shown_ && terminal_) fmt::print(stderr, "\r\033[K");
    shown_ = false;
  }

 private:
  bool terminal_ = isatty(STDERR_FILENO) != 0 || environment(terminal_variable).has_value();
  bool shown_ = false;
  double next_ = 0;
};

void write_results(const SolveCommand& command, const SolveResult& result) {
  const Report report = solver::report_of(
      result, command.profile == Flag::yes ? solver::ProfileTable::yes : solver::ProfileTable::no);
  const bool json_to_stdout = command.json == "-";
  if (command.quiet == Flag::no && !json_to_stdout) print(render_text(report));
  if (json_to_stdout) print(render_json(report));
  if (command.json && !json_to_stdout) write_text_file(*command.json, render_json(report));
}

std::optional<std::string> what_is_wrong(const SolveResult& result) {
  if (result.verification && !result.verification->passed) return result.verification->text;
  if (result.diverged)
    return fmt::format("the norm of sweep {} is not finite", result.norm_history.back().first);
  return std::nullopt;
}

/// Solves as one of the ranks; throws the same error on every rank.
int solve_together(const SolveCommand& command, const Communicator& world) {
  if (command.ranks && *command.ranks != world.size())
    throw Error(
        ErrorKind::usage,
        fmt::format("--ranks {} was given, but a launcher has started {}; leave --ranks out",
                    *command.ranks, world.size()));
  if (command.json && *command.json != "-")
    comm::on_first_rank(world, [&] { const TemporaryFile can_be_made(*command.json); });
  ProgressLine line;
  SolveOptions options = command.options;
  if (command.quiet == Flag::no)
    options.on_progress = [&](const auto& progress) { line.show(progress); };
  const SolveResult result = solve(world, options);
  line.clear();
  comm::on_first_rank(world, [&] { write_results(command, result); });
  const std::optional<std::string> wrong = what_is_wrong(result);
  if (wrong && world.rank() == 0) fmt::print(stderr, "halocline: wrong result: {}\n", *wrong);
  return wrong ? exit_wrong_result : exit_ok;
}

/// Ends all ranks from whatever thread finds out that the others will not come.
[[noreturn]] void give_up(const Communicator& world, const std::string& text, int code) {
  fmt::print(stderr, "halocline: {}\n", text);
  std::fflush(stderr);
  comm::abort(world, code);
}

/// True if all ranks come here soon: then they all have the same error.
bool all_failed_alike(const Communicator& brief) {
  try {
    comm::barrier(brief);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Ranks started by the launcher of another MPI do not find each other: each would solve alone.
void require_to_be_found() {
  const std::optional<Launched> launched = launched_by(current_variables());
  const int found = Communicator::world().size();
  if (!launched || launched->size.value_or(1) <= 1 || found > 1) return;
  if (launched->rank.value_or(0) != 0) std::exit(exit_unavailable);
  throw Error(
      ErrorKind::unavailable,
      fmt::format("{} started {} ranks, but they do not find each other, so each would "
                  "solve alone: this Halocline was "
                  "built with {}; start it with that MPI's launcher, or with --ranks {}",
                  launched->launcher, *launched->size, comm::library_version(), *launched->size));
}

int solve_as_rank(const SolveCommand& command) {
  make_proofs(command);
  const Runtime runtime;
  require_to_be_found();
  CommunicatorOptions options;
  options.wait_limit = std::chrono::duration<double>(command.wait_limit_seconds);
  const Communicator world = Communicator::world(options);
  options.wait_limit = std::chrono::seconds(5);
  const Communicator brief = Communicator::world(options);
  comm::set_stall_handler(world, [&world](const std::string& text) {
    give_up(world, fmt::format("rank {}: {}", world.rank(), text), exit_failure);
  });
  try {
    return solve_together(command, world);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::communication || !all_failed_alike(brief))
      give_up(world, error.what(), exit_code(error.kind()));
    if (world.rank() == 0) fmt::print(stderr, "halocline: {}\n", error.what());
    return exit_code(error.kind());
  } catch (const std::exception& error) {
    give_up(world, fmt::format("rank {}: {}", world.rank(), error.what()), exit_failure);
  }
}

/// The command line for a rank: as given, without --ranks.
std::vector<std::string> words_for_ranks(const std::vector<std::string>& words) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--ranks")
      ++i;
    else if (words[i].rfind("--ranks=", 0) != 0)
      result.push_back(words[i]);
  }
  return result;
}

std::string how_it_ended(const Launcher& launcher, const JobSpec& job, const JobEnd& end) {
  if (end.how != JobEnd::How::exited) return fmt::format("{}: {}", launcher.path, end.reason);
  if (const auto signal = signal_of_rank(launcher.kind, end.exit_code))
    return fmt::format("a rank was ended by signal {} ({})", *signal, strsignal(*signal));
  const std::string complaint = complaint_of(launcher, job);
  return fmt::format("{} ended with exit code {}{}{}", launcher.path, end.exit_code,
                     complaint.empty() ? "" : ": ", complaint);
}

int start_ranks(const SolveCommand& command, const std::vector<std::string>& words) {
  check(command.options, *command.ranks);  // usage errors cost no start of a job
  make_proofs(command);
  const Variables variables = current_variables();
  const Launcher launcher = find_launcher(
      comm::family() == comm::Family::open_mpi ? MpiFamily::open_mpi : MpiFamily::mpich,
      std::string(build_info::mpi_launcher), variables);
  const JobSpec job{.ranks = *command.ranks,
                    .program = std::filesystem::read_symlink("/proc/self/exe"),
                    .arguments = words_for_ranks(words),
                    .cores = usable_cores(),
                    .threads_per_rank = std::max(1, command.options.threads)};
  Variables extra = job_variables(launcher, job);
  if (isatty(STDERR_FILENO) != 0) extra[terminal_variable] = "1";
  const JobEnd end =
      run_job(halocline::command(launcher, job), extra, {.output = JobOutput::relay});
  // Ranks say why they end with anything but 0; another code is the launcher's own.
  const bool said_why =
      end.exit_code == exit_ok || end.err.find("halocline: ") != std::string::npos;
  if (end.how == JobEnd::How::exited && end.exit_code <= exit_failure && said_why) {
    if (end.exit_code == exit_ok && end.relay_error != 0)
      throw Error(ErrorKind::resource, fmt::format("cannot write to standard output: {}",
                                                   std::strerror(end.relay_error)));
    return end.exit_code;
  }
  throw Error(ErrorKind::communication, how_it_ended(launcher, job, end));
}

}  // namespace

int run_solve(const SolveCommand& command, const std::vector<std::string>& words) {
  if (command.ranks.value_or(1) == 1 || launched_by(current_variables()))
    return solve_as_rank(command);
  return start_ranks(command, words);
}

}  // namespace halocline::cli

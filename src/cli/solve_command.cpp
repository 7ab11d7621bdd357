#include "cli/solve_command.hpp"

#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/environment.hpp"
#include "build_info.hpp"
#include "cli/exit_code.hpp"
#include "comm/collectives.hpp"
#include "files/temporary_file.hpp"
#include "launch/job.hpp"
#include "launch/launched.hpp"
#include "launch/launcher.hpp"
#include "machine/cores.hpp"
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
  const Report report = solver::report_of(result, command.profile == Flag::yes
                                                      ? solver::ProfileTable::yes
                                                      : solver::ProfileTable::no);
  const bool json_to_stdout = command.json == "-";
  if (command.quiet == Flag::no && !json_to_stdout)
    std::fputs(render_text(report).c_str(), stdout);
  if (json_to_stdout) std::fputs(render_json(report).c_str(), stdout);
  if (command.json && !json_to_stdout) write_text_file(*command.json, render_json(report));
  std::fflush(stdout);
}

/// Solves as one of the ranks; throws the same error on every rank.
int solve_together(const SolveCommand& command, const Communicator& world) {
  if (command.ranks && *command.ranks != world.size())
    throw Error(ErrorKind::usage,
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
  const bool wrong = result.diverged || (result.verification && !result.verification->passed);
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

int solve_as_rank(const SolveCommand& command) {
  const Runtime runtime;
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

}  // namespace
}  // namespace halocline::cli

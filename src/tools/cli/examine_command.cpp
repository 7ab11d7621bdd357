// SPDX-License-Identifier: Apache-2.0
#include "cli/examine_command.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <halocline/error.hpp>

#include "cli/exit_code.hpp"
#include "cli/exit_report.hpp"
#include "cli/limited_runtime.hpp"
#include "cli/options.hpp"
#include "cli/print.hpp"
#include "comm/collectives.hpp"
#include "comm/settings.hpp"
#include "doctor/examine.hpp"
#include "doctor/fact_lines.hpp"
#include "probe/jobs.hpp"

namespace halocline::cli {
namespace {

struct ExamineWords {
  bool facts = false;
  std::vector<std::string> paths;
  std::string gpus = "as-in-runs";
  std::vector<std::int64_t> bytes;
  bool untimed = false;
  double wait_limit_seconds = 10;
};

ExamineWords read(const std::vector<std::string>& words) {
  ExamineWords result;
  Syntax syntax("halocline examine-paths", "examines what doctor and proofs ask for");
  const OptionGroup options = syntax.group("Options");
  options.flag("--facts", result.facts);
  Option& paths = options.option("--paths", "TEXT", result.paths);
  paths.lists = Option::Lists::commas;
  paths.excludes = "--facts";
  options.option("--gpus", "TEXT", result.gpus).choices = {"as-in-runs", "first"};
  Option& bytes = options.option("--bytes", "INT", result.bytes);
  bytes.lists = Option::Lists::commas;
  bytes.range = Option::Range::positive;
  options.flag("--untimed", result.untimed);
  options.option("--wait-limit", "FLOAT", result.wait_limit_seconds).range =
      Option::Range::not_negative;
  syntax.parse({words.begin() + 1, words.end()});
  return result;
}

probe::PathsToTry wanted_by(const ExamineWords& words) {
  probe::PathsToTry wanted{.paths = {}, .bytes = words.bytes};
  if (words.gpus == "first") wanted.gpus = probe::GpuChoice::first;
  if (words.untimed) wanted.timing = probe::Timing::none;
  for (const std::string& word : words.paths) {
    const auto path = probe::path_named(word);
    if (!path) throw Error(ErrorKind::usage, fmt::format("'{}' is not a path", word));
    wanted.paths.push_back(*path);
  }
  return wanted;
}

void say(const std::string& line) { print(line + "\n"); }

[[noreturn]] void end_all(const Communicator& world, const std::string& text, int code) {
  comm::abort(world, report_exit(code, fmt::format("rank {}: {}", world.rank(), text)));
}

}  // namespace

bool is_examination(const std::vector<std::string>& words) {
  return !words.empty() && words[0] == probe::examine_command;
}

int run_examination(const std::vector<std::string>& words) {
  const ExamineWords read_words = read(words);
  const probe::PathsToTry wanted = wanted_by(read_words);
  // No core dumps: a crash is expected, and the memory of a GPU process is large.
  const rlimit nothing{0, 0};
  ::setrlimit(RLIMIT_CORE, &nothing);

  if (read_words.facts) say(doctor::doing_line(doctor::starting_mpi));
  const LimitedRuntime runtime(read_words.wait_limit_seconds);
  if (read_words.facts)
    say(doctor::doing_line(
        "making communicators (MPI_Comm_dup, MPI_Comm_split_type, MPI_Bcast, MPI_Allgather, "
        "MPI_Allreduce)"));
  const Communicator world =
      comm::world({.wait_limit = std::chrono::duration<double>(read_words.wait_limit_seconds),
                   .may_be_alone = true});
  comm::set_stall_handler(
      world, [&world](const std::string& text) { end_all(world, text, exit_failure); });
  try {
    if (read_words.facts)
      doctor::examine_facts(world, say);
    else
      probe::try_in_ranks(world, wanted, say);
    return exit_ok;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::usage) throw;
    end_all(world, error.what(), exit_code(error.kind()));
  }
}

}  // namespace halocline::cli

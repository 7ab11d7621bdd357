// SPDX-License-Identifier: Apache-2.0
#include "launch/launcher.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>

#include "base/process/allowed_cores.hpp"
#include "base/process/launched.hpp"
#include "launch/interrupts.hpp"
#include "launch/job.hpp"

namespace halocline {

std::string name_of(MpiFamily family) {
  return family == MpiFamily::open_mpi ? "Open MPI" : "MPICH";
}

namespace {

/// Names used by Debian, Red Hat and MPI's own installation, unambiguous ones first.
std::vector<std::string> usual_names(MpiFamily family) {
  if (family == MpiFamily::open_mpi) return {"mpirun.openmpi", "mpirun", "mpiexec"};
  return {"mpiexec.hydra", "mpiexec.mpich", "mpirun.mpich", "mpiexec", "mpirun"};
}

std::optional<LauncherKind> kind_by_name(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  if (name == "srun") return LauncherKind::srun;
  for (const char* ours : {"mpirun.openmpi", "mpiexec.openmpi", "orterun", "prterun"})
    if (name == ours) return LauncherKind::open_mpi;
  for (const char* ours : {"mpiexec.hydra", "mpiexec.mpich", "mpirun.mpich"})
    if (name == ours) return LauncherKind::hydra;
  return std::nullopt;
}

/// Throws communication if a signal ended a query of a launcher.
void require_no_interrupt(const JobEnd& end) {
  if (end.how == JobEnd::How::interrupted)
    throw Error(ErrorKind::communication,
                fmt::format("stopped by {}", signal_in_words(end.signal)));
}

std::string version_text(const std::string& path) {
  const JobEnd end = run_job({path, "--version"}, {},
                             {.output = JobOutput::capture,
                              .time_limit = std::chrono::seconds(10),
                              .grace = std::chrono::seconds(1)});
  require_no_interrupt(end);
  return end.out + end.err;
}

std::optional<LauncherKind> kind_by_version(const std::string& text) {
  const auto has = [&](const char* word) { return text.find(word) != std::string::npos; };
  if (has("Open MPI") || has("OpenRTE") || has("PRRTE") || has("prte"))
    return LauncherKind::open_mpi;
  if (has("HYDRA") || has("MPICH") || has("Intel(R) MPI") || has("PALS"))
    return LauncherKind::hydra;
  if (has("slurm")) return LauncherKind::srun;
  return std::nullopt;
}

LauncherKind kind_of(const std::string& path) {
  if (const auto kind = kind_by_name(path)) return *kind;
  std::error_code ignored;
  if (const auto kind = kind_by_name(std::filesystem::canonical(path, ignored))) return *kind;
  return kind_by_version(version_text(path)).value_or(LauncherKind::other);
}

bool in_slurm_allocation(const Variables& variables) { return variables.contains("SLURM_JOB_ID"); }

/// Adds srun's --mpi for the family, unless user or site have set it.
Launcher srun_for(MpiFamily family, std::string path, std::vector<std::string> arguments,
                  const Variables& variables) {
  const bool is_set = variables.contains("SLURM_MPI_TYPE") ||
                      std::any_of(arguments.begin(), arguments.end(), [](const std::string& word) {
                        return word.starts_with("--mpi");
                      });
  if (!is_set) arguments.push_back(family == MpiFamily::open_mpi ? "--mpi=pmix" : "--mpi=pmi2");
  return {LauncherKind::srun, std::move(path), std::move(arguments)};
}

/// Throws usage if a launcher command sets the number of ranks.
void check_number_of_ranks(const std::string& command, const std::vector<std::string>& arguments) {
  for (const std::string& word : arguments) {
    const bool is_placeholder = word.find(ranks_placeholder) != std::string::npos;
    if (!is_placeholder && word.size() > 2 && word.front() == '{' && word.back() == '}')
      throw Error(ErrorKind::usage,
                  fmt::format("the launcher '{}' has {}; the number of ranks is {}", command, word,
                              ranks_placeholder));
    if ((word == "-n" || word == "-np") && command.find(ranks_placeholder) == std::string::npos)
      throw Error(ErrorKind::usage,
                  fmt::format("the launcher '{}' sets the number of ranks by {}; write {} {}, or "
                              "leave it out",
                              command, word, word, ranks_placeholder));
  }
}

/// Splits a command at spaces into the program and its arguments.
std::pair<std::string, std::vector<std::string>> words_of_command(const std::string& words) {
  std::istringstream stream(words);
  std::string program;
  stream >> program;
  std::vector<std::string> arguments;
  for (std::string word; stream >> word;) arguments.push_back(word);
  check_number_of_ranks(words, arguments);
  return {program, arguments};
}

/// Accepts the user's launcher unless it is known not to work.
Launcher launcher_of_user(const std::string& words, MpiFamily family, const Variables& variables) {
  auto [program, arguments] = words_of_command(words);
  const std::string path = find_program(program, variables);
  if (path.empty())
    throw Error(ErrorKind::unavailable,
                fmt::format("{} is '{}', but no such program exists; correct or unset it",
                            launcher_variable, words));
  const LauncherKind kind = kind_of(path);
  if (kind == LauncherKind::srun) return srun_for(family, path, arguments, variables);
  const std::string objection = objection_to(kind, family);
  if (kind != LauncherKind::other && !objection.empty())
    throw Error(
        ErrorKind::unavailable,
        fmt::format("{} is '{}', but {} {} and this build uses {}: every rank would run "
                    "alone; name a launcher of {}, or unset it",
                    launcher_variable, words, path, objection, name_of(family), name_of(family)));
  return {kind, path, arguments};
}

[[noreturn]] void fail_search(MpiFamily family, const std::vector<std::string>& tried,
                              const std::vector<std::string>& rejected) {
  const char* package = family == MpiFamily::open_mpi ? "openmpi-bin" : "mpich";
  throw Error(
      ErrorKind::unavailable,
      fmt::format("no launcher of {} found: looked for {}{}{}; install it (Debian, Ubuntu: "
                  "{}), name one in {}, or start the ranks yourself: mpirun -n N halocline ...",
                  name_of(family), fmt::join(tried, ", "), rejected.empty() ? "" : "; rejected ",
                  fmt::join(rejected, ", "), package, launcher_variable));
}

std::string in_lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// Returns whether a value of KMP_AFFINITY, such as "verbose,none", binds no threads.
bool binds_nothing(const std::string& affinity) {
  std::istringstream parts(in_lower_case(affinity));
  for (std::string part; std::getline(parts, part, ',');)
    if (part == "none" || part == "disabled") return true;
  return false;
}

void append(std::vector<std::string>& words, std::initializer_list<std::string> more) {
  words.insert(words.end(), more);
}

void append_open_mpi_options(std::vector<std::string>& words, const JobSpec& job) {
  append(words, {"--bind-to", "none"});
  // Only if needed, since ranks on an oversubscribed node yield their cores while they wait.
  const std::string each =
      job.ranks_per_node > 0 ? fmt::format("ppr:{}:node", job.ranks_per_node) : "";
  if (job.ranks > job.cores)
    append(words, {"--map-by", each + ":OVERSUBSCRIBE"});
  else if (!each.empty())
    append(words, {"--map-by", each});
  if (job.chatter == Chatter::quiet) words.push_back("--quiet");
}

void append_srun_options(std::vector<std::string>& words, const JobSpec& job) {
  append(words, {"--kill-on-bad-exit=1", "--cpu-bind=none"});
  if (job.threads_per_rank > 1)
    words.push_back(fmt::format("--cpus-per-task={}", job.threads_per_rank));
  if (job.ranks_per_node > 0)
    words.push_back(fmt::format("--ntasks-per-node={}", job.ranks_per_node));
  if (job.chatter == Chatter::quiet) words.push_back("--quiet");
}

}  // namespace

Launcher find_launcher(MpiFamily family, const std::string& hint, const Variables& variables) {
  const auto choice = variables.find(launcher_variable);
  if (choice != variables.end() && choice->second.find_first_not_of(" \t") != std::string::npos)
    return launcher_of_user(choice->second, family, variables);

  std::vector<std::string> tried = usual_names(family);
  if (!hint.empty()) tried.insert(tried.begin(), hint);
  std::vector<std::string> seen;
  std::vector<std::string> rejected;
  for (const std::string& name : tried) {
    const std::string path = find_program(name, variables);
    if (path.empty() || std::find(seen.begin(), seen.end(), path) != seen.end()) continue;
    seen.push_back(path);
    const LauncherKind kind = kind_of(path);
    const std::string objection = objection_to(kind, family);
    if (kind == LauncherKind::srun) return srun_for(family, path, {}, variables);
    if (objection.empty()) return {kind, path};
    rejected.push_back(fmt::format("{} ({})", path, objection));
  }
  if (in_slurm_allocation(variables)) {
    const std::string path = find_program("srun", variables);
    if (!path.empty()) return srun_for(family, path, {}, variables);
    tried.push_back("srun");
  }
  fail_search(family, tried, rejected);
}

Launcher launcher_named(const std::string& words, const Variables& variables) {
  auto [program, arguments] = words_of_command(words);
  const std::string path = find_program(program, variables);
  if (path.empty())
    throw Error(ErrorKind::unavailable, fmt::format("program '{}' not found", program));
  return {kind_of(path), path, std::move(arguments)};
}

std::string objection_to(LauncherKind kind, MpiFamily family) {
  const LauncherKind wanted =
      family == MpiFamily::open_mpi ? LauncherKind::open_mpi : LauncherKind::hydra;
  if (kind == wanted || kind == LauncherKind::srun) return "";
  if (kind == LauncherKind::other) return "does not name its MPI in --version";
  return fmt::format("belongs to {}", name_of(kind == LauncherKind::open_mpi ? MpiFamily::open_mpi
                                                                             : MpiFamily::mpich));
}

int usable_cores() {
  std::set<std::string> cores;
  for (const int thread : allowed_cores()) {
    std::ifstream file(
        fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", thread));
    std::string siblings;
    if (!std::getline(file, siblings)) siblings = fmt::format("{}", thread);
    cores.insert(siblings);
  }
  return static_cast<int>(cores.size());
}

bool has_ranks_placeholder(const Launcher& launcher) {
  return std::any_of(
      launcher.arguments.begin(), launcher.arguments.end(),
      [](const std::string& word) { return word.find(ranks_placeholder) != std::string::npos; });
}

Variables bindings_among(const Variables& variables) {
  Variables found;
  if (in_lower_case(value_of(variables, "OMP_PROC_BIND")) == "false") return found;
  for (const char* name : binding_variables)
    if (const auto one = variables.find(name); one != variables.end() && !one->second.empty())
      found.insert(*one);
  if (binds_nothing(value_of(variables, "KMP_AFFINITY"))) found.erase("KMP_AFFINITY");
  return found;
}

std::vector<std::string> bindings_withheld(const Launcher& launcher, const Variables& variables) {
  std::vector<std::string> names;
  if (!has_ranks_placeholder(launcher))
    for (const auto& [name, value] : bindings_among(variables)) names.push_back(name);
  return names;
}

std::vector<std::string> command(const Launcher& launcher, const JobSpec& job) {
  std::vector<std::string> words{launcher.path};
  const std::string ranks = fmt::format("{}", job.ranks);
  for (std::string word : launcher.arguments) {
    const std::size_t at = word.find(ranks_placeholder);
    if (at != std::string::npos)
      word.replace(at, std::string_view(ranks_placeholder).size(), ranks);
    words.push_back(std::move(word));
  }
  if (!has_ranks_placeholder(launcher)) {
    append(words, {"-n", ranks});
    if (launcher.kind == LauncherKind::open_mpi) append_open_mpi_options(words, job);
    if (launcher.kind == LauncherKind::srun) append_srun_options(words, job);
    if (launcher.kind == LauncherKind::hydra && job.ranks_per_node > 0)
      append(words, {"-ppn", fmt::format("{}", job.ranks_per_node)});
  }
  words.push_back(job.program);
  words.insert(words.end(), job.arguments.begin(), job.arguments.end());
  return words;
}

User current_user() { return ::geteuid() == 0 ? User::root : User::ordinary; }

Variables job_variables(const Launcher& launcher, const JobSpec& job, User user) {
  Variables variables{{launched_variable, fmt::format("{}", job.ranks)}};
  // mpirun refuses to run as root, common in containers, without these two variables.
  if (launcher.kind == LauncherKind::open_mpi && user == User::root) {
    variables["OMPI_ALLOW_RUN_AS_ROOT"] = "1";
    variables["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1";
  }
  return variables;
}

std::optional<int> signal_of_rank(LauncherKind kind, int exit_code) {
  if (exit_code > 128 && exit_code <= 128 + SIGRTMAX) return exit_code - 128;
  // Hydra returns the signal's number itself, which is larger than our exit codes.
  if (kind == LauncherKind::hydra && exit_code >= SIGABRT && exit_code <= SIGTERM) return exit_code;
  return std::nullopt;
}

std::string complaint_of(const Launcher& launcher, const JobSpec& job) {
  JobSpec harmless = job;
  harmless.program = "true";
  harmless.arguments.clear();
  harmless.chatter = Chatter::full;
  const JobEnd end = run_job(command(launcher, harmless), job_variables(launcher, job),
                             {.output = JobOutput::capture,
                              .time_limit = std::chrono::seconds(30),
                              .grace = std::chrono::seconds(1)});
  require_no_interrupt(end);
  if (end.succeeded()) return "";
  return end.err.empty() && end.out.empty() ? end.reason : end.out + end.err;
}

}  // namespace halocline

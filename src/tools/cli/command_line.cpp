// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.hpp"

#include <deque>
#include <utility>

#include <halocline/error.hpp>

#include "cli/benchmark.hpp"
#include "cli/common_options.hpp"
#include "cli/options.hpp"
#include "cli/problem_command.hpp"
#include "cli/ranks.hpp"
#include "cli/version.hpp"
#include "files/npy.hpp"
#include "solver/case.hpp"
#include "solver/options.hpp"

namespace halocline::cli {
namespace {

constexpr auto about =
    "Halocline moves halos between the ranks of structured-grid codes, and solves stencil "
    "problems on top.";

constexpr auto exit_codes =
    "Exit codes: 0 ok, 1 wrong result, 2 usage, 3 not available here, 4 failure,\n"
    "5 stopped on request: continue with --restart.";

std::string problems_text() {
  return "Problems (details: halocline solve PROBLEM --help):\n" + list_of_problems();
}

const char* examples =
    "Examples:\n"
    "  halocline solve laplace --cells 4096x4096 --ranks 2     # on two GPUs, or two CPU cores\n"
    "  halocline solve heat --cells 200x100x50 --set dt=2e-4 --sweeps 1000 --verify\n"
    "  mpirun -n 4 halocline solve star7 --cells 256x256x256 --output star7.npy\n"
    "  halocline solve laplace --initial u.npy --output u.png\n";

const char* other_examples =
    "  halocline bench halo --ranks 2                          # how long an exchange takes\n"
    "  halocline bench step --cells 4096x4096 --ranks 1,2      # how sweeps scale\n"
    "  halocline plan star7 --cells 512x512x512 --ranks 8      # what a run will cost\n"
    "  halocline doctor                                        # what works here, what to change\n"
    "  halocline plot u.npy                                    # a picture (Python package)\n";

/// An option of the table, as the user wrote it.
struct GivenOption {
  explicit GivenOption(const solver::Option& row) : option(row) {}

  const solver::Option& option;
  std::optional<std::string> once;
  std::vector<std::string> any;
  bool is_on = false;

  void read_into(SolveOptions& options) const {
    std::vector<std::string> words = any;
    if (once) words.push_back(*once);
    if (is_on) words.emplace_back("yes");
    for (const std::string& word : words)
      option.value.read(options, word, std::string(option.flag));
  }
};

/// Words of a solve, before they become options.
struct SolveWords {
  std::optional<std::string> problem;
  std::deque<GivenOption> given;  // with stable addresses
  bool profile = false, quiet = false, explain = false;
};

void add_rows(const OptionGroup& group, solver::Option::Group which, SolveWords& words) {
  for (const solver::Option& option : solver::options()) {
    if (option.group != which) continue;
    const std::string flag(option.flag), word(option.word);
    GivenOption& given = words.given.emplace_back(option);
    if (option.is_switch())
      group.flag(flag, given.is_on, option.help);
    else if (option.times == solver::Option::Times::any)
      group.option(flag, word, given.any, option.help);
    else
      group.option(flag, word, given.once, option.help);
  }
}

void add_solve(Syntax& solve, SolveWords& words, SolveCommand& command) {
  using Group = solver::Option::Group;
  solve.optional_word("problem", "PROBLEM", words.problem,
                      "name of a problem, or a problem file (.toml)");
  add_rows(solve.group("What to solve"), Group::what, words);
  const OptionGroup how = solve.group("How");
  add_ranks(how, command.ranks);
  add_rows(how, Group::how, words);
  add_wait_limit(how, command.wait_limit_seconds);
  add_rows(solve.group("Checkpoints"), Group::checkpoints, words);
  const OptionGroup results = solve.group("Results");
  results.flag("--explain", words.explain,
               "do not run: write out the formulas, what they take, and\n"
               "the time that memory allows here");
  add_rows(results, Group::results, words);
  add_json(results, command.json);
  results.flag("--profile", words.profile, "add a table of MPI calls and waits");
  add_quiet(results, words.quiet);
}

/// Returns the size of the start values, which is the default of --cells.
Extents cells_of_start(const SolveOptions& options) {
  if (options.initial) return files::cells_in_npy(*options.initial);
  if (!options.field_initials.empty()) return files::cells_in_npy(options.field_initials[0].second);
  return {};
}

SolveCommand finish(const SolveWords& words, SolveCommand command) {
  using Flag = SolveCommand::Flag;
  SolveOptions& options = command.options;
  for (const GivenOption& given : words.given) given.read_into(options);
  if (words.problem) options.problem = *words.problem;
  if (options.cells.axes() == 0 && options.cells_per_rank.axes() == 0)
    options.cells = cells_of_start(options);
  if (!words.problem && !options.restart)
    throw Error(ErrorKind::usage,
                "solve needs a PROBLEM, or --restart FOLDER; see halocline solve --help");
  command.profile = words.profile ? Flag::yes : Flag::no;
  command.quiet = words.quiet ? Flag::yes : Flag::no;
  check_rank_options(command.ranks, command.wait_limit_seconds);
  return command;
}

}  // namespace

CommandLine read_command_line(const std::vector<std::string>& words) {
  if (!words.empty() && words[0] == "plot")
    throw Error(ErrorKind::usage,
                "plots are drawn by the Python package: pip install 'halocline[plot]', then "
                "halocline plot FILE...");
  Syntax syntax("halocline", about);
  syntax.offer_help();
  syntax.footer(
      [] { return problems_text() + "\n" + examples + other_examples + "\n" + exit_codes; });
  bool version = false, verbose = false;
  const OptionGroup options = syntax.group("Options");
  options.flag("--version", version, "print the version");
  options
      .flag("--verbose", verbose,
            "with --version: also list what works here, and why the rest does not")
      .needs = "--version";

  SolveWords solve_words;
  SolveCommand command;
  Syntax& solve = syntax.subcommand("solve", "solve a stencil problem");
  add_solve(solve, solve_words, command);
  solve.header([&] {
    const std::string problem = named_problem(words);
    return problem.empty() ? "" : text_of_problem(problem);
  });
  solve.footer([&] {
    return (named_problem(words).empty() ? problems_text() + "\n" : "") + examples +
           "\nGLUP/s in reports: 10^9 updates of cells a second; each cell counts once a "
           "sweep.\n\n" +
           exit_codes;
  });
  const ProblemLine problems(syntax);
  const Benchmarks bench = add_bench(syntax);
  const PlanLine plan(syntax);
  const DoctorLine doctor(syntax);

  if (const std::optional<std::string> help = syntax.parse(words)) return {.text = *help};
  if (version) return {.text = verbose ? verbose_version_text() : version_text()};
  if (bench.parsed()) return {.bench = bench.finish()};
  if (plan.parsed()) return {.plan = plan.finish()};
  if (doctor.parsed()) return {.doctor = doctor.finish()};
  if (problems.parsed()) return {.text = problems.answer()};
  if (!solve.parsed()) return {.text = syntax.help()};
  const bool explains = solve_words.explain;
  command = finish(solve_words, std::move(command));
  if (explains)
    return {.text = explained_here(solver::make_case(command.options, command.ranks.value_or(1)),
                                   command.options.backend)};
  return {.solve = std::move(command)};
}

}  // namespace halocline::cli

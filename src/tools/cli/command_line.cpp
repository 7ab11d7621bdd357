#include "cli/command_line.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <halocline/error.hpp>

#include "cli/benchmarks.hpp"
#include "cli/common_options.hpp"
#include "cli/doctor_line.hpp"
#include "cli/parse.hpp"
#include "cli/ranks.hpp"
#include "cli/version.hpp"
#include "files/npy.hpp"
#include "grid/text.hpp"
#include "problem/catalogue.hpp"
#include "stencil/sweep.hpp"

namespace halocline::cli {
namespace {

using problem::ProblemInfo;

constexpr auto about =
    "Halocline moves halos between the ranks of structured-grid codes, and solves stencil "
    "problems on top.";

constexpr auto exit_codes =
    "Exit codes: 0 ok, 1 wrong result, 2 usage, 3 not available here, 4 failure.";

std::string problems_text() {
  std::string text = "Problems (halocline solve PROBLEM --help tells more):\n";
  for (const problem::Problem* problem : problem::problems())
    text += fmt::format("  {:<9} {}\n", problem->info().name, problem->info().summary);
  return text;
}

std::string problem_text(const ProblemInfo& info) {
  const std::string axes = info.fewest_axes == info.most_axes
                               ? fmt::format("{}", info.most_axes)
                               : fmt::format("{} to {}", info.fewest_axes, info.most_axes);
  std::string text = fmt::format(
      "{}: {}\n"
      "  {}\n"
      "  {} axes; by default {} cells in {}, {} sweeps",
      info.name, info.summary, info.formula, axes, grid::text_of(Extents(info.cells, info.axes)),
      problem::name_of(info.precision), info.sweeps);
  if (info.tolerance)
    text += fmt::format(" or until the {} norm is at most {:g}", problem::name_of(info.norm),
                        *info.tolerance);
  text += "\n";
  if (info.parameters.empty()) return text;
  text += "  parameters (--set NAME=VALUE):\n";
  for (const problem::Parameter& parameter : info.parameters)
    text += fmt::format("    {:<9} {:<8} {}\n", parameter.name,
                        fmt::format("{:g}", parameter.value), parameter.help);
  return text;
}

const char* examples =
    "Examples:\n"
    "  halocline solve laplace --cells 4096x4096 --ranks 2    # on two GPUs, or two CPU cores\n"
    "  halocline solve heat --cells 200x100x50 --set dt=2e-4 --sweeps 1000 --verify\n"
    "  mpirun -n 4 halocline solve star7 --cells 256x256x256 --output star7.npy\n"
    "  halocline solve laplace --initial u.npy --output u.png\n";

const char* other_examples =
    "  halocline bench halo --ranks 2                          # how long an exchange takes\n"
    "  halocline bench step --cells 4096x4096 --ranks 1,2      # how sweeps scale\n"
    "  halocline plan star7 --cells 512x512x512 --ranks 8      # what a run would take\n"
    "  halocline doctor                                        # what works here, what to change\n";

/// Words as the user wrote them, before they become options.
struct SolveWords {
  std::string problem;
  std::optional<std::string> cells, cells_per_rank, process_grid, norm, precision, initial, output,
      trace;
  std::vector<std::string> settings;
  std::optional<std::int64_t> sweeps;
  std::optional<double> tolerance;
  bool verify = false, baseline = false, profile = false, quiet = false;
};

void add_what(CLI::App& app, SolveWords& words, SolveOptions& options) {
  const auto* group = "What to solve (what is left out is the problem's own)";
  app.add_option("problem", words.problem, "name of a problem")->required()->type_name("PROBLEM");
  app.add_option("--cells", words.cells, "unknowns along each axis, x first: 256x128")
      ->type_name("NXxNY[xNZ]")
      ->group(group);
  app.add_option("--cells-per-rank", words.cells_per_rank,
                 "the same of one rank, instead of --cells")
      ->type_name("NXxNY[xNZ]")
      ->group(group);
  app.add_option("--sweeps", words.sweeps, "do at most N sweeps")->type_name("N")->group(group);
  app.add_option("--tolerance", words.tolerance, "stop once the norm of an update is at most T")
      ->type_name("T")
      ->group(group);
  app.add_option("--norm", words.norm, "max, l2 or none")->type_name("KIND")->group(group);
  app.add_option("--norm-every", options.norm_every,
                 "take the norm every K sweeps, and at the last (1)")
      ->type_name("K")
      ->group(group);
  app.add_option("--precision", words.precision, "f32 or f64")->type_name("P")->group(group);
  app.add_option("--set", words.settings, "set a parameter of the problem; may be repeated")
      ->type_name("NAME=VALUE")
      ->group(group)
      ->allow_extra_args(false);
  app.add_option("--seed", options.seed, "of the noise that some problems start from (12345)")
      ->check(CLI::NonNegativeNumber.description(""))  // help would show its name
      ->type_name("N")
      ->group(group);
  app.add_option("--initial", words.initial,
                 "start from an array, .npy of shape ([NZ,] NY, NX); gives --cells")
      ->type_name("FILE")
      ->group(group);
}

void add_how(CLI::App& app, SolveWords& words, SolveCommand& command) {
  const auto* group = "How";
  SolveOptions& options = command.options;
  add_ranks(app, group, command.ranks);
  app.add_option("--process-grid", words.process_grid, "ranks along each axis (least traffic)")
      ->type_name("PXxPY[xPZ]")
      ->group(group);
  app.add_option("--threads", options.threads, "threads of each rank (its share of the cores)")
      ->type_name("N")
      ->group(group);
  app.add_option("--backend", options.backend,
                 "auto (cuda if every rank sees a GPU), cuda, cpu or reference")
      ->type_name("NAME")
      ->group(group);
  app.add_option("--memory", options.memory,
                 "where fields live: auto, device, managed, pinned, system or host")
      ->type_name("KIND")
      ->group(group);
  app.add_option(
         "--simd", options.simd,
         fmt::format("widest vectors to use: auto or {}", fmt::join(stencil::simd_levels(), ", ")))
      ->type_name("LEVEL")
      ->group(group);
  app.add_option("--transport", options.transport,
                 "auto, peer, gpu_aware, staged, shared or mpi; or by kind of\n"
                 "pair: same-node=peer,other-node=staged")
      ->type_name("NAME")
      ->group(group);
  app.add_option("--schedule", options.schedule,
                 "auto, sequential, overlap (sweep inside while halos move), fused,\n"
                 "persistent (many sweeps in one kernel)")
      ->type_name("NAME")
      ->group(group);
  app.add_option("--graph", options.graph, "auto, on or off: queue sweeps as CUDA graphs")
      ->type_name("WHEN")
      ->group(group);
  app.add_option("--tune", options.tuning_file,
                 "remember here which process grid, schedule and graphs are fastest")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--tune-budget", options.tuning_seconds,
                 "seconds to measure them; 0: choose by rule (2; without --tune\n"
                 "also 2 % of the sweeps at most)")
      ->type_name("S")
      ->group(group);
  app.add_option("--halo-depth", options.halo_depth, "exchange every K sweeps, K cells deep (1)")
      ->type_name("K")
      ->group(group);
  add_proofs(app, group, command.options.proofs);
  add_wait_limit(app, group, command.wait_limit_seconds);
}

void add_results(CLI::App& app, SolveWords& words, SolveCommand& command) {
  const auto* group = "Results";
  app.add_flag("--verify", words.verify, "compare every cell with a run on one rank")->group(group);
  app.add_flag("--baseline", words.baseline, "time one rank alone too: speed-up, efficiency")
      ->group(group);
  app.add_option("--output", words.output, "write the array (.npy) or a picture of it (.png)")
      ->type_name("FILE")
      ->group(group);
  add_json(app, group, command.json);
  app.add_flag("--profile", words.profile, "add a table of MPI calls and waits")->group(group);
  app.add_option("--trace", words.trace, "write a time line for chrome://tracing or Perfetto")
      ->type_name("FILE")
      ->group(group);
  add_quiet(app, group, words.quiet);
}

SolveCommand finish(const SolveWords& words, SolveCommand command) {
  using Extra = SolveOptions::Extra;
  using Flag = SolveCommand::Flag;
  SolveOptions& options = command.options;
  options.problem = words.problem;
  if (words.cells) options.cells = parse_extents(*words.cells, "--cells");
  // A start has a size of its own; only a size that is given has to match it.
  else if (words.initial && !words.cells_per_rank)
    options.cells = files::cells_in_npy(*words.initial);
  if (words.cells_per_rank)
    options.cells_per_rank = parse_extents(*words.cells_per_rank, "--cells-per-rank");
  if (words.process_grid)
    options.process_grid = parse_extents(*words.process_grid, "--process-grid");
  for (const std::string& word : words.settings)
    options.parameters.push_back(parse_assignment(word, "--set"));
  options.sweeps = words.sweeps;
  options.tolerance = words.tolerance;
  options.norm = words.norm;
  options.precision = words.precision;
  options.initial = words.initial;
  options.output = words.output;
  options.trace = words.trace;
  options.verify = words.verify ? Extra::yes : Extra::no;
  options.baseline = words.baseline ? Extra::yes : Extra::no;
  command.profile = words.profile ? Flag::yes : Flag::no;
  command.quiet = words.quiet ? Flag::yes : Flag::no;
  check_rank_options(command.ranks, command.wait_limit_seconds);
  return command;
}

/// The problem that a word of the command line names, so that help can be about it.
const ProblemInfo* named_problem(const std::vector<std::string>& words) {
  for (const std::string& word : words)
    for (const problem::Problem* problem : problem::problems())
      if (problem->info().name == word) return &problem->info();
  return nullptr;
}

}  // namespace

CommandLine read_command_line(const std::vector<std::string>& words) {
  CLI::App app(about, "halocline");
  app.set_help_flag("-h,--help", "print this");
  app.require_subcommand(0, 1);
  app.footer(problems_text() + "\n" + examples + other_examples + "\n" + exit_codes);
  app.get_formatter()->column_width(32);
  bool version = false, verbose = false;
  CLI::Option* version_flag = app.add_flag("--version", version, "print the version");
  app.add_flag("--verbose", verbose, "with --version: also what can be used here, and why not")
      ->needs(version_flag);

  SolveWords solve_words;
  SolveCommand command;
  CLI::App& solve = *app.add_subcommand("solve", "solve a problem and check the result");
  add_what(solve, solve_words, command.options);
  add_how(solve, solve_words, command);
  add_results(solve, solve_words, command);
  const ProblemInfo* info = named_problem(words);
  solve.footer((info != nullptr ? problem_text(*info) : problems_text()) + "\n" + examples + "\n" +
               exit_codes);
  const Benchmarks bench(app);
  const PlanLine plan(app);
  const DoctorLine doctor(app);

  try {
    std::vector<std::string> reversed(words.rbegin(), words.rend());
    app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    return {.text = app.help()};
  } catch (const CLI::ParseError& error) {
    // CLI11 asks for the problem before it tells of help.
    throw Error(ErrorKind::usage, fmt::format("{}; see halocline {}--help", error.what(),
                                              solve.parsed()    ? "solve "
                                              : bench.parsed()  ? bench.name()
                                              : plan.parsed()   ? "plan "
                                              : doctor.parsed() ? "doctor "
                                                                : ""));
  }
  if (version) return {.text = verbose ? verbose_version_text() : version_text()};
  if (bench.parsed()) return {.bench = bench.finish()};
  if (plan.parsed()) return {.plan = plan.finish()};
  if (doctor.parsed()) return {.doctor = doctor.finish()};
  if (!solve.parsed()) return {.text = app.help()};
  return {.solve = finish(solve_words, std::move(command))};
}

}  // namespace halocline::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.hpp"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>

#include "base/numbers.hpp"
#include "cli/benchmarks.hpp"
#include "cli/common_options.hpp"
#include "cli/doctor_line.hpp"
#include "cli/options.hpp"
#include "cli/parse.hpp"
#include "cli/problem_command.hpp"
#include "cli/ranks.hpp"
#include "cli/version.hpp"
#include "files/npy.hpp"
#include "grid/text.hpp"
#include "solver/case.hpp"
#include "solver/option_words.hpp"
#include "stencil/sweep.hpp"

namespace halocline::cli {
namespace {

constexpr auto about =
    "Halocline moves halos between the ranks of structured-grid codes, and solves stencil "
    "problems on top.";

constexpr auto exit_codes =
    "Exit codes: 0 ok, 1 wrong result, 2 usage, 3 not available here, 4 failure,\n"
    "5 stopped on request; --restart goes on.";

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
    "  halocline doctor                                        # what works here, what to change\n";

/// Words as the user wrote them, before they become options.
struct SolveWords {
  std::optional<std::string> problem, cells, cells_per_rank, process_grid, trace, checkpoint_every;
  std::vector<std::string> initial, output;  ///< FILE, or FIELD=FILE
  std::vector<std::string> settings, ranges, sums, probes;
  std::optional<std::int64_t> sweeps;
  std::optional<double> tolerance;
  bool verify = false, baseline = false, profile = false, quiet = false, explain = false;
};

void add_what(Syntax& solve, SolveWords& words, SolveCommand& command) {
  SolveOptions& options = command.options;
  solve.optional_word("problem", "PROBLEM", words.problem,
                      "name of a problem, or a problem file (.toml)");
  const OptionGroup what = solve.group("What to solve");
  what.option("--cells", "NXxNY[xNZ]", words.cells,
              "unknowns along each axis, x first: 256x128\n[default: the problem's]");
  what.option("--cells-per-rank", "NXxNY[xNZ]", words.cells_per_rank,
              "cells of each rank, instead of --cells");
  what.option("--sweeps", "N", words.sweeps, "do at most N sweeps [default: the problem's]");
  what.option("--tolerance", "T", words.tolerance,
              "stop once the norm of an update is at most T\n[default: the problem's]");
  what.option("--norm", "KIND", command.norm, "max, l2 or none [default: the problem's]");
  what.option("--norm-every", "K", options.norm_every,
              "take the norm every K sweeps, and at the last [default: 1]");
  what.option("--precision", "P", command.precision, "f32 or f64 [default: the problem's]");
  what.option("--set", "NAME=VALUE", words.settings,
              "set a parameter of the problem; may be repeated");
  what.option("--seed", "N", options.seed,
              "seed of the noise that some problems start from\n[default: the problem's]");
  what.option("--initial", "[FIELD=]FILE", words.initial,
              "start from an array, .npy of shape ([NZ,] NY, NX), which sets\n"
              "--cells; of the first field or of FIELD, may be repeated");
}

void add_how(Syntax& solve, SolveWords& words, SolveCommand& command) {
  const OptionGroup how = solve.group("How");
  SolveOptions& options = command.options;
  add_ranks(how, command.ranks);
  add_process_grid(how, words.process_grid, "least traffic");
  how.option("--threads", "N", options.threads,
             "threads per rank [default: the rank's share of the cores]");
  how.option("--backend", "NAME", options.backend,
             "auto (cuda if every rank sees a GPU), cuda, cpu or reference\n[default: auto]");
  how.option("--memory", "KIND", command.memory,
             "where fields live: auto, device, managed, pinned, system or host\n[default: auto]");
  how.option("--layout", "NAME", options.layout,
             "how fields lie in memory: array (rows), brick (boxes of 8x8x8\n"
             "cells) or brick:32x4x4 [default: auto: array]");
  how.option("--simd", "LEVEL", options.simd,
             fmt::format("widest vectors to use: auto or {}\n[default: auto]",
                         fmt::join(stencil::simd_levels(), ", ")));
  how.option("--transport", "NAME", options.transport,
             "auto, peer, nccl, nvshmem, gpu_aware, staged, shared or mpi; or\n"
             "per kind of pair: same-node=peer,other-node=nccl\n[default: auto]");
  how.option("--schedule", "NAME", options.schedule,
             "auto, sequential, overlap (sweep inside while halos move), fused,\n"
             "persistent (many sweeps in one kernel) [default: auto]");
  how.option("--graph", "WHEN", command.graph,
             "auto, on or off: queue sweeps as CUDA graphs [default: auto]");
  how.option("--writing", "WHEN", command.writing,
             "auto, beside or between: write files and checkpoints on the way beside\n"
             "the sweeps (by a thread, from copies of the fields) or between them\n"
             "[default: auto]");
  how.option("--tune", "FILE", options.tuning_file,
             "keep the fastest process grid, schedule and graph setting here");
  how.option("--tune-budget", "S", options.tuning_seconds,
             "measure them for at most S seconds; 0: choose by rule\n"
             "[default: 2; without --tune also at most 2 % of the sweeps]");
  how.option("--halo-depth", "K", options.halo_depth,
             "exchange every K sweeps, K cells deep [default: 1]");
  add_proofs(how, command.options.proofs);
  add_wait_limit(how, command.wait_limit_seconds);
}

void add_results(Syntax& solve, SolveWords& words, SolveCommand& command) {
  SolveOptions& options = command.options;
  const OptionGroup results = solve.group("Results");
  results.flag("--explain", words.explain,
               "do not run: write out the formulas, what they take, and\n"
               "the time that memory allows here");
  results.flag("--verify", words.verify, "compare every cell with a run on one rank");
  results.option("--verify-every", "N", options.verify_every,
                 "every N sweeps, recompute some cells on the host and compare");
  results.flag("--baseline", words.baseline, "also time one rank alone: speed-up, efficiency");
  results.option("--output", "[FIELD=]FILE", words.output,
                 "write the array (.npy) or a picture of it (.png), of the first\n"
                 "field or of FIELD; for ParaView, all fields or FIELD (.vtkhdf,\n"
                 ".vti); may be repeated");
  results.option("--output-every", "N", options.output_every,
                 "write it at the start, every N sweeps and at the end, numbered:\n"
                 "u-000100.npy; a .vtkhdf file has all times");
  results.option("--range", "[FIELD=]MIN,MAX", words.ranges,
                 "values at the ends of the colours [default: those of the picture\n"
                 "and, with --output-every, of those before]; may be repeated");
  results.option("--sum", "FIELD", words.sums,
                 "follow the sum of FIELD over all cells; may be repeated");
  results.option("--probe", "[FIELD@]X[,Y[,Z]]", words.probes,
                 "follow the value of a cell, by its index from 0; may be repeated");
  results.option("--series", "FILE", options.series, "write sums and probes over time here (.csv)");
  results.option("--series-every", "K", options.series_every,
                 "take them every K sweeps, at the start and at the end\n"
                 "[default: --output-every, or a hundredth of the sweeps]");
  add_json(results, command.json);
  results.flag("--profile", words.profile, "add a table of MPI calls and waits");
  add_trace(results, words.trace);
  add_quiet(results, words.quiet);
}

void add_checkpoints(Syntax& solve, SolveWords& words, SolveOptions& options) {
  const OptionGroup checkpoints = solve.group("Checkpoints");
  checkpoints.option("--checkpoint", "FOLDER", options.checkpoint,
                     "save all that a run needs to go on; the newest two are kept");
  checkpoints.option("--checkpoint-every", "N|TIME", words.checkpoint_every,
                     "every N sweeps, or 90s, 30min, 2h, and at the end [default: 30min]");
  checkpoints.option("--restart", "FOLDER", options.restart,
                     "go on from the newest checkpoint in FOLDER, or from one by its\n"
                     "name, on any ranks; needs no PROBLEM");
}

void take_initials(const std::vector<std::string>& words, SolveOptions& options) {
  for (const std::string& word : words) {
    const auto [field, path] = field_and_rest(word);
    if (!field.empty())
      options.field_initials.emplace_back(field, path);
    else if (options.initial)
      throw Error(ErrorKind::usage,
                  fmt::format("--initial is given twice without a field, as '{}' and '{}'; write "
                              "FIELD=FILE",
                              *options.initial, path));
    else
      options.initial = path;
  }
}

/// Sweeps, or a time with its unit.
void take_interval(const std::string& word, SolveOptions& options) {
  const char* const flag = "--checkpoint-every";
  const std::size_t number = word.find_last_of("0123456789.") + 1;
  const std::string unit = word.substr(number);
  for (const auto& [known, seconds] :
       {std::pair("min", 60.0), std::pair("s", 1.0), std::pair("h", 3600.0)})
    if (unit == known) {
      options.checkpoint_seconds = seconds * read_number(word.substr(0, number), flag);
      return;
    }
  if (unit.ends_with('s'))
    throw Error(ErrorKind::usage,
                fmt::format("{} '{}' is no time; write sweeps, such as 5000, or a time, such as "
                            "90s, 30min or 2h",
                            flag, word));
  options.checkpoint_every = read_whole<std::int64_t>(word, flag);
}

SolveCommand finish(const SolveWords& words, SolveCommand command) {
  using Extra = SolveOptions::Extra;
  using Flag = SolveCommand::Flag;
  SolveOptions& options = command.options;
  for (const std::string& word : words.ranges)
    options.ranges.push_back(parse_range(word, "--range"));
  options.sums = words.sums;
  for (const std::string& word : words.probes)
    options.probes.push_back(parse_probe(word, "--probe"));
  if (words.problem) options.problem = *words.problem;
  if (words.cells) options.cells = parse_extents(*words.cells, "--cells");
  // A start has a size of its own; only a size that is given has to match it.
  else if (!words.initial.empty() && !words.cells_per_rank)
    options.cells = files::cells_in_npy(field_and_rest(words.initial[0]).second);
  if (words.cells_per_rank)
    options.cells_per_rank = parse_extents(*words.cells_per_rank, "--cells-per-rank");
  if (words.process_grid)
    options.process_grid = parse_extents(*words.process_grid, "--process-grid");
  options.parameters = parse_assignments(words.settings, "--set");
  options.sweeps = words.sweeps;
  options.tolerance = words.tolerance;
  take_initials(words.initial, options);
  for (const std::string& word : words.output)
    options.field_outputs.push_back(field_and_rest(word));
  options.trace = words.trace;
  if (words.checkpoint_every) take_interval(*words.checkpoint_every, options);
  if (!words.problem && !options.restart)
    throw Error(ErrorKind::usage,
                "solve needs a PROBLEM, or --restart FOLDER; see halocline solve --help");
  options.verify = words.verify ? Extra::yes : Extra::no;
  options.baseline = words.baseline ? Extra::yes : Extra::no;
  command.profile = words.profile ? Flag::yes : Flag::no;
  command.quiet = words.quiet ? Flag::yes : Flag::no;
  check_rank_options(command.ranks, command.wait_limit_seconds);
  return command;
}

solver::Case case_of(const SolveCommand& command) {
  SolveOptions options = command.options;
  if (command.precision) options.precision = solver::read_precision(*command.precision);
  return solver::make_case(options, command.ranks.value_or(1));
}

}  // namespace

CommandLine read_command_line(const std::vector<std::string>& words) {
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
  add_what(solve, solve_words, command);
  add_how(solve, solve_words, command);
  add_checkpoints(solve, solve_words, command.options);
  add_results(solve, solve_words, command);
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
  if (explains) return {.text = explained_here(case_of(command), command.options.backend)};
  return {.solve = std::move(command)};
}

}  // namespace halocline::cli

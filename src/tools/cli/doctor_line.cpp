#include "cli/doctor_line.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <halocline/error.hpp>

#include "cli/common_options.hpp"

namespace halocline::cli {
namespace {

const char* footer =
    "Starts jobs of its own, each with a time limit; one that crashes or hangs is a finding. Run "
    "it\n"
    "where your runs are started: a shell, a batch script, a container; not under mpirun.\n\n"
    "Examples:\n"
    "  halocline doctor\n"
    "  halocline doctor --verbose --json doctor.json\n"
    "  halocline doctor --launcher \"srun -n {ranks}\" --batch slurm\n"
    "  halocline doctor --launcher \"mpirun -H n1:2,n2:2 -n {ranks}\" --ranks 4\n"
    "  halocline doctor --save good.json                 # while all is well\n"
    "  halocline doctor --compare good.json --strict     # what has changed since\n\n"
    "Exit codes: 0 it works, and a run takes the fastest path, 1 something is broken or slow,\n"
    "2 usage, 3 with --strict: a path is not available, 4 failure.";

}  // namespace

/// Words as the user wrote them, before they become options.
struct DoctorLine::Words {
  CLI::App* doctor = nullptr;
  std::optional<std::string> batch;
  double time_limit_seconds = 20;
  bool strict = false, verbose = false;
  DoctorCommand command;
};

DoctorLine::DoctorLine(CLI::App& app) : words_(std::make_unique<Words>()) {
  Words& words = *words_;
  DoctorCommand& command = words.command;
  words.doctor = app.add_subcommand("doctor", "tell what works here, how fast, and what to change");
  CLI::App& doctor = *words.doctor;
  doctor.footer(footer);

  const auto* how = "How";
  doctor
      .add_option("--launcher", command.launcher,
                  "start ranks by this command, as it is; {ranks} stands\n"
                  "for their number: \"srun -n {ranks}\" (found by itself)")
      ->type_name("COMMAND")
      ->group(how);
  doctor
      .add_option("--ranks", command.ranks,
                  "try N ranks, wherever the launcher puts them (2 on\n"
                  "each node of the allocation)")
      ->type_name("N")
      ->group(how);
  doctor
      .add_option("--time-limit", words.time_limit_seconds,
                  "end a probe that says nothing for S seconds (20)")
      ->type_name("S")
      ->group(how);
  add_proofs(doctor, how, command.proofs);

  const auto* results = "Results";
  doctor.add_flag("--verbose", words.verbose, "tell all facts, too")->group(results);
  add_json(doctor, results, command.json);
  doctor.add_option("--save", command.save, "keep the report, for --compare later")
      ->type_name("FILE")
      ->group(results);
  doctor.add_option("--compare", command.compare, "tell what has changed since that report")
      ->type_name("FILE")
      ->group(results);
  doctor.add_option("--batch", words.batch, "write a batch script for this machine: slurm or pbs")
      ->type_name("KIND")
      ->group(results);
  doctor.add_flag("--strict", words.strict, "a path that is not available counts: exit code 3")
      ->group(results);
}

DoctorLine::~DoctorLine() = default;

bool DoctorLine::parsed() const { return words_->doctor->parsed(); }

DoctorCommand DoctorLine::finish() const {
  const Words& words = *words_;
  DoctorCommand command = words.command;
  if (command.ranks.value_or(2) < 2)
    throw Error(
        ErrorKind::usage,
        fmt::format("{} ranks have no path between them; use --ranks 2 or more", *command.ranks));
  if (!(words.time_limit_seconds >= 1) || words.time_limit_seconds > 3600)
    throw Error(ErrorKind::usage, fmt::format("a probe cannot be limited to {} seconds; use 1 to "
                                              "3600",
                                              words.time_limit_seconds));
  command.time_limit =
      std::chrono::milliseconds(static_cast<std::int64_t>(1000 * words.time_limit_seconds));
  if (words.batch) {
    command.report.batch = doctor::batch_named(*words.batch);
    if (!command.report.batch)
      throw Error(ErrorKind::usage,
                  fmt::format("--batch '{}' is neither slurm nor pbs", *words.batch));
  }
  if (words.verbose) command.report.facts = doctor::FactsFor::all;
  if (words.strict) command.strictness = doctor::Strictness::strict;
  return command;
}

}  // namespace halocline::cli

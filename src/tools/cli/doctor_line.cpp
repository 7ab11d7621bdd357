// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor_line.hpp"

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "cli/common_options.hpp"
#include "cli/options.hpp"

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
  const Syntax* doctor = nullptr;
  std::optional<std::string> batch;
  double time_limit_seconds = 20;
  bool strict = false, verbose = false;
  DoctorCommand command;
};

DoctorLine::DoctorLine(Syntax& syntax) : words_(std::make_unique<Words>()) {
  Words& words = *words_;
  DoctorCommand& command = words.command;
  Syntax& doctor =
      syntax.subcommand("doctor", "tell what works here, how fast, and what to change");
  words.doctor = &doctor;
  doctor.footer(footer);

  const OptionGroup how = doctor.group("How");
  how.option("--launcher", "COMMAND", command.launcher,
             "start ranks by this command, as it is; {ranks} stands\n"
             "for their number: \"srun -n {ranks}\" (found by itself)");
  how.option("--ranks", "N", command.ranks,
             "try N ranks, wherever the launcher puts them (2 on\n"
             "each node of the allocation)");
  how.option("--time-limit", "S", words.time_limit_seconds,
             "end a probe that says nothing for S seconds (20)");
  add_proofs(how, command.proofs);

  const OptionGroup results = doctor.group("Results");
  results.flag("--verbose", words.verbose, "tell all facts, too");
  add_json(results, command.json);
  results.option("--save", "FILE", command.save, "keep the report, for --compare later");
  results.option("--compare", "FILE", command.compare, "tell what has changed since that report");
  results.option("--batch", "KIND", words.batch,
                 "write a batch script for this machine: slurm or pbs");
  results.flag("--strict", words.strict, "a path that is not available counts: exit code 3");
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

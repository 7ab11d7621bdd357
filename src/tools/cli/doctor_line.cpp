// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor_line.hpp"

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "cli/common_options.hpp"
#include "cli/options.hpp"

namespace halocline::cli {
namespace {

const char* doctor_footer =
    "Tries everything in separate jobs with a time limit; a crash or a hang becomes a finding. Run "
    "it\n"
    "where you start your runs (a shell, a batch script, a container), not under mpirun.\n\n"
    "Examples:\n"
    "  halocline doctor\n"
    "  halocline doctor --verbose --json doctor.json\n"
    "  halocline doctor --launcher \"srun -n {ranks}\" --batch slurm\n"
    "  halocline doctor --launcher \"mpirun -H n1:2,n2:2 -n {ranks}\" --ranks 4\n"
    "  halocline doctor --save good.json                 # while all is well\n"
    "  halocline doctor --compare good.json --strict     # what has changed since\n\n"
    "Exit codes: 0 all works, and runs take the fastest path, 1 something is broken or slow, or\n"
    "with --compare slower than it was, 2 usage, 3 with --strict: a path is not available,\n"
    "4 failure, or the time limit was too short to test all.";

}  // namespace

/// Words as the user wrote them, before they become options.
struct DoctorLine::Words {
  const Syntax* doctor = nullptr;
  std::optional<std::string> batch;
  std::optional<double> time_limit_seconds;
  bool strict = false, verbose = false;
  DoctorCommand command;
};

DoctorLine::DoctorLine(Syntax& syntax) : words_(std::make_unique<Words>()) {
  Words& words = *words_;
  DoctorCommand& command = words.command;
  Syntax& doctor =
      syntax.subcommand("doctor", "report what works here, how fast, and what to change");
  words.doctor = &doctor;
  doctor.footer(doctor_footer);

  const OptionGroup how = doctor.group("How");
  how.option("--launcher", "COMMAND", command.launcher,
             "start ranks with this command; {ranks} stands for their\n"
             "number: \"srun -n {ranks}\"; without it -n N is added\n"
             "[default: detected]");
  how.option("--ranks", "N", command.ranks,
             "use N ranks, placed by the launcher\n"
             "[default: 2 on each node of the allocation]");
  how.option("--time-limit", "S", words.time_limit_seconds,
             "stop a probe after S seconds without output\n[default: 20, more on a busy machine]");
  add_proofs(how, command.proofs);

  const OptionGroup results = doctor.group("Results");
  results.flag("--verbose", words.verbose, "also report all facts");
  add_json(results, command.json);
  results.option("--save", "FILE", command.save, "save the report for a later --compare");
  results.option("--compare", "FILE", command.compare, "report what has changed since that report");
  results.option("--batch", "KIND", words.batch,
                 "print a batch script for this machine after the report: slurm or pbs");
  results.flag("--strict", words.strict, "exit with code 3 if a path is not available");
}

DoctorLine::~DoctorLine() = default;

bool DoctorLine::parsed() const { return words_->doctor->parsed(); }

DoctorCommand DoctorLine::finish() const {
  const Words& words = *words_;
  DoctorCommand command = words.command;
  if (command.ranks.value_or(2) < 2)
    throw Error(ErrorKind::usage,
                fmt::format("paths are between ranks, so --ranks {} is too few; use 2 or more",
                            *command.ranks));
  if (const std::optional<double> limit = words.time_limit_seconds) {
    if (!(*limit >= 1) || *limit > 3600)
      throw Error(ErrorKind::usage,
                  fmt::format("a probe cannot be limited to {} seconds; use 1 to 3600", *limit));
    command.time_limit = std::chrono::milliseconds(static_cast<std::int64_t>(1000 * *limit));
  }
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

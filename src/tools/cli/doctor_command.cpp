// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor_command.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/files/temporary_file.hpp"
#include "base/process/launched.hpp"
#include "build_info.hpp"
#include "cli/common_options.hpp"
#include "cli/exit_code.hpp"
#include "cli/exit_report.hpp"
#include "cli/flags.hpp"
#include "cli/print.hpp"
#include "cli/ranks.hpp"
#include "report/render.hpp"

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

void refuse_to_be_a_rank(const Variables& variables) {
  const std::optional<Launched> launched = launched_by(variables);
  if (!launched) return;
  if (launched->rank.value_or(0) != 0) std::exit(report_exit(exit_usage));
  throw Error(ErrorKind::usage,
              fmt::format("doctor starts ranks by itself; run it without {}, where you would call "
                          "that",
                          launched->launcher));
}

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf()))
    throw Error(ErrorKind::usage, fmt::format("cannot read '{}', the report for --compare", path));
  return text.str();
}

int exit_code_of(doctor::Verdict verdict) {
  if (verdict == doctor::Verdict::problems) return exit_wrong_result;
  if (verdict == doctor::Verdict::untested) return exit_failure;
  return verdict == doctor::Verdict::incomplete ? exit_unavailable : exit_ok;
}

void print_on_terminal(const std::string& text) {
  if (!errors_reach_a_terminal()) return;
  fmt::print(stderr, "{} ...\n", text);
  std::fflush(stderr);
}

}  // namespace

DoctorLine::DoctorLine(Syntax& syntax)
    : syntax_(syntax.subcommand("doctor", "report what works here, how fast, and what to change")) {
  syntax_.footer(doctor_footer);

  const OptionGroup how = syntax_.group("How");
  how.option("--launcher", "COMMAND", command_.launcher,
             "start ranks with this command; {ranks} stands for their\n"
             "number: \"srun -n {ranks}\"; without it -n N is added\n"
             "[default: detected]");
  how.option("--ranks", "N", command_.ranks,
             "use N ranks, placed by the launcher\n"
             "[default: 2 on each node of the allocation]");
  how.option("--time-limit", "S", time_limit_seconds_,
             "stop a probe after S seconds without output\n[default: 20, more on a busy machine]");
  add_proofs(how, command_.proofs);

  const OptionGroup results = syntax_.group("Results");
  results.flag("--verbose", verbose_, "also report all facts");
  add_json(results, command_.json);
  results.option("--save", "FILE", command_.save, "save the report for a later --compare");
  results.option("--compare", "FILE", command_.compare,
                 "report what has changed since that report");
  results.option("--batch", "KIND", batch_,
                 "print a batch script for this machine after the report: slurm or pbs");
  results.flag("--strict", strict_, "exit with code 3 if a path is not available");
}

bool DoctorLine::parsed() const { return syntax_.parsed(); }

DoctorCommand DoctorLine::finish() const {
  DoctorCommand command = command_;
  if (command.ranks.value_or(2) < 2)
    throw Error(ErrorKind::usage,
                fmt::format("paths are between ranks, so --ranks {} is too few; use 2 or more",
                            *command.ranks));
  if (const std::optional<double> limit = time_limit_seconds_) {
    if (!(*limit >= 1) || *limit > 3600)
      throw Error(ErrorKind::usage,
                  fmt::format("a probe cannot be limited to {} seconds; use 1 to 3600", *limit));
    command.time_limit = std::chrono::milliseconds(static_cast<std::int64_t>(1000 * *limit));
  }
  if (batch_) {
    command.report.batch = doctor::batch_named(*batch_);
    if (!command.report.batch)
      throw Error(ErrorKind::usage, fmt::format("--batch '{}' is neither slurm nor pbs", *batch_));
  }
  if (verbose_) command.report.facts = doctor::FactsFor::all;
  if (strict_) command.strictness = doctor::Strictness::strict;
  return command;
}

int run_doctor(const DoctorCommand& command) {
  const Variables variables = current_variables();
  refuse_to_be_a_rank(variables);
  // Checks files before the examination, which takes time.
  std::optional<std::string> before;
  if (command.compare) before = content_of(*command.compare);
  if (before) doctor::changes(*before, *before, *command.compare);
  RunFiles files;
  add_report(files, command.json);
  files.add_result("--save", command.save);
  files.add_used("--compare", command.compare, "--save");
  files.add_used("--proofs", command.proofs);
  check(files);

  doctor::Diagnosis diagnosis =
      doctor::examine({.launcher = command.launcher,
                       .ranks = command.ranks,
                       .time_limit = command.time_limit,
                       .program = std::filesystem::read_symlink("/proc/self/exe"),
                       .launcher_hint = std::string(build_info::mpi_launcher),
                       .proofs = command.proofs,
                       .on_progress = print_on_terminal},
                      variables);
  doctor::ReportOptions options = command.report;
  if (before) {
    options.compared_with = command.compare;
    const std::string now = with_flags(render_json(doctor::report_of(diagnosis, {})));
    options.changes = doctor::changes(*before, now, *command.compare);
    doctor::add_findings(diagnosis.found, doctor::regressions(*before, now, *command.compare));
  }
  const Report report = doctor::report_of(diagnosis, options);
  write_report(report, command.json, Text::shown);
  if (command.save) write_text_file(*command.save, with_flags(render_json(report)));
  return exit_code_of(doctor::verdict(diagnosis.evidence, diagnosis.found, command.strictness));
}

}  // namespace halocline::cli

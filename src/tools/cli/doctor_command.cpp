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
#include "cli/exit_code.hpp"
#include "cli/exit_report.hpp"
#include "cli/flags.hpp"
#include "cli/print.hpp"
#include "cli/ranks.hpp"
#include "report/render.hpp"

namespace halocline::cli {
namespace {

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

int run_doctor(const DoctorCommand& command) {
  const Variables variables = current_variables();
  refuse_to_be_a_rank(variables);
  // What is wrong with files is told before all that takes time.
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

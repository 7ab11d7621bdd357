// SPDX-License-Identifier: Apache-2.0
#pragma once
// The command line, read.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <halocline/solver.hpp>

#include "cli/benchmark.hpp"
#include "cli/plan_command.hpp"
#include "doctor/report.hpp"

namespace halocline::cli {

struct SolveCommand {
  SolveOptions options;
  std::optional<int> ranks;  ///< to start
  double wait_limit_seconds = 120;
  std::optional<std::string> json;
  enum class Flag { no, yes };
  Flag profile = Flag::no, quiet = Flag::no;
};

struct DoctorCommand {
  std::optional<std::string> launcher, proofs, json, save, compare;
  std::optional<int> ranks = {};
  std::optional<std::chrono::milliseconds> time_limit = {};
  doctor::Strictness strictness = doctor::Strictness::lenient;
  doctor::ReportOptions report = {};
};

/// What to do: solve, measure, plan, examine, or print a text and end.
struct CommandLine {
  std::optional<SolveCommand> solve = {};
  std::optional<BenchCommand> bench = {};
  std::optional<PlanCommand> plan = {};
  std::optional<DoctorCommand> doctor = {};
  std::string text = {};  ///< help or version
};

/// Throws usage.
CommandLine read_command_line(const std::vector<std::string>& words);

}  // namespace halocline::cli

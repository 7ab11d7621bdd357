// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reading the command line.

#include <optional>
#include <string>
#include <vector>

#include <halocline/solver.hpp>

#include "cli/benchmark.hpp"
#include "cli/doctor_command.hpp"
#include "cli/plan_command.hpp"

namespace halocline::cli {

struct SolveCommand {
  SolveOptions options;
  std::optional<int> ranks;  ///< to start
  double wait_limit_seconds = 120;
  std::optional<std::string> json;
  enum class Flag { no, yes };
  Flag profile = Flag::no, quiet = Flag::no;
};

/// The selected command, or a text to print.
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

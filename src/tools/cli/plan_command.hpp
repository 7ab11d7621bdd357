// SPDX-License-Identifier: Apache-2.0
#pragma once
// `halocline plan`.

#include <optional>
#include <string>

#include <halocline/solver.hpp>

#include "plan/prospects.hpp"

namespace halocline::cli {

class Syntax;

struct PlanCommand {
  SolveOptions options;
  int ranks = 1;
  std::optional<std::string> json;
};

/// Adds `plan` to a command line, and reads it.
class PlanLine {
 public:
  explicit PlanLine(Syntax& syntax);
  PlanLine(const PlanLine&) = delete;
  PlanLine& operator=(const PlanLine&) = delete;

  /// True once the command line has selected it.
  bool parsed() const;
  /// Throws usage.
  PlanCommand finish() const;

 private:
  Syntax& syntax_;
  // Option values that become options of the solve.
  std::string problem_;
  std::optional<std::string> cells_, cells_per_rank_, process_grid_, precision_;
  PlanCommand command_;
};

/// Makes the plan in this process, without MPI. Throws usage.
plan::Plan plan_of(const PlanCommand& command);

/// Makes and prints the plan; returns the exit code.
int run_plan(const PlanCommand& command);

}  // namespace halocline::cli

// SPDX-License-Identifier: Apache-2.0
#pragma once
// `halocline plan`.

#include <memory>
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
  ~PlanLine();

  /// True once the command line has asked for it.
  bool parsed() const;
  /// Throws usage.
  PlanCommand finish() const;

 private:
  struct Words;
  std::unique_ptr<Words> words_;
};

/// Makes the plan in this process, without MPI. Throws usage.
plan::Plan plan_of(const PlanCommand& command);

/// Makes and tells it; returns the exit code.
int run_plan(const PlanCommand& command);

}  // namespace halocline::cli

// SPDX-License-Identifier: Apache-2.0
#pragma once
// `halocline problem`, and descriptions of problems for help.

#include <optional>
#include <string>
#include <vector>

#include "problem/model.hpp"
#include "solver/case.hpp"

namespace halocline::cli {

class Syntax;

/// Adds `problem list`, `problem show` and `problem check` to a command line, and answers them.
class ProblemLine {
 public:
  explicit ProblemLine(Syntax& syntax);
  ProblemLine(const ProblemLine&) = delete;
  ProblemLine& operator=(const ProblemLine&) = delete;

  /// True once the command line has selected it.
  bool parsed() const;
  /// Returns the text to print. Throws usage, also for mistakes in a problem file.
  std::string answer() const;

 private:
  Syntax &problem_, &list_, &show_, &check_;
  // Option values.
  std::string shown_, checked_;
  std::optional<std::string> cells_;
  std::vector<std::string> settings_;
};

/// Describes a problem with given choices: formulas written out, boundaries, the cost of updating a
/// cell, backends.
std::string explained(const problem::Model& model);

/// The same for a run, with its halo and a lower bound of the time per sweep on one GPU of this
/// machine, or on all cores if `backend` ("auto", "cpu", ...) or the formulas exclude GPUs. The
/// bound is the memory bandwidth, by a copy that is timed now, about 0.5 s.
std::string explained_here(const solver::Case& the_case, const std::string& backend);

/// Lists the built-in problems, a line each.
std::string list_of_problems();

/// Describes a problem with its default choices: formulas, size, stop, parameters. Throws usage.
std::string text_of_problem(const std::string& problem);

/// Returns the problem named on the command line of `solve`, if it can be described; otherwise an
/// empty text.
std::string named_problem(const std::vector<std::string>& words);

}  // namespace halocline::cli

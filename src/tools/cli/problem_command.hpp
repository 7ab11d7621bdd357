// SPDX-License-Identifier: Apache-2.0
#pragma once
// `halocline problem`, and what help says of problems.

#include <memory>
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
  ~ProblemLine();

  /// True once the command line has asked for it.
  bool parsed() const;
  /// Returns what the command prints. Throws usage, also for mistakes in a problem file.
  std::string answer() const;

 private:
  struct Words;
  std::unique_ptr<Words> words_;
};

/// Describes a problem with its choices made: formulas written out, boundaries, what an update of a
/// cell takes, what can run it.
std::string explained(const problem::Model& model);

/// The same of a run with its options, and the halo between ranks and the time that a sweep takes
/// at least on one GPU of this machine, or on all its cores where `backend` ("auto", "cpu", ...) or
/// the formulas leave no GPU: what memory allows, by a copy that is timed now, some 0.5 s.
std::string explained_here(const solver::Case& the_case, const std::string& backend);

/// Lists the built-in problems, a line each.
std::string list_of_problems();

/// Describes a problem with its default choices: formulas, size, stop, parameters. Throws usage.
std::string text_of_problem(const std::string& problem);

/// Returns the problem that the words of `solve` name, if it can be described; else nothing.
std::string named_problem(const std::vector<std::string>& words);

}  // namespace halocline::cli

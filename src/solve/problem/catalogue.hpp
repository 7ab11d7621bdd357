// SPDX-License-Identifier: Apache-2.0
#pragma once
// The problems that are compiled in, and the files of users. To add one, add its file to problems/
// and its name to the list in cmake/problems.cmake.

#include <span>
#include <string>
#include <string_view>

#include <halocline/problem.hpp>

#include "problem/file.hpp"

namespace halocline::problem {

struct BuiltIn {
  std::string_view name, text;
};

/// Lists the built-in problems, simplest first.
std::span<const BuiltIn> built_in_problems();

/// A problem as text, and its name in errors.
struct ProblemText {
  std::string name;  ///< of a built-in problem, or the path of a file
  std::string text;
};

/// Whether this names a file, not a built-in problem: it has a `/`, or ends in `.toml`.
bool is_path(std::string_view problem);

/// Returns the text of a problem, which may be built in or a file's. Throws usage, with a list of
/// the problems, for other names, and for files that cannot be read.
ProblemText find_problem(const Problem& problem);

}  // namespace halocline::problem

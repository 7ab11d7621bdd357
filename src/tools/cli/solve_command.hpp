// SPDX-License-Identifier: Apache-2.0
#pragma once
// `halocline solve`.

#include <optional>
#include <string>
#include <vector>

#include "cli/command_line.hpp"
#include "cli/ranks.hpp"

namespace halocline::cli {

/// Returns the reason for exit_wrong_result, or nothing.
std::optional<std::string> what_is_wrong(const SolveResult& result);

/// Returns the work of a solve on ranks.
RankJob solve_job(const SolveCommand& command);

/// Starts ranks if requested and none were started, or solves as one of them; returns the exit
/// code. `words` are the command line, for the ranks.
int run_solve(const SolveCommand& command, const std::vector<std::string>& words);

}  // namespace halocline::cli

// SPDX-License-Identifier: Apache-2.0
#pragma once
// `halocline solve`.

#include <optional>
#include <string>
#include <vector>

#include "cli/command_line.hpp"
#include "cli/ranks.hpp"

namespace halocline::cli {

/// Returns what makes the exit code exit_wrong_result, or nothing.
std::optional<std::string> what_is_wrong(const SolveResult& result);

/// What a solve does on ranks.
RankJob solve_job(const SolveCommand& command);

/// Starts ranks if asked to and none were started, or solves as one of them; returns the exit
/// code. `words` are the command line's, for the ranks.
int run_solve(const SolveCommand& command, const std::vector<std::string>& words);

}  // namespace halocline::cli

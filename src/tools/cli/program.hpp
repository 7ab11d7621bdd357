// SPDX-License-Identifier: Apache-2.0
#pragma once
// Main function of programs that start their own ranks.

#include <string>
#include <vector>

namespace halocline::cli {

/// Calls `run` with the words of a command line, or works as a rank of a probe job; reports errors.
/// Returns the exit code of the process.
int run_program(int argc, char** argv, int (*run)(const std::vector<std::string>& words));

}  // namespace halocline::cli

// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the main function of a program does that runs on ranks it starts itself.

#include <string>
#include <vector>

namespace halocline::cli {

/// Runs `run` on the words of a command line, or works as a rank of a probe job; reports errors.
/// Returns the exit code of the process.
int run_program(int argc, char** argv, int (*run)(const std::vector<std::string>& words));

}  // namespace halocline::cli

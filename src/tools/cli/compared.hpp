// SPDX-License-Identifier: Apache-2.0
#pragma once
// `--ab`: a benchmark with and without a setting of the environment.

#include <string>
#include <vector>

#include "cli/benchmark.hpp"

namespace halocline::cli {

/// Runs the command of these words, without its --ab, in jobs of their own: as it is, with the
/// setting, and both again; then tells the difference. Returns the exit code. Throws usage as a
/// rank of a launcher, whose environment is as it is, and resource for a report that cannot be
/// kept.
int run_compared(const CommonOptions& options, const std::vector<std::string>& words);

}  // namespace halocline::cli

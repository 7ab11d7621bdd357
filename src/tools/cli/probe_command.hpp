// SPDX-License-Identifier: Apache-2.0
#pragma once
// `halocline prove-gpu-aware`: what a probe job runs. For other programs, not for people, and
// not in --help.

#include <string>
#include <vector>

namespace halocline::cli {

/// True if the command line asks for it.
bool is_probe(const std::vector<std::string>& words);

/// Runs the probe as one of its ranks; returns the exit code. Throws usage.
int run_probe(const std::vector<std::string>& words);

}  // namespace halocline::cli

// SPDX-License-Identifier: Apache-2.0
#pragma once
// `halocline examine-paths`, which ranks of probes run. Internal, and not in --help.

#include <string>
#include <vector>

namespace halocline::cli {

/// True if the command line selects it.
bool is_examination(const std::vector<std::string>& words);

/// Examines as one of the ranks; returns the exit code. Throws usage.
int run_examination(const std::vector<std::string>& words);

}  // namespace halocline::cli

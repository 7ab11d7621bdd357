// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs on PATH.

#include <string>
#include <vector>

#include "base/process/variables.hpp"

namespace halocline {

/// Returns the file that `command` names: itself if it has a slash, else the first executable of
/// that name on the PATH of `variables`; empty if there is none.
std::string find_program(const std::string& command, const Variables& variables);

/// Returns all executables of that name, without a slash, on the PATH of `variables`, in its order.
std::vector<std::string> find_programs(const std::string& command, const Variables& variables);

}  // namespace halocline

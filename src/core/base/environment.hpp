// SPDX-License-Identifier: Apache-2.0
#pragma once
// The only way to read the environment: the rest of the code is a function of its arguments.

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace halocline {

std::optional<std::string> environment(const char* name);

/// Lists every variable as (name, value).
std::vector<std::pair<std::string, std::string>> environment_all();

}  // namespace halocline

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The only access to the environment: all other code depends on its arguments alone.

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace halocline {

std::optional<std::string> environment(const char* name);

/// Lists every variable as (name, value).
std::vector<std::pair<std::string, std::string>> environment_all();

}  // namespace halocline

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

/// Returns by what to multiply times that are waited for what never comes: HALOCLINE_TEST_TIME, which
/// only tests set, or 1. Throws usage unless that is above 0 and at most 1.
double test_time();

}  // namespace halocline

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Environment variables as a value, so that functions can take them as an argument.

#include <map>
#include <string>

#include "base/process/environment.hpp"

namespace halocline {

using Variables = std::map<std::string, std::string>;

/// Returns the variables of this process.
inline Variables current_variables() {
  Variables variables;
  for (auto& [name, value] : environment_all()) variables.emplace(name, value);
  return variables;
}

/// Returns a variable's value; empty if it is not set.
inline std::string value_of(const Variables& variables, const std::string& name) {
  const auto found = variables.find(name);
  return found == variables.end() ? "" : found->second;
}

}  // namespace halocline

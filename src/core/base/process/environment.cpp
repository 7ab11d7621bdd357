// SPDX-License-Identifier: Apache-2.0
#include "base/process/environment.hpp"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace halocline {

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

std::vector<std::pair<std::string, std::string>> environment_all() {
  std::vector<std::pair<std::string, std::string>> all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    all.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return all;
}

}  // namespace halocline

// SPDX-License-Identifier: Apache-2.0
#include "base/find_program.hpp"

#include <unistd.h>

#include <filesystem>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace halocline {

std::string find_program(const std::string& command, const Variables& variables) {
  const auto is_program = [](const std::string& path) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
  };
  if (command.find('/') != std::string::npos) return is_program(command) ? command : "";
  const auto path = variables.find("PATH");
  std::string_view folders = "/usr/bin:/bin";
  if (path != variables.end()) folders = path->second;
  while (!command.empty()) {
    const std::size_t colon = folders.find(':');
    const std::string_view folder = folders.substr(0, colon);
    const std::string candidate = fmt::format("{}/{}", folder.empty() ? "." : folder, command);
    if (is_program(candidate)) return candidate;
    if (colon == std::string_view::npos) break;
    folders.remove_prefix(colon + 1);
  }
  return "";
}

}  // namespace halocline

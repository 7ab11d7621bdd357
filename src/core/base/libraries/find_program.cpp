// SPDX-License-Identifier: Apache-2.0
#include "base/libraries/find_program.hpp"

#include <unistd.h>

#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace halocline {

namespace {

bool is_program(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::vector<std::string> find_programs(const std::string& command, const Variables& variables) {
  std::vector<std::string> all;
  const auto path = variables.find("PATH");
  std::string_view folders = "/usr/bin:/bin";
  if (path != variables.end()) folders = path->second;
  while (!command.empty()) {
    const std::size_t colon = folders.find(':');
    const std::string_view folder = folders.substr(0, colon);
    std::string candidate = fmt::format("{}/{}", folder.empty() ? "." : folder, command);
    if (is_program(candidate)) all.push_back(std::move(candidate));
    if (colon == std::string_view::npos) break;
    folders.remove_prefix(colon + 1);
  }
  return all;
}

std::string find_program(const std::string& command, const Variables& variables) {
  if (command.find('/') != std::string::npos) return is_program(command) ? command : "";
  const std::vector<std::string> all = find_programs(command, variables);
  return all.empty() ? "" : all.front();
}

}  // namespace halocline

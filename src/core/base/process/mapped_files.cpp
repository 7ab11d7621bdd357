// SPDX-License-Identifier: Apache-2.0
#include "base/process/mapped_files.hpp"

#include <fstream>
#include <string>

namespace halocline {

std::set<std::filesystem::path> mapped_files(std::string_view beginning) {
  std::set<std::filesystem::path> files;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t at = line.find('/');
    if (at == std::string::npos) continue;
    const std::filesystem::path path = line.substr(at);
    if (path.filename().native().starts_with(beginning)) files.insert(path);
  }
  return files;
}

}  // namespace halocline

// SPDX-License-Identifier: Apache-2.0
#include "base/files/small_files.hpp"

#include <algorithm>
#include <fstream>
#include <system_error>

namespace halocline {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string folder_of(const fs::path& path) {
  const std::string folder = path.parent_path().string();
  return folder.empty() ? "." : folder;
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code ignored;
  for (fs::directory_iterator at(folder, ignored), end; !ignored && at != end;
       at.increment(ignored))
    entries.push_back(at->path());
  std::sort(entries.begin(), entries.end());
  return entries;
}

}  // namespace halocline

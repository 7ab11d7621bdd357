// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the system tells in folders of small files, such as /proc and /sys.

#include <filesystem>
#include <string>
#include <vector>

namespace halocline {

/// Returns a file's first line; empty if it cannot be read.
std::string first_line(const std::filesystem::path& path);

/// Returns the paths of what a folder holds, sorted; none if it cannot be read.
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder);

}  // namespace halocline

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads small files of the system, such as those in /proc and /sys.

#include <filesystem>
#include <string>
#include <vector>

namespace halocline {

/// Returns a file's first line; empty if it cannot be read.
std::string first_line(const std::filesystem::path& path);

/// Returns the paths of a folder's entries, sorted; none if it cannot be read.
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder);

}  // namespace halocline

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Short queries of the file system: files such as those in /proc and /sys, and folders.

#include <filesystem>
#include <string>
#include <vector>

namespace halocline {

/// Returns a file's first line; empty if it cannot be read.
std::string first_line(const std::filesystem::path& path);

/// Returns the folder that a file of this name is in: "." for one without a folder.
std::string folder_of(const std::filesystem::path& path);

/// Returns the paths of a folder's entries, sorted; none if it cannot be read.
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder);

}  // namespace halocline

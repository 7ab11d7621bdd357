// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <set>
#include <string_view>

namespace halocline {

/// Returns the files that this process has mapped, libraries among them, whose names begin so.
std::set<std::filesystem::path> mapped_files(std::string_view beginning);

}  // namespace halocline

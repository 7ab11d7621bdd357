// SPDX-License-Identifier: Apache-2.0
#pragma once
// Words of the command line to values. Every function throws usage with the word and what it
// should look like.

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <halocline/grid.hpp>

namespace halocline::cli {

/// Reads "256x128" or "1e3x1e3x8", x first; `option` is named in errors.
Extents parse_extents(const std::string& word, const std::string& option);

/// Reads words with commas between them; none may be empty.
std::vector<std::string> parse_list(const std::string& word, const std::string& option);

/// Reads whole numbers with commas between them: "1,2,8".
std::vector<std::int64_t> parse_numbers(const std::string& word, const std::string& option);

/// Reads numbers of bytes with commas between them: "8,64Ki,1Mi".
std::vector<std::int64_t> parse_sizes(const std::string& word, const std::string& option);

/// Reads pairs of ranks with commas between them: "0-1,0-3".
std::vector<std::pair<int, int>> parse_pairs(const std::string& word, const std::string& option);

/// Reads names of axes: "xz".
std::array<bool, 3> parse_axes(const std::string& word, const std::string& option);

/// Reads "NAME=NUMBER".
std::pair<std::string, double> parse_assignment(const std::string& word, const std::string& option);

}  // namespace halocline::cli

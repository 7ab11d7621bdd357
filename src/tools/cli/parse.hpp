// SPDX-License-Identifier: Apache-2.0
#pragma once
// Conversion from words of the command line to values. Every function throws usage with the word
// and the expected form. Numbers are read by base/text/numbers.hpp; errors name `option`.

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "solver/option_words.hpp"

namespace halocline::cli {

using solver::field_and_rest;
using solver::parse_extents;
using solver::parse_list;
using solver::parse_probe;
using solver::parse_range;

/// Reads whole numbers with commas between them: "1,2,8".
std::vector<std::int64_t> parse_numbers(const std::string& word, const std::string& option);

/// Reads numbers of ranks with commas between them: "1,2,8".
std::vector<int> parse_ranks(const std::string& word, const std::string& option);

/// Reads numbers of bytes with commas between them: "8,64Ki,1Mi".
std::vector<std::int64_t> parse_sizes(const std::string& word, const std::string& option);

/// Reads pairs of ranks with commas between them: "0-1,0-3".
std::vector<std::pair<int, int>> parse_pairs(const std::string& word, const std::string& option);

/// Reads names of axes, each once: "xz".
std::array<bool, 3> parse_axes(const std::string& word, const std::string& option);

/// Reads words of the form "NAME=NUMBER", with distinct names.
std::vector<std::pair<std::string, double>> parse_assignments(const std::vector<std::string>& words,
                                                              const std::string& option);

}  // namespace halocline::cli

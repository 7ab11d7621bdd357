// SPDX-License-Identifier: Apache-2.0
#pragma once
// Words of the command line to values. Every function throws usage with the word and what it
// should look like; numbers are those of base/numbers.hpp, and `option` is named in errors.

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <halocline/grid.hpp>
#include <halocline/solver.hpp>

namespace halocline::cli {

/// Reads "256x128" or "1e3x1e3x8", x first.
Extents parse_extents(const std::string& word, const std::string& option);

/// Reads words with commas between them; none may be empty.
std::vector<std::string> parse_list(const std::string& word, const std::string& option);

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

/// Reads words of the form "NAME=NUMBER". No name may stand in two of them.
std::vector<std::pair<std::string, double>> parse_assignments(const std::vector<std::string>& words,
                                                              const std::string& option);

/// Reads what is measured: "[FIELD@]X[,Y[,Z]]", the index of a cell along each axis.
SolveOptions::Probe parse_probe(const std::string& word, const std::string& option);

/// Reads the ends of a range, "MIN,MAX", of a field: "[FIELD=]MIN,MAX".
SolveOptions::Range parse_range(const std::string& word, const std::string& option);

/// Splits "FIELD=FILE"; without a name before a `=` there is no field.
std::pair<std::string, std::string> field_and_rest(const std::string& word);

}  // namespace halocline::cli

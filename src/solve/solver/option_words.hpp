// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values of options as words: on command lines, in C and Fortran, and in files.
// Numbers are those of base/text/numbers.hpp.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <halocline/solver.hpp>

namespace halocline::solver {

/// Each throws usage, with a list of the valid names, for other names.
std::optional<Memory> read_memory(std::string_view word);  ///< nothing for "auto"
Precision read_precision(std::string_view word);
Norm read_norm(std::string_view word);
SolveOptions::Graphs read_graphs(std::string_view word);
SolveOptions::Writing read_writing(std::string_view word);

/// Each of these throws usage, with `option` and the word, for words of another form.

/// Reads "256x128" or "1e3x1e3x8", x first.
Extents parse_extents(const std::string& word, const std::string& option);
/// Reads words with commas between them; none may be empty.
std::vector<std::string> parse_list(const std::string& word, const std::string& option);
/// Reads "[FIELD@]X[,Y[,Z]]", the index of a cell along each axis.
SolveOptions::Probe parse_probe(const std::string& word, const std::string& option);
/// Reads the ends of a range, "MIN,MAX", of a field: "[FIELD=]MIN,MAX".
SolveOptions::Range parse_range(const std::string& word, const std::string& option);
/// Reads "NAME=NUMBER"; `assignments` must not have the name yet.
void add_assignment(const std::string& word, const std::string& option,
                    std::vector<std::pair<std::string, double>>& assignments);

/// Splits "FIELD=FILE"; without a name before a `=` there is no field.
std::pair<std::string, std::string> field_and_rest(const std::string& word);

/// Returns the name of a value.
std::string word_for(const std::optional<Memory>& memory);
std::string word_for(SolveOptions::Graphs graphs);
std::string word_for(SolveOptions::Writing writing);
std::string word_for(SolveOptions::Array::Use use);

}  // namespace halocline::solver

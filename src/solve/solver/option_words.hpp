// SPDX-License-Identifier: Apache-2.0
#pragma once
// The words of a command line or a file for the enums of SolveOptions.

#include <optional>
#include <string>
#include <string_view>

#include <halocline/solver.hpp>

namespace halocline::solver {

/// Each throws usage, with the words there are, for any other word.
std::optional<Memory> read_memory(std::string_view word);  ///< nothing for "auto"
Precision read_precision(std::string_view word);
Norm read_norm(std::string_view word);
SolveOptions::Graphs read_graphs(std::string_view word);

/// The words for them.
std::string word_for(const std::optional<Memory>& memory);
std::string word_for(SolveOptions::Graphs graphs);

}  // namespace halocline::solver

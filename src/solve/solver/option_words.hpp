// SPDX-License-Identifier: Apache-2.0
#pragma once
// The names of the enums of SolveOptions, as on command lines and in files.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <halocline/solver.hpp>

namespace halocline::solver {

/// Each throws usage, with a list of the valid names, for other names.
std::optional<Memory> read_memory(std::string_view word);  ///< nothing for "auto"
Precision read_precision(std::string_view word);
Norm read_norm(std::string_view word);
SolveOptions::Graphs read_graphs(std::string_view word);
SolveOptions::Writing read_writing(std::string_view word);

/// Lists the options that every rank has to set alike, a line each. Those left out may differ:
/// threads and vectors, as nodes do, and what only one rank uses.
std::vector<std::string> shared_options(const SolveOptions& options);

/// Returns the name of a value.
std::string word_for(const std::optional<Memory>& memory);
std::string word_for(SolveOptions::Graphs graphs);
std::string word_for(SolveOptions::Writing writing);
std::string word_for(SolveOptions::Array::Use use);

}  // namespace halocline::solver

#pragma once
// Words of the command line to values. Every function throws usage with the word and what it
// should look like.

#include <string>
#include <utility>

#include <halocline/grid.hpp>

namespace halocline::cli {

/// Reads "256x128" or "1e3x1e3x8", x first; `option` is named in errors.
Extents parse_extents(const std::string& word, const std::string& option);

/// Reads "NAME=NUMBER".
std::pair<std::string, double> parse_assignment(const std::string& word, const std::string& option);

}  // namespace halocline::cli

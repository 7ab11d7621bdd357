// SPDX-License-Identifier: Apache-2.0
#pragma once
// Command lines, as far as the command goes before it starts ranks.

#include <string>
#include <string_view>
#include <vector>

#include "support/caught.hpp"

namespace halocline::test {

/// Splits a text at a letter; empty parts count.
std::vector<std::string> parts_of(std::string_view text, char between);

/// Splits a line at its blanks; '' stands for an empty word, and the first ~ of a word for the
/// folder, if there is one.
std::vector<std::string> words_in(std::string_view line, const std::string& folder = "");

/// Reads a command line and checks its run and its files; a plan is made. Returns what is refused,
/// as the command says it.
Caught refusal_of(const std::vector<std::string>& words);

/// What a command line prints that asks for a text, such as help.
std::string printed_by(const std::vector<std::string>& words);

}  // namespace halocline::test

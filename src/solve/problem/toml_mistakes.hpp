// SPDX-License-Identifier: Apache-2.0
#pragma once
// Mistakes in TOML that its parser cannot report, or not well.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace halocline::problem {

/// The most parts of a key, a.b.c; the longest with a meaning has six.
inline constexpr int most_parts = 16;
/// Returns where a key has its first part too many, in bytes. For texts that are not parsed yet:
/// the parser calls itself for each part, so that many of them would exhaust the stack.
std::optional<std::size_t> find_long_key(std::string_view text);

struct TomlMistake {
  std::size_t at, length;  ///< bytes
  std::string what;
};

/// Searches the line of a parser's error, which is at a byte, for frequent mistakes: formulas and
/// words without quotes, pasted characters.
std::optional<TomlMistake> find_toml_mistake(std::string_view text, std::size_t at);

}  // namespace halocline::problem

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The characters of a text in UTF-8, and substitutes for those that come with pasted text: from a
// page, a PDF or a word processor.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace halocline::problem {

/// Whether a byte belongs to the code point before it.
constexpr bool continues_code_point(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

/// Takes a code point off the front of a text, with all bytes that continue it.
std::string_view take_point(std::string_view& text);

/// Decodes UTF-8; nothing for bytes that are none.
std::optional<std::uint32_t> decoded(std::string_view point);

/// Whether a terminal may obey it: a control character, or one that turns the direction of text.
bool is_obeyed(std::uint32_t point);

/// A character beyond ASCII: "'×' (U+00D7)", and the remedy: "write *". Both are empty where it is
/// not UTF-8; the advice also for unknown characters.
struct ForeignCharacter {
  std::string name = {}, advice = {};
};
/// The advice on quotes that are not ASCII.
inline constexpr std::string_view ascii_quote = "write \" or '";
/// Names the character that a text begins with.
ForeignCharacter foreign_character(std::string_view text);

}  // namespace halocline::problem

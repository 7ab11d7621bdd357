// SPDX-License-Identifier: Apache-2.0
#include "problem/toml_mistakes.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "problem/characters.hpp"
#include "problem/syntax.hpp"

namespace halocline::problem {
namespace {

// Limits the time of the search for formulas.
constexpr std::size_t most_looked_at = 1000, most_ends = 16;

constexpr std::string_view blanks = " \t\r";

/// Returns the end of the string that begins at a quote. One that is not ended reaches to the end
/// of its line, or of the text; nothing is read beyond it anyway.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const auto is_ended = [&](std::size_t count) {
    const std::string_view next = text.substr(at, count);
    return next.size() == count && next.find_first_not_of(quote) == next.npos;
  };
  const std::size_t quotes = is_ended(3) ? 3 : 1;
  for (at += quotes; at < text.size() && !is_ended(quotes); ++at) {
    if (quotes == 1 && text[at] == '\n') return at;
    if (quote == '"' && text[at] == '\\') ++at;
  }
  at = std::min(at + quotes, text.size());
  // A long string may have two quotes more at its end.
  for (int more = 0; quotes == 3 && more < 2 && is_ended(1); ++more) ++at;
  return at;
}

/// A line without its comment, and its text outside of strings.
struct Line {
  std::size_t begin;  ///< in the text
  std::string_view code;
  std::string bare;  ///< the same, with strings as blanks
  /// Position of the first character beyond ASCII outside of strings, or in one that is not closed.
  std::optional<std::size_t> foreign = {};
};

Line line_at(std::string_view text, std::size_t at) {
  at = std::min(at, text.size());
  const std::size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;  // npos + 1 is 0
  Line line{.begin = begin, .code = text.substr(begin, text.find('\n', at) - begin), .bare = {}};
  char quote = 0;
  std::optional<std::size_t> in_string;
  std::size_t i = 0;
  for (; i < line.code.size() && (quote != 0 || line.code[i] != '#'); ++i) {
    const char c = line.code[i];
    const bool is_foreign = static_cast<unsigned char>(c) >= 0x80;
    line.bare += quote != 0 ? ' ' : c;
    if (quote == '"' && c == '\\' && i + 1 < line.code.size()) {
      line.bare += ' ';
      ++i;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else if (quote != 0 && c == quote) {
      quote = 0;
      line.bare.back() = c;
      in_string.reset();
    } else if (is_foreign && quote == 0 && !line.foreign) {
      line.foreign = i;
    } else if (is_foreign && quote != 0 && !in_string) {
      in_string = i;
    }
  }
  line.code = line.code.substr(0, i);
  // A pasted quote that was to close it. Other characters are allowed in a string.
  if (!line.foreign && in_string &&
      foreign_character(line.code.substr(*in_string)).advice == ascii_quote)
    line.foreign = in_string;
  return line;
}

/// The first byte of a line that is none of UTF-8.
std::optional<std::size_t> strange_byte(std::string_view line) {
  for (std::string_view rest = line; !rest.empty();) {
    const std::size_t at = line.size() - rest.size();
    if (!decoded(take_point(rest))) return at;
  }
  return std::nullopt;
}

/// Whether a long string, of three quotes, is open at the end of a text.
bool ends_in_long_string(std::string_view text) {
  bool is_open = false;
  for (const std::string_view quotes : {"\"\"\"", "'''"})
    for (std::size_t at = text.find(quotes); at != text.npos; at = text.find(quotes, at + 3))
      is_open = !is_open;
  return is_open;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = std::min(text.find_first_not_of(blanks), text.size());
  return text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}

std::optional<Syntax> syntax_of(std::string_view text) {
  try {
    return parse(text);
  } catch (const Mistake&) {
    return std::nullopt;
  }
}

/// The formula, or the word, that begins at a place of a line.
std::optional<std::string_view> bare_value(std::string_view code, std::size_t begin) {
  const std::string_view whole = trimmed(code.substr(begin));
  if (whole.empty() || std::string_view("\"'[{").find(whole[0]) != std::string_view::npos)
    return std::nullopt;
  if (syntax_of(whole)) return whole;
  std::size_t end = code.find_first_of(",]}", begin);
  for (std::size_t tried = 0; end != code.npos && tried < most_ends; ++tried) {
    const std::string_view part = trimmed(code.substr(begin, end - begin));
    if (syntax_of(part)) return part;
    end = code.find_first_of(",]}", end + 1);
  }
  return std::nullopt;
}

/// "x+" of { x+ = 0 }, at its sign.
std::optional<std::string_view> bare_key(std::string_view code, std::size_t at) {
  if (at >= code.size() || (code[at] != '+' && code[at] != '*')) return std::nullopt;
  const std::size_t behind = code.find_first_not_of(blanks, at + 1);
  if (behind == code.npos || code[behind] != '=') return std::nullopt;
  const std::size_t begin = code.substr(0, at).find_last_of(" \t{,.") + 1;
  return code.substr(begin, at + 1 - begin);
}

/// Whether it is a number of formulas only: .5, 5., 5.e3 or 01.
bool is_no_toml(std::string_view number) {
  const auto has_digit = [&](std::size_t at) { return at < number.size() && is_digit(number[at]); };
  const std::size_t point = number.find('.');
  if (point != number.npos) return point == 0 || !has_digit(point + 1);
  return number[0] == '0' && has_digit(1);
}

std::optional<TomlMistake> unquoted(const Line& line, std::string_view value) {
  const auto at = line.begin + static_cast<std::size_t>(value.data() - line.code.data());
  const std::optional<Syntax> syntax = syntax_of(value);
  if (syntax && syntax->kind == Syntax::Kind::number) {
    if (!is_no_toml(value)) return std::nullopt;
    return TomlMistake{at, value.size(),
                       "TOML writes numbers as 0.5, 5.0 and 1, not .5, 5. and 01"};
  }
  if (value == "true" || value == "false") return std::nullopt;
  return TomlMistake{at, value.size(),
                     fmt::format("formulas and words stand in quotes: \"{}\"", value)};
}

}  // namespace

std::optional<std::size_t> find_long_key(std::string_view text) {
  int dots = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      at = end_of_string(text, at);
      continue;
    }
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (c == '.' && ++dots == most_parts) return at;
    if (std::string_view("\n=,[]{}").find(c) != std::string_view::npos) dots = 0;
    ++at;
  }
  return std::nullopt;
}

std::optional<TomlMistake> find_toml_mistake(std::string_view text, std::size_t at) {
  const Line line = line_at(text, at);
  if (const auto strange =
          strange_byte(text.substr(line.begin, text.find('\n', line.begin) - line.begin))) {
    const std::size_t place = line.begin + *strange;
    return TomlMistake{place, 1,
                       fmt::format("byte {:#04x} is not UTF-8; save the file as UTF-8",
                                   static_cast<unsigned char>(text[place]))};
  }
  if (ends_in_long_string(text.substr(0, line.begin))) return std::nullopt;
  if (line.foreign) {
    const std::size_t place = line.begin + *line.foreign;
    const ForeignCharacter foreign = foreign_character(text.substr(place));
    return TomlMistake{place, 1,
                       fmt::format("there is a {} outside of quotes{}{}", foreign.name,
                                   foreign.advice.empty() ? "" : "; ", foreign.advice)};
  }
  if (line.code.size() > most_looked_at) return std::nullopt;
  if (const auto key = bare_key(line.code, at - line.begin))
    return TomlMistake{at, 1, fmt::format("a key with this sign stands in quotes: \"{}\"", *key)};
  const std::size_t first = line.bare.find('=');
  if (first == line.bare.npos) return std::nullopt;
  if (const auto value = bare_value(line.code, first + 1)) return unquoted(line, *value);
  const std::size_t last =
      std::string_view(line.bare).substr(0, at - line.begin + 1).find_last_of("=,[{");
  if (last == line.bare.npos) return std::nullopt;
  if (const auto value = bare_value(line.code, last + 1)) return unquoted(line, *value);
  return std::nullopt;
}

}  // namespace halocline::problem

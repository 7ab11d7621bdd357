// SPDX-License-Identifier: Apache-2.0
#include "problem/source.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace halocline::problem {
namespace {

bool continues_code_point(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues_code_point(c); }));
}

/// A long line is cut around what is shown, and what a terminal would obey is replaced.
constexpr std::size_t most_before = 60, most_shown = 100;
/// Of a message; those without a user's names have up to 300 bytes.
constexpr std::size_t most_said = 1000;

/// Takes a code point off the front of a text, with all bytes that continue it.
std::string_view take_point(std::string_view& text) {
  std::size_t end = 1;
  while (end < text.size() && continues_code_point(text[end])) ++end;
  const std::string_view point = text.substr(0, end);
  text.remove_prefix(end);
  return point;
}

/// Decodes UTF-8; nothing for bytes that are none.
std::optional<std::uint32_t> decoded(std::string_view point) {
  constexpr std::array<unsigned, 5> marks{0, 0, 0xc0, 0xe0, 0xf0};
  constexpr std::array<std::uint32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
  const auto first = static_cast<unsigned char>(point[0]);
  if (point.size() == 1) return first < 0x80 ? std::optional<std::uint32_t>(first) : std::nullopt;
  if (point.size() > 4) return std::nullopt;
  std::uint32_t value = first - marks[point.size()];
  if (value >= 0x80U >> point.size()) return std::nullopt;
  for (const char c : point.substr(1)) value = value << 6 | (static_cast<unsigned char>(c) & 0x3f);
  const bool is_surrogate = value >= 0xd800 && value < 0xe000;
  if (value < least[point.size()] || value > 0x10ffff || is_surrogate) return std::nullopt;
  return value;
}

/// Whether a terminal may obey it: a control character, or one that turns the direction of text.
bool is_obeyed(std::uint32_t value) {
  return value < 0x20 || (value >= 0x7f && value < 0xa0) || value == 0x61c || value == 0x200e ||
         value == 0x200f || (value >= 0x2028 && value <= 0x202e) ||
         (value >= 0x2066 && value <= 0x2069);
}

/// Each code point in one column.
std::string line_shown(std::string_view line) {
  std::string shown;
  while (!line.empty()) {
    const std::string_view point = take_point(line);
    const std::optional<std::uint32_t> value = decoded(point);
    if (value && !is_obeyed(*value))
      shown += point;
    else
      shown += point == "\t" ? ' ' : '?';
  }
  return shown;
}

/// The line and the mark below it.
std::string marked(std::string_view line, std::size_t at, std::size_t length) {
  at = std::min(at, line.size());
  std::size_t first = at > most_before ? at - most_before : 0;
  while (first > 0 && continues_code_point(line[first])) --first;
  std::size_t last = std::min(line.size(), first + most_shown);
  while (last < line.size() && continues_code_point(line[last])) ++last;
  const std::string_view part = line.substr(first, last - first);
  const std::string_view before = part.substr(0, at - first);
  const std::size_t room = part.size() - before.size();
  const std::size_t marks = code_points(part.substr(before.size(), std::min(length, room)));
  return fmt::format("    {}\n    {:{}}^{:~>{}}", line_shown(part), "", code_points(before), "",
                     marks > 1 ? marks - 1 : 0);
}

}  // namespace

std::string printable(std::string_view text, Lines lines) {
  std::string said;
  while (!text.empty()) {
    const std::string_view point = take_point(text);
    const std::optional<std::uint32_t> value = decoded(point);
    const bool is_kept = lines == Lines::kept && (point == "\t" || point == "\n");
    if (!value)
      said += '?';
    else if (!is_obeyed(*value) || is_kept)
      said += point;
    else
      said += *value < 0x100 ? fmt::format("\\x{:02x}", *value) : fmt::format("\\u{:04x}", *value);
  }
  if (said.size() <= most_said) return said;
  std::size_t first = most_said / 2, last = said.size() - most_said / 2;
  while (continues_code_point(said[first])) --first;
  while (continues_code_point(said[last])) ++last;
  return fmt::format("{} ... {}", said.substr(0, first), said.substr(last));
}

Source::Source(std::string name, std::string text)
    : name_(std::move(name)), text_(std::move(text)), lines_{0} {
  for (std::size_t at = 0; at < text_.size(); ++at) {
    if (continues_code_point(text_[at])) continue;
    points_.push_back(static_cast<std::uint32_t>(at));
    if (text_[at] == '\n') lines_.push_back(static_cast<std::uint32_t>(points_.size()));
  }
}

std::size_t Source::offset_of(std::size_t line, std::size_t column) const {
  if (line > lines_.size()) return text_.size();
  const std::size_t begin = line == 0 ? 0 : lines_[line - 1];
  const std::size_t end = line < lines_.size() ? lines_[line] - 1 : points_.size();
  const std::size_t point = std::min(begin + (column == 0 ? 0 : column - 1), end);
  return point < points_.size() ? points_[point] : text_.size();
}

std::string Source::shown(std::size_t at, std::size_t length, std::string_view what) const {
  at = std::min(at, text_.size());
  const std::size_t begin = at == 0 ? 0 : text_.rfind('\n', at - 1) + 1;  // npos + 1 is 0
  std::size_t end = text_.find('\n', at);
  if (end == std::string::npos) end = text_.size();
  const auto line =
      std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  std::string_view whole = std::string_view(text_).substr(begin, end - begin);
  const std::size_t column = code_points(whole.substr(0, at - begin)) + 1;
  if (whole.ends_with('\r')) whole.remove_suffix(1);
  return fmt::format("{}:{}:{}: {}\n{}", name_, line + 1, column, printable(what),
                     marked(whole, at - begin, length));
}

std::string Source::shown(const Written& written, std::size_t at, std::size_t length,
                          std::string_view what) const {
  if (written.is_verbatim) return shown(written.begin + at, length, what);
  return fmt::format("{}\n  the value reads:\n{}", shown(written.begin, 1, what),
                     marked(written.text, at, length));
}

}  // namespace halocline::problem

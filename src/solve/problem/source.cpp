// SPDX-License-Identifier: Apache-2.0
#include "problem/source.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "problem/characters.hpp"

namespace halocline::problem {
namespace {

std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues_code_point(c); }));
}

/// A long line is cut around the marked part, and control characters are replaced.
constexpr std::size_t most_before = 60, most_shown = 100;
/// The longest message; those without a user's names have up to 300 bytes.
constexpr std::size_t most_bytes = 1000;

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
  std::string shown;
  while (!text.empty()) {
    const std::string_view point = take_point(text);
    const std::optional<std::uint32_t> value = decoded(point);
    const bool is_kept = lines == Lines::kept && (point == "\t" || point == "\n");
    if (!value)
      shown += '?';
    else if (!is_obeyed(*value) || is_kept)
      shown += point;
    else
      shown += *value < 0x100 ? fmt::format("\\x{:02x}", *value) : fmt::format("\\u{:04x}", *value);
  }
  if (shown.size() <= most_bytes) return shown;
  std::size_t first = most_bytes / 2, last = shown.size() - most_bytes / 2;
  while (continues_code_point(shown[first])) --first;
  while (continues_code_point(shown[last])) ++last;
  return fmt::format("{} ... {}", shown.substr(0, first), shown.substr(last));
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

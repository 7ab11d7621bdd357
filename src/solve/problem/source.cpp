// SPDX-License-Identifier: Apache-2.0
#include "problem/source.hpp"

#include <algorithm>
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

std::string printable(std::string_view text) {
  std::string shown(text);
  for (char& c : shown)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = c == '\t' ? ' ' : '?';
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
  return fmt::format("    {}\n    {:{}}^{:~>{}}", printable(part), "", code_points(before), "",
                     marks > 1 ? marks - 1 : 0);
}

}  // namespace

Source::Source(std::string name, std::string text)
    : name_(std::move(name)), text_(std::move(text)) {}

std::size_t Source::offset_of(std::size_t line, std::size_t column) const {
  std::size_t at = 0;
  for (; line > 1 && at < text_.size(); --line) {
    const std::size_t end = text_.find('\n', at);
    at = end == std::string::npos ? text_.size() : end + 1;
  }
  for (; column > 1 && at < text_.size() && text_[at] != '\n'; --column) do
      ++at;
    while (at < text_.size() && continues_code_point(text_[at]));
  return at;
}

std::string Source::shown(std::size_t at, std::size_t length, std::string_view what) const {
  at = std::min(at, text_.size());
  const std::size_t begin = at == 0 ? 0 : text_.rfind('\n', at - 1) + 1;  // npos + 1 is 0
  std::size_t end = text_.find('\n', at);
  if (end == std::string::npos) end = text_.size();
  const auto line =
      std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  const std::string_view whole = std::string_view(text_).substr(begin, end - begin);
  return fmt::format("{}:{}:{}: {}\n{}", name_, line + 1,
                     code_points(whole.substr(0, at - begin)) + 1, what,
                     marked(whole, at - begin, length));
}

std::string Source::shown(const Written& written, std::size_t at, std::size_t length,
                          std::string_view what) const {
  if (written.is_verbatim) return shown(written.begin + at, length, what);
  return fmt::format("{}\n  the value reads:\n{}", shown(written.begin, 1, what),
                     marked(written.text, at, length));
}

}  // namespace halocline::problem

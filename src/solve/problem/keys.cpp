// SPDX-License-Identifier: Apache-2.0
#include "problem/keys.hpp"

#include <algorithm>

namespace halocline::problem {
namespace {

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

}  // namespace halocline::problem

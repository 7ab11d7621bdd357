// SPDX-License-Identifier: Apache-2.0
#include "problem/mistakes.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "problem/characters.hpp"

namespace halocline::problem {
namespace {

/// " at column 6 of line 2", without a line that is the mistake's own.
std::string place_text(const Source& source, std::size_t at, std::size_t of_mistake) {
  const std::string_view text = source.text();
  const auto breaks_before = [&](std::size_t end) {
    return std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '\n');
  };
  const std::string_view before = text.substr(0, at);
  const std::string_view line = before.substr(before.rfind('\n') + 1);  // npos + 1 is 0
  const auto columns =
      1 + std::count_if(line.begin(), line.end(), [](char c) { return !continues_code_point(c); });
  const std::string column = fmt::format(" at column {}", columns);
  if (breaks_before(at) == breaks_before(of_mistake)) return column;
  return fmt::format("{} of line {}", column, 1 + breaks_before(at));
}

}  // namespace

std::string shown(const Source& source, const Written& written, const Mistake& mistake) {
  std::string what = mistake.what();
  // Elsewhere the file has other columns than the text.
  if (mistake.opening() && written.is_verbatim)
    what += place_text(source, written.begin + *mistake.opening(), written.begin + mistake.at());
  return source.shown(written, mistake.at(), mistake.length(), what);
}

}  // namespace halocline::problem

// SPDX-License-Identifier: Apache-2.0
#include "problem/translator.hpp"

#include <algorithm>

#include <halocline/error.hpp>

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

template <class Work>
auto Translator::with(const Written& written, Work work) const {
  try {
    return work(parse(written.text));
  } catch (const Mistake& mistake) {
    std::string what = mistake.what();
    // Columns of the file differ from those of a text that has escapes.
    if (mistake.opening() && written.is_verbatim)
      what += place_text(source_, written.begin + *mistake.opening(), written.begin + mistake.at());
    throw Error(ErrorKind::usage, source_.shown(written, mistake.at(), mistake.length(), what));
  }
}

Syntax Translator::parsed(const Written& written) const {
  return with(written, [](Syntax syntax) { return syntax; });
}

Ref Translator::meaning(const Written& written, Use use) const {
  return with(written,
              [&](const Syntax& syntax) { return meaning_of(tree_, syntax, names_, use); });
}

bool Translator::holds(const Written& condition) const {
  return with(condition, [&](const Syntax& syntax) {
    return tree_[condition_of(tree_, syntax, names_, Use::number)].value != 0;
  });
}

void Translator::check_names(const Written& written) const {
  with(written, [&](const Syntax& syntax) { problem::check_names(syntax, names_); });
}

void Translator::refuse(std::size_t at, std::size_t length, const std::string& what) const {
  throw Error(ErrorKind::usage, source_.shown(at, length, what));
}
void Translator::refuse(const Written& written, const std::string& what) const {
  refuse(written.begin, written.text.size(), what);
}
void Translator::refuse(const std::string& what) const {
  throw Error(ErrorKind::usage, fmt::format("{}: {}", source_.name(), what));
}

}  // namespace halocline::problem

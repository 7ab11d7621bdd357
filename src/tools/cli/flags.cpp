// SPDX-License-Identifier: Apache-2.0
#include "cli/flags.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "solver/options.hpp"

namespace halocline::cli {
namespace {

/// Flags of options outside the table of solve. scripts/check_option_names.py reads both tables.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> other_flags{
    {{"expected_halo", "--halo-depth"}, {"wait_limit", "--wait-limit"}}};

std::string_view flag_of(std::string_view name) {
  for (const solver::Option& option : solver::options())
    if (option.name == name) return option.flag;
  for (const auto& [other, flag] : other_flags)
    if (other == name) return flag;
  return {};
}

/// Removes `before` and a quoted word from the front of a text, and returns the word; empty if they
/// are not there.
std::string_view take_quoted(std::string_view& text, std::string_view before) {
  const std::size_t end = text.starts_with(before) ? text.find('\'', before.size()) : text.npos;
  if (end == text.npos) return {};
  const std::string_view word = text.substr(before.size(), end - before.size());
  text.remove_prefix(end + 1);
  return word;
}

}  // namespace

std::string with_flags(std::string_view text) {
  constexpr std::string_view opening = "option '", verb = "set ";
  std::string result;
  while (!text.empty()) {
    const std::size_t at = text.find(opening);
    result += text.substr(0, at);
    text.remove_prefix(std::min(at, text.size()));
    std::string_view rest = text;
    const std::string_view flag = flag_of(take_quoted(rest, opening));
    if (flag.empty()) {
      // An option of another program, or the end of the text.
      result += text.substr(0, opening.size());
      text.remove_prefix(std::min(opening.size(), text.size()));
      continue;
    }
    if (result.ends_with(verb)) result.replace(result.size() - verb.size(), verb.size(), "use ");
    result += flag;
    for (const std::string_view before : {" to '", " set to '"})
      if (const std::string_view value = take_quoted(rest, before); !value.empty())
        result.append(1, ' ').append(value);
    text = rest;
  }
  return result;
}

}  // namespace halocline::cli

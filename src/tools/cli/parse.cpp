// SPDX-License-Identifier: Apache-2.0
#include "cli/parse.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/numbers.hpp"
#include "base/words.hpp"

namespace halocline::cli {
namespace {

/// What errors about a part of a word begin with.
std::string part_of(const std::string& word, const std::string& option, std::string_view is_not) {
  return fmt::format("{} '{}' is not {}:", option, word, is_not);
}

template <class Integer>
std::vector<Integer> read_list(const std::string& word, const std::string& option,
                               std::string_view is_not) {
  std::vector<Integer> numbers;
  for (const std::string& each : parse_list(word, option))
    numbers.push_back(read_whole<Integer>(each, part_of(word, option, is_not)));
  return numbers;
}

}  // namespace

Extents parse_extents(const std::string& word, const std::string& option) {
  const std::string what = part_of(word, option, "a size such as 256x128");
  Int3 values{1, 1, 1};
  int axes = 0;
  for (std::size_t at = 0; at <= word.size(); ++axes) {
    const std::size_t end = std::min(word.find_first_of("xX", at), word.size());
    const auto value =
        read_whole<std::int64_t>(std::string_view(word).substr(at, end - at), what, 1);
    if (axes == 3)
      throw Error(ErrorKind::usage, fmt::format("{} '{}' has more than 3 axes", option, word));
    values[axes] = value;
    at = end + 1;
  }
  return Extents(values, axes);
}

std::vector<std::string> parse_list(const std::string& word, const std::string& option) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= word.size();) {
    const std::size_t end = std::min(word.find(',', at), word.size());
    words.push_back(word.substr(at, end - at));
    if (words.back().empty())
      throw Error(ErrorKind::usage,
                  fmt::format("{} '{}' is not a list; write one value, or several separated by "
                              "commas without spaces",
                              option, word));
    at = end + 1;
  }
  return words;
}

std::vector<std::int64_t> parse_numbers(const std::string& word, const std::string& option) {
  return read_list<std::int64_t>(word, option, "a list of whole numbers such as 1,2");
}

std::vector<int> parse_ranks(const std::string& word, const std::string& option) {
  return read_list<int>(word, option, "a list of whole numbers such as 1,2");
}

std::vector<std::int64_t> parse_sizes(const std::string& word, const std::string& option) {
  return read_list<std::int64_t>(word, option, "a list of sizes in bytes such as 8,64Ki,1Mi");
}

std::vector<std::pair<int, int>> parse_pairs(const std::string& word, const std::string& option) {
  const std::string what = part_of(word, option, "a list of pairs of ranks such as 0-1,0-3");
  std::vector<std::pair<int, int>> pairs;
  for (const std::string& each : parse_list(word, option)) {
    const std::size_t dash = std::min(each.find('-'), each.size());
    const std::string second = dash < each.size() ? each.substr(dash + 1) : "";
    pairs.emplace_back(read_whole<int>(each.substr(0, dash), what, 0),
                       read_whole<int>(second, what, 0));
  }
  return pairs;
}

std::array<bool, 3> parse_axes(const std::string& word, const std::string& option) {
  std::array<bool, 3> axes{};
  for (const char letter : word) {
    if (letter < 'x' || letter > 'z')
      throw Error(
          ErrorKind::usage,
          fmt::format("{} '{}' may name only the axes x, y and z, such as xy", option, word));
    bool& axis = axes[static_cast<std::size_t>(letter - 'x')];
    if (axis)
      throw Error(ErrorKind::usage,
                  fmt::format("{} '{}' names {} twice; name it once", option, word, letter));
    axis = true;
  }
  return axes;
}

SolveOptions::Probe parse_probe(const std::string& word, const std::string& option) {
  const std::size_t at = word.find('@');
  SolveOptions::Probe probe{.field = word.substr(0, at == word.npos ? 0 : at), .cell = {}};
  const std::string what = part_of(word, option, "a cell such as 10,20 or u@10,20");
  if (at == 0) throw Error(ErrorKind::usage, what + " the field before '@' is missing");
  for (const std::string& index : parse_list(at == word.npos ? word : word.substr(at + 1), option))
    probe.cell.push_back(read_whole<std::int64_t>(index, what));
  return probe;
}

SolveOptions::Range parse_range(const std::string& word, const std::string& option) {
  const auto [field, ends] = field_and_rest(word);
  const std::string what = part_of(word, option, "a range such as 0,1 or u=0,1");
  const std::vector<std::string> numbers = parse_list(ends, option);
  if (numbers.size() != 2)
    throw Error(ErrorKind::usage,
                fmt::format("{} it has {}", what, counted(numbers.size(), "number")));
  return {
      .field = field, .min = read_number(numbers[0], what), .max = read_number(numbers[1], what)};
}

std::pair<std::string, std::string> field_and_rest(const std::string& word) {
  const std::size_t equals = word.find('=');
  const auto is_of_name = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  if (equals == word.npos || equals == 0 ||
      !std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals), is_of_name))
    return {"", word};
  return {word.substr(0, equals), word.substr(equals + 1)};
}

std::vector<std::pair<std::string, double>> parse_assignments(const std::vector<std::string>& words,
                                                              const std::string& option) {
  std::vector<std::pair<std::string, double>> assignments;
  for (const std::string& word : words) {
    const std::string what = part_of(word, option, "of the form NAME=NUMBER");
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0)
      throw Error(ErrorKind::usage,
                  fmt::format("{} '{}' is not of the form NAME=NUMBER", option, word));
    const std::string name = word.substr(0, equals);
    for (const auto& [other, value] : assignments)
      if (other == name)
        throw Error(ErrorKind::usage,
                    fmt::format("{} sets {} twice, to {} and by '{}'; set it once", option, name,
                                value, word));
    assignments.emplace_back(name, read_number(std::string_view(word).substr(equals + 1), what));
  }
  return assignments;
}

}  // namespace halocline::cli

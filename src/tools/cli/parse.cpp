// SPDX-License-Identifier: Apache-2.0
#include "cli/parse.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/text/numbers.hpp"

namespace halocline::cli {
namespace {

/// Returns the beginning of errors about a part of a word.
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

std::vector<std::pair<std::string, double>> parse_assignments(const std::vector<std::string>& words,
                                                              const std::string& option) {
  std::vector<std::pair<std::string, double>> assignments;
  for (const std::string& word : words) solver::add_assignment(word, option, assignments);
  return assignments;
}

}  // namespace halocline::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/parse.hpp"

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/checked.hpp"

namespace halocline::cli {
namespace {

std::optional<double> number(std::string_view word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return value;
}

/// A whole number, digits or in the form 1e9.
std::optional<std::int64_t> whole_number(std::string_view word) {
  if (word.empty() || word[0] < '0' || word[0] > '9') return std::nullopt;
  std::int64_t exact = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), exact);
  if (error == std::errc{} && end == word.data() + word.size()) return exact;
  const std::optional<double> value = number(word);
  if (!value || *value != std::floor(*value) || *value >= 0x1p63) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

}  // namespace

Extents parse_extents(const std::string& word, const std::string& option) {
  Int3 values{1, 1, 1};
  int axes = 0;
  for (std::size_t at = 0; at <= word.size(); ++axes) {
    const std::size_t end = std::min(word.find_first_of("xX", at), word.size());
    const std::optional<std::int64_t> value =
        whole_number(std::string_view(word).substr(at, end - at));
    if (!value)
      throw Error(ErrorKind::usage, fmt::format("{} '{}' is not a size; write numbers joined by "
                                                "x, such as 256x128 or 64x64x64",
                                                option, word));
    if (axes == 3)
      throw Error(ErrorKind::usage, fmt::format("{} '{}' has more than 3 axes", option, word));
    values[axes] = *value;
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
  std::vector<std::int64_t> numbers;
  for (const std::string& each : parse_list(word, option)) {
    const std::optional<std::int64_t> value = whole_number(each);
    if (!value)
      throw Error(
          ErrorKind::usage,
          fmt::format("{} '{}' is not a list of whole numbers, such as 1 or 1,2", option, word));
    numbers.push_back(*value);
  }
  return numbers;
}

std::vector<std::int64_t> parse_sizes(const std::string& word, const std::string& option) {
  std::vector<std::int64_t> sizes;
  for (const std::string& each : parse_list(word, option)) {
    const std::size_t unit_at = std::min(each.find_first_of("KMG"), each.size());
    const std::string unit = each.substr(unit_at);
    const std::int64_t factor = unit.empty()   ? 1
                                : unit == "Ki" ? std::int64_t{1} << 10
                                : unit == "Mi" ? std::int64_t{1} << 20
                                : unit == "Gi" ? std::int64_t{1} << 30
                                               : 0;
    const std::optional<std::int64_t> value = whole_number(each.substr(0, unit_at));
    if (!value || factor == 0)
      throw Error(ErrorKind::usage,
                  fmt::format("{} '{}' is not a list of sizes; write bytes, such as 8,64Ki,1Mi "
                              "(Ki, Mi, Gi: times 1024)",
                              option, word));
    sizes.push_back(checked_multiply(*value, factor, option.c_str()));
  }
  return sizes;
}

std::vector<std::pair<int, int>> parse_pairs(const std::string& word, const std::string& option) {
  std::vector<std::pair<int, int>> pairs;
  for (const std::string& each : parse_list(word, option)) {
    const std::size_t dash = std::min(each.find('-'), each.size());
    const std::optional<std::int64_t> first = whole_number(each.substr(0, dash));
    const std::optional<std::int64_t> second =
        dash < each.size() ? whole_number(each.substr(dash + 1)) : std::nullopt;
    constexpr std::int64_t most = std::numeric_limits<int>::max();
    if (!first || !second || *first > most || *second > most)
      throw Error(
          ErrorKind::usage,
          fmt::format("{} '{}' is not a list of pairs; write ranks such as 0-1,0-3", option, word));
    pairs.emplace_back(static_cast<int>(*first), static_cast<int>(*second));
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
    axes[static_cast<std::size_t>(letter - 'x')] = true;
  }
  return axes;
}

std::pair<std::string, double> parse_assignment(const std::string& word,
                                                const std::string& option) {
  const std::size_t equals = word.find('=');
  const std::optional<double> value = equals == std::string::npos
                                          ? std::nullopt
                                          : number(std::string_view(word).substr(equals + 1));
  if (!value || equals == 0)
    throw Error(ErrorKind::usage,
                fmt::format("{} '{}' is not of the form NAME=NUMBER", option, word));
  return {word.substr(0, equals), *value};
}

}  // namespace halocline::cli

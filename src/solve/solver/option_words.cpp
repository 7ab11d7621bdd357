// SPDX-License-Identifier: Apache-2.0
#include "solver/option_words.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/text/numbers.hpp"
#include "base/text/words.hpp"
#include "text/refuse.hpp"

namespace halocline::solver {
namespace {

/// The beginning of errors about a part of a word.
std::string part_of(const std::string& word, const std::string& option, std::string_view is_not) {
  return fmt::format("{} '{}' is not {}:", option, word, is_not);
}

}  // namespace

std::optional<Memory> read_memory(std::string_view word) {
  if (word == "auto") return std::nullopt;
  if (const std::optional<Memory> memory = memory_named(word)) return memory;
  refuse(
      "there is no memory '{}'; there are: auto, device, pinned, managed, "
      "system, host",
      word);
}

Precision read_precision(std::string_view word) {
  if (const std::optional<Precision> precision = precision_named(word)) return *precision;
  refuse("there is no precision '{}'; there are: f32, f64", word);
}

Norm read_norm(std::string_view word) {
  if (const std::optional<Norm> norm = norm_named(word)) return *norm;
  refuse("there is no norm '{}'; there are: max, l2, none", word);
}

SolveOptions::Graphs read_graphs(std::string_view word) {
  using Use = SolveOptions::Graphs;
  for (const Use graphs : {Use::automatic, Use::on, Use::off})
    if (word_for(graphs) == word) return graphs;
  refuse("option 'graph' cannot be '{}'; use auto, on or off", word);
}

SolveOptions::Writing read_writing(std::string_view word) {
  using Writing = SolveOptions::Writing;
  for (const Writing writing : {Writing::automatic, Writing::beside, Writing::between})
    if (word_for(writing) == word) return writing;
  refuse("option 'writing' cannot be '{}'; use auto, beside or between", word);
}

Extents parse_extents(const std::string& word, const std::string& option) {
  const std::string what = part_of(word, option, "a size such as 256x128");
  Int3 values{1, 1, 1};
  int axes = 0;
  for (std::size_t at = 0; at <= word.size(); ++axes) {
    const std::size_t end = std::min(word.find_first_of("xX", at), word.size());
    const auto value =
        read_whole<std::int64_t>(std::string_view(word).substr(at, end - at), what, 1);
    if (axes == 3) refuse("{} '{}' has more than 3 axes", option, word);
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
      refuse(
          "{} '{}' is not a list; write one value, or several separated by "
          "commas without spaces",
          option, word);
    at = end + 1;
  }
  return words;
}

SolveOptions::Probe parse_probe(const std::string& word, const std::string& option) {
  const std::size_t at = word.find('@');
  SolveOptions::Probe probe{.field = word.substr(0, at == word.npos ? 0 : at), .cell = {}};
  const std::string what = part_of(word, option, "a cell such as 10,20 or u@10,20");
  if (at == 0) refuse(what + " the field before '@' is missing");
  for (const std::string& index : parse_list(at == word.npos ? word : word.substr(at + 1), option))
    probe.cell.push_back(read_whole<std::int64_t>(index, what));
  return probe;
}

SolveOptions::Range parse_range(const std::string& word, const std::string& option) {
  const auto [field, ends] = field_and_rest(word);
  const std::string what = part_of(word, option, "a range such as 0,1 or u=0,1");
  const std::vector<std::string> numbers = parse_list(ends, option);
  if (numbers.size() != 2) refuse("{} it has {}", what, counted(numbers.size(), "number"));
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

void add_assignment(const std::string& word, const std::string& option,
                    std::vector<std::pair<std::string, double>>& assignments) {
  const std::string what = part_of(word, option, "of the form NAME=NUMBER");
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0)
    refuse("{} '{}' is not of the form NAME=NUMBER", option, word);
  const std::string name = word.substr(0, equals);
  for (const auto& [other, value] : assignments)
    if (other == name)
      refuse("{} sets {} twice, to {} and by '{}'; set it once", option, name, value, word);
  assignments.emplace_back(name, read_number(std::string_view(word).substr(equals + 1), what));
}

std::string word_for(const std::optional<Memory>& memory) {
  return memory ? std::string(name_of(*memory)) : "auto";
}

std::string word_for(SolveOptions::Graphs graphs) {
  using Use = SolveOptions::Graphs;
  return graphs == Use::automatic ? "auto" : graphs == Use::on ? "on" : "off";
}

std::string word_for(SolveOptions::Writing writing) {
  using Writing = SolveOptions::Writing;
  return writing == Writing::automatic ? "auto" : writing == Writing::beside ? "beside" : "between";
}

std::string word_for(SolveOptions::Array::Use use) {
  using Use = SolveOptions::Array::Use;
  return use == Use::start ? "start" : use == Use::result ? "result" : "both";
}

}  // namespace halocline::solver

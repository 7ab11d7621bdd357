// SPDX-License-Identifier: Apache-2.0
#include "cli/option_values.hpp"

#include <algorithm>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>

#include "base/text/numbers.hpp"
#include "cli/parse.hpp"
#include "text/refuse.hpp"

namespace halocline::cli {
namespace {

template <class Number>
Number read_in_range(const Option& option, const std::string& word) {
  using Range = Option::Range;
  if constexpr (std::is_floating_point_v<Number>) {
    const double value = read_number(word, option.name);
    if (option.range == Range::not_negative && value < 0)
      refuse(fmt::format("{} '{}' is out of range; use at least 0", option.name, word));
    if (option.range == Range::positive && value <= 0)
      refuse(fmt::format("{} '{}' is out of range; use more than 0", option.name, word));
    return value;
  } else {
    if (option.range == Range::all) return read_whole<Number>(word, option.name);
    return read_whole<Number>(word, option.name, option.range == Range::positive ? 1 : 0);
  }
}

/// Sets a variable by its type.
struct Setter {
  const Option& option;
  const std::vector<std::string>& words;  ///< one for each occurrence of the option

  void operator()(bool& flag) const { flag = true; }
  void operator()(std::string& text) const {
    check_choice(words[0]);
    text = words[0];
  }
  template <class Number>
  void operator()(Number& number) const {
    number = read_in_range<Number>(option, words[0]);
  }
  template <class Type>
  void operator()(std::optional<Type>& value) const {
    (*this)(value.emplace());
  }
  void operator()(std::vector<std::string>& list) const {
    list = option.lists == Option::Lists::commas ? parse_list(words[0], option.name) : words;
    for (const std::string& word : list) check_choice(word);
  }
  void operator()(std::vector<std::int64_t>& list) const {
    list.clear();
    for (const std::string& word :
         option.lists == Option::Lists::commas ? parse_list(words[0], option.name) : words)
      list.push_back(read_in_range<std::int64_t>(option, word));
  }
  void check_choice(const std::string& word) const {
    const auto& choices = option.choices;
    if (!choices.empty() && std::find(choices.begin(), choices.end(), word) == choices.end())
      refuse(
          fmt::format("{} '{}' is unknown; use {}", option.name, word, fmt::join(choices, ", ")));
  }
};

void check_text(const Option& option, const std::string& word) {
  if (word.empty())
    refuse(fmt::format("{} '' is empty; give {}{}", option.name, option.type,
                       option.given == Option::Given::always ? "" : ", or leave it out"));
  if (option.type == "FILE" && word == "-" && option.dash == Option::Dash::refused)
    refuse(fmt::format(
        "{} - would be standard output, which only takes --json; give a file, ./- for one named so",
        option.name));
}

}  // namespace

void set_variable(const Option& option, const std::vector<std::string>& words) {
  if (words.size() > 1 && !option.is_flag() && !option.may_be_repeated())
    refuse(fmt::format("{} is given {} times, as '{}'; give it once", option.name, words.size(),
                       fmt::join(words, "' and '")));
  if (!option.is_flag())
    for (const std::string& word : words) check_text(option, word);
  std::visit([&](const auto& target) { Setter{option, words}(target.get()); }, option.target);
}

}  // namespace halocline::cli

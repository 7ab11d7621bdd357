// SPDX-License-Identifier: Apache-2.0
// From the words of a command line to the variables of options.

#include <algorithm>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>

#include "base/numbers.hpp"
#include "cli/near_miss.hpp"
#include "cli/options.hpp"
#include "cli/parse.hpp"

namespace halocline::cli {
namespace {

[[noreturn]] void refuse(const std::string& text) { throw Error(ErrorKind::usage, text); }

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

/// Sets variables, by their type.
struct Setter {
  const Option& option;
  const std::vector<std::string>& words;  ///< one each time that the option is given

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
    refuse(
        fmt::format("{} - would be standard output, which only takes --json; give a file, ./- "
                    "for one named so",
                    option.name));
}

}  // namespace

/// Finds what each word is for, then sets variables.
class Syntax::Reader {
 public:
  Reader(Syntax& syntax, const std::vector<std::string>& words)
      : syntax_(&syntax), command_(syntax.command_), words_(words) {}

  /// Goes through the words. Nothing throws here, for help is given whatever else is wrong.
  void sort_words(Help help) {
    for (; at_ < words_.size() && !is_lost_; ++at_) {
      const std::string& word = words_[at_];
      if (help == Help::offered && (word == "--help" || word == "-h"))
        wants_help_ = true;
      else if (word.starts_with("-") && word != "-")
        take_option(word);
      else
        take_word(word);
    }
    if (is_lost_ && help == Help::offered)
      wants_help_ |= std::find(words_.begin(), words_.end(), "--help") != words_.end();
  }

  bool wants_help() const { return wants_help_; }
  const std::string& command() const { return command_; }

  /// Throws usage.
  void set_variables() const {
    if (!faults_.empty()) refuse(fmt::format("{}", fmt::join(faults_, ", ")));
    for (const Given& given : given_) {
      const Option& option = *given.option;
      if (given.words.size() > 1 && !option.is_flag() && !option.may_be_repeated())
        refuse(fmt::format("{} is given {} times, as '{}'; give it once", option.name,
                           given.words.size(), fmt::join(given.words, "' and '")));
      if (!option.is_flag())
        for (const std::string& word : given.words) check_text(option, word);
      if (!option.needs.empty() && !is_given(option.needs))
        refuse(fmt::format("{} needs {}", option.name, option.needs));
      if (!option.excludes.empty() && is_given(option.excludes))
        refuse(fmt::format("{} excludes {}", option.name, option.excludes));
      std::visit(
          [&](const auto& target) {
            Setter{option, given.words}(target.get());
          },
          option.target);
    }
    for (const Option& option : syntax_->options_)
      if (option.given == Option::Given::always && !is_given(option.name))
        refuse(fmt::format("{} is required: {}", option.name, option.help));
  }

 private:
  struct Given {
    const Option* option;
    std::vector<std::string> words;
  };

  bool is_given(const std::string& name) const {
    return std::any_of(given_.begin(), given_.end(),
                       [&](const Given& given) { return given.option->name == name; });
  }

  void give(const Option& option, const std::string& word) {
    const auto found = std::find_if(given_.begin(), given_.end(),
                                    [&](const Given& given) { return given.option == &option; });
    if (found != given_.end())
      found->words.push_back(word);
    else
      given_.push_back({&option, {word}});
  }

  const Option* option_named(std::string_view name) const {
    for (const Option& option : syntax_->options_)
      if (option.name == name) return &option;
    return nullptr;
  }

  void take_option(const std::string& word) {
    const std::size_t equals = word.find('=');
    const Option* option = option_named(word.substr(0, equals));
    if (option == nullptr) return miss_option(word.substr(0, equals), equals != word.npos);
    if (option->is_flag()) {
      if (equals != word.npos)
        faults_.push_back(fmt::format("{} takes no value, but '{}' is given", option->name, word));
      return give(*option, "");
    }
    if (equals != word.npos) return give(*option, word.substr(equals + 1));
    if (at_ + 1 < words_.size() && !words_[at_ + 1].starts_with("--"))
      return give(*option, words_[++at_]);
    std::string fault = fmt::format("{} needs a value, {}", option->name, option->type);
    if (at_ + 1 < words_.size())
      fault += fmt::format(", but '{0}' follows; write {1}={0} if that is meant", words_[at_ + 1],
                           option->name);
    faults_.push_back(std::move(fault));
  }

  void miss_option(const std::string& name, bool has_value) {
    std::vector<std::string> names;
    for (const Option& option : syntax_->options_)
      if (!option.is_word()) names.push_back(option.name);
    const std::string meant = near_miss(name, names);
    faults_.push_back(fmt::format("unknown option '{}'{}", name, question(meant)));
    // What was meant as its value is no fault of its own.
    const bool takes_value = !meant.empty() && !option_named(meant)->is_flag();
    if (takes_value && !has_value && at_ + 1 < words_.size() && !words_[at_ + 1].starts_with("-"))
      ++at_;
  }

  void take_word(const std::string& word) {
    if (!syntax_->subcommands_.empty()) return enter(word);
    for (const Option& option : syntax_->options_)
      if (option.is_word() && !is_given(option.name)) return give(option, word);
    faults_.push_back(fmt::format("unknown word '{}'", word));
  }

  void enter(const std::string& word) {
    std::vector<std::string> names;
    for (Syntax& each : syntax_->subcommands_) {
      names.push_back(each.command_);
      if (each.command_ != word) continue;
      syntax_ = &each;
      each.parsed_ = true;
      command_ += " " + word;
      return;
    }
    faults_.push_back(
        fmt::format("unknown command '{}'{}", word, question(near_miss(word, names))));
    is_lost_ = true;  // what follows belongs to it
  }

  static std::string question(const std::string& meant) {
    return meant.empty() ? "" : fmt::format(" (did you mean {}?)", meant);
  }

  Syntax* syntax_;  // of the command that was entered last
  std::string command_;
  const std::vector<std::string>& words_;
  std::size_t at_ = 0;
  std::vector<Given> given_;
  std::vector<std::string> faults_;
  bool wants_help_ = false, is_lost_ = false;
};

std::optional<std::string> Syntax::parse(const std::vector<std::string>& words) {
  Reader reader(*this, words);
  reader.sort_words(help_);
  if (reader.wants_help()) return help_of_parsed("", help_);
  try {
    reader.set_variables();
  } catch (const Error& error) {
    if (help_ == Help::none) throw;
    throw Error(error.kind(), fmt::format("{}; see {} --help", error.what(), reader.command()));
  }
  return std::nullopt;
}

}  // namespace halocline::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/options.hpp"

#include <algorithm>
#include <utility>

// Takes long to compile: no other source includes it.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>

#include "cli/option_values.hpp"
#include "text/near_miss.hpp"
#include "text/refuse.hpp"

namespace halocline::cli {
namespace {

constexpr auto numbers_text =
    "Whole numbers are decimal: 4096, 1e6, 64Ki (Ki, Mi, Gi: times 1024, 1024^2, 1024^3).\n\n";

/// Adds an option whose words CLI11 only stores; set_variable() reads them.
void add(CLI::App& app, const Option& option) {
  CLI::Option& added = option.is_flag()
                           ? *app.add_flag(option.name, option.help)->disable_flag_override()
                           : *app.add_option(option.name, CLI::callback_t(), option.help);
  if (!option.group.empty()) added.group(option.group);
  if (!option.type.empty()) added.type_name(option.type);
  if (option.given == Option::Given::always) added.required();
  if (!option.is_flag())
    added.multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->allow_extra_args(false);
  if (!option.needs.empty()) added.needs(app.get_option(option.needs));
  if (!option.excludes.empty()) added.excludes(app.get_option(option.excludes));
}

std::string question(const std::string& meant) {
  return meant.empty() ? "" : fmt::format(" (did you mean {}?)", meant);
}

}  // namespace

bool Option::may_be_repeated() const {
  return lists == Lists::none &&
         (std::holds_alternative<std::reference_wrapper<std::vector<std::string>>>(target) ||
          std::holds_alternative<std::reference_wrapper<std::vector<std::int64_t>>>(target));
}

OptionGroup::OptionGroup(std::deque<Option>& options, std::string title)
    : options_(options), title_(std::move(title)) {}

Option& OptionGroup::option(const std::string& name, const std::string& type, Target target,
                            const std::string& help) const {
  options_.push_back({.name = name, .type = type, .target = target, .help = help, .group = title_});
  return options_.back();
}

Option& OptionGroup::flag(const std::string& name, bool& target, const std::string& help) const {
  return option(name, "", target, help);
}

/// A syntax for CLI11, which assigns words to options. Unknown words are reported here, since CLI11
/// lists them in reverse.
class Syntax::Reader {
 public:
  Reader(Syntax& syntax, const std::vector<std::string>& words)
      : syntax_(&syntax), app_(syntax.summary_, syntax.command_) {
    if (syntax.help_ == Help::offered)
      app_.set_help_flag("-h,--help", "print this help");
    else
      app_.set_help_flag();
    app_.get_formatter()->column_width(32);
    app_.allow_extras();
    fill(app_, syntax, words);
  }

  /// Returns the help of all options. Must not be called after enter_parsed().
  std::string help() {
    add_texts(app_, *syntax_);
    return app_.help();
  }

  /// Sets variables; returns the text of help if it is requested.
  std::optional<std::string> read(const std::vector<std::string>& words) {
    try {
      app_.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    } catch (const CLI::CallForHelp&) {
      return help();
    } catch (const CLI::ParseError& error) {
      enter_parsed();
      check_values_given(words);
      refuse(error.what());
    }
    enter_parsed();
    check_values_given(words);
    check_known();
    for (const Option& option : syntax_->options_)
      if (const CLI::Option& given = *parsed_->get_option(option.name); given.count() > 0)
        set_variable(option, given.results());
    return std::nullopt;
  }

  /// "halocline bench halo", as far as it was parsed.
  const std::string& command() const { return command_; }

 private:
  /// Adds only options of subcommands that are named, since adding options dominates the time.
  static void fill(CLI::App& app, const Syntax& syntax, const std::vector<std::string>& words) {
    for (const Option& option : syntax.options_) add(app, option);
    if (!syntax.subcommands_.empty()) app.require_subcommand(0, 1);
    for (const Syntax& each : syntax.subcommands_) {
      CLI::App& subcommand = *app.add_subcommand(each.command_, each.summary_);
      if (std::find(words.begin(), words.end(), each.command_) != words.end())
        fill(subcommand, each, words);
    }
  }

  static void add_texts(CLI::App& app, const Syntax& syntax) {
    const std::string header = syntax.header_ ? syntax.header_() : "";
    if (!header.empty()) app.description(syntax.summary_ + "\n\n" + header);
    app.footer((syntax.subcommands_.empty() ? numbers_text : "") +
               (syntax.footer_ ? syntax.footer_() : ""));
    for (const Syntax& each : syntax.subcommands_)
      if (CLI::App& subcommand = *app.get_subcommand(each.command_); subcommand.parsed())
        add_texts(subcommand, each);
  }

  /// Descends to the subcommand that was parsed last.
  void enter_parsed() {
    syntax_->parsed_ = true;
    for (bool enters = true; enters;) {
      enters = false;
      for (Syntax& each : syntax_->subcommands_)
        if (CLI::App& app = *parsed_->get_subcommand(each.command_); app.parsed()) {
          syntax_ = &each;
          each.parsed_ = enters = true;
          parsed_ = &app;
          command_ += " " + each.command_;
          break;
        }
    }
  }

  /// Checks what CLI11 does not: it takes the next word as a missing value even if that is another
  /// option, and treats "--name=" as an option without a value.
  void check_values_given(const std::vector<std::string>& words) const {
    const auto has = [&](const std::string& word) {
      return std::find(words.begin(), words.end(), word) != words.end();
    };
    for (const Option& option : syntax_->options_) {
      if (option.is_word()) continue;
      const std::string joined = option.name + "=";
      if (option.is_flag()) {
        for (const std::string& word : words)
          if (word.starts_with(joined))
            refuse(fmt::format("{} takes no value, but '{}' is given", option.name, word));
        continue;
      }
      if (has(joined)) refuse(fmt::format("{} '' is empty; give {}", option.name, option.type));
      if (!words.empty() && words.back() == option.name)
        refuse(fmt::format("{} needs a value, {}", option.name, option.type));
      for (const std::string& value : parsed_->get_option(option.name)->results())
        if (value.starts_with("--") && !has(joined + value))
          refuse(fmt::format(
              "{0} needs a value, {1}, but '{2}' follows; write {0}={2} if that is meant",
              option.name, option.type, value));
    }
  }

  /// Throws usage for unknown words, in their order.
  void check_known() const {
    const std::vector<std::string> unknown = parsed_->remaining();
    std::vector<std::string> faults;
    for (auto word = unknown.begin(); word != unknown.end(); ++word) {
      if (word->starts_with("-")) {
        faults.push_back(fault_of_option(*word));
        // Does not report the value of an unknown option.
        const bool has_value = word->find('=') != word->npos;
        if (word + 1 != unknown.end() && !has_value && !(word + 1)->starts_with("-") &&
            means_value(*word))
          ++word;
      } else if (!syntax_->subcommands_.empty()) {
        std::vector<std::string> names;
        for (const Syntax& each : syntax_->subcommands_) names.push_back(each.command_);
        faults.push_back(fmt::format("unknown command '{}'{}; there are: {}", *word,
                                     question(near_miss(*word, names)), fmt::join(names, ", ")));
        break;  // the following words belong to it
      } else {
        faults.push_back(fmt::format("unknown word '{}'", *word));
      }
    }
    if (!faults.empty()) refuse(fmt::format("{}", fmt::join(faults, ", ")));
  }

  /// The option that may be meant by an unknown one; null if there is none.
  const Option* meant_by(std::string_view word) const {
    std::vector<std::string> names;
    for (const Option& option : syntax_->options_)
      if (!option.is_word()) names.push_back(option.name);
    const std::string meant = near_miss(word.substr(0, word.find('=')), names);
    for (const Option& option : syntax_->options_)
      if (option.name == meant) return &option;
    return nullptr;
  }
  bool means_value(std::string_view word) const {
    const Option* meant = meant_by(word);
    return meant == nullptr || !meant->is_flag();
  }
  std::string fault_of_option(const std::string& word) const {
    const Option* meant = meant_by(word);
    return fmt::format("unknown option '{}'{}", word.substr(0, word.find('=')),
                       question(meant != nullptr ? meant->name : ""));
  }

  Syntax* syntax_;  // of the command that was parsed last
  CLI::App app_;
  CLI::App* parsed_ = &app_;
  std::string command_ = syntax_->command_;
};

Syntax::Syntax(std::string command, std::string summary)
    : command_(std::move(command)), summary_(std::move(summary)) {}

Syntax& Syntax::subcommand(const std::string& command, const std::string& summary) {
  return subcommands_.emplace_back(command, summary);
}

void Syntax::word(const std::string& name, const std::string& type, std::string& target,
                  const std::string& help) {
  group("").option(name, type, target, help).given = Option::Given::always;
}

void Syntax::optional_word(const std::string& name, const std::string& type,
                           std::optional<std::string>& target, const std::string& help) {
  group("").option(name, type, target, help);
}

std::optional<std::string> Syntax::parse(const std::vector<std::string>& words) {
  Reader reader(*this, words);
  try {
    return reader.read(words);
  } catch (const Error& error) {
    if (help_ == Help::none) throw;
    throw Error(error.kind(), fmt::format("{}; see {} --help", error.what(), reader.command()));
  }
}

std::string Syntax::help() { return Reader(*this, {}).help(); }

}  // namespace halocline::cli

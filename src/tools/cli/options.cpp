// SPDX-License-Identifier: Apache-2.0
#include "cli/options.hpp"

#include <type_traits>
#include <utility>

// Takes long to compile: no other source includes it.
#include <CLI/CLI.hpp>

#include <halocline/error.hpp>

namespace halocline::cli {
namespace {

bool is_list(const Target& target) {
  return std::holds_alternative<std::reference_wrapper<std::vector<std::string>>>(target) ||
         std::holds_alternative<std::reference_wrapper<std::vector<std::int64_t>>>(target);
}

/// Adds an option without more than its target. Here words become numbers.
CLI::Option& bind(CLI::App& app, const Option& option) {
  const auto add = [&]<class Type>(std::reference_wrapper<Type> target) {
    if constexpr (std::is_same_v<Type, bool>)
      return app.add_flag(option.name, target.get(), option.help);
    else
      return app.add_option(option.name, target.get(), option.help);
  };
  return *std::visit(add, option.target);
}

void limit_numbers(CLI::App& app, CLI::Option& added, Option::Range range) {
  if (range == Option::Range::all) return;
  CLI::Validator check = CLI::NonNegativeNumber;
  if (range == Option::Range::positive) check = CLI::PositiveNumber;
  if (app.get_help_ptr() != nullptr) check.description("");  // help would show its name
  added.check(check);
}

void add(CLI::App& app, const Option& option) {
  CLI::Option& added = bind(app, option);
  added.group(option.group);
  if (!option.type.empty()) added.type_name(option.type);
  if (option.name[0] != '-') added.required();
  if (option.separator)
    added.delimiter(*option.separator);
  else if (is_list(option.target))
    added.allow_extra_args(false);
  if (!option.choices.empty()) added.check(CLI::IsMember(option.choices));
  limit_numbers(app, added, option.range);
  if (!option.needs.empty()) added.needs(app.get_option(option.needs));
  if (!option.excludes.empty()) added.excludes(app.get_option(option.excludes));
}

}  // namespace

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

/// A syntax as CLI11 takes it.
struct Syntax::Reader {
  CLI::App app;

  explicit Reader(const Syntax& syntax) : app(syntax.summary_, syntax.command_) {
    if (syntax.help_ == Help::offered)
      app.set_help_flag("-h,--help", "print this help");
    else
      app.set_help_flag();
    app.get_formatter()->column_width(32);
    fill(app, syntax);
  }

  static void fill(CLI::App& app, const Syntax& syntax) {
    app.footer(syntax.footer_);
    for (const Option& option : syntax.options_) add(app, option);
    if (!syntax.subcommands_.empty()) app.require_subcommand(0, 1);
    for (const Syntax& each : syntax.subcommands_)
      fill(*app.add_subcommand(each.command_, each.summary_), each);
  }

  static void note_parsed(const CLI::App& app, Syntax& syntax) {
    syntax.parsed_ = app.parsed();
    for (Syntax& each : syntax.subcommands_) note_parsed(*app.get_subcommand(each.command_), each);
  }

  /// "halocline bench halo", as far as it was parsed.
  static std::string parsed_commands(const Syntax& syntax) {
    for (const Syntax& each : syntax.subcommands_)
      if (each.parsed_) return syntax.command_ + " " + parsed_commands(each);
    return syntax.command_;
  }
};

Syntax::Syntax(std::string command, std::string summary)
    : command_(std::move(command)), summary_(std::move(summary)) {}

Syntax& Syntax::subcommand(const std::string& command, const std::string& summary) {
  return subcommands_.emplace_back(command, summary);
}

void Syntax::word(const std::string& name, const std::string& type, std::string& target,
                  const std::string& help) {
  group("Options").option(name, type, target, help);
}

std::optional<std::string> Syntax::parse(const std::vector<std::string>& words) {
  Reader reader(*this);
  try {
    reader.app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::CallForHelp&) {
    return reader.app.help();
  } catch (const CLI::ParseError& error) {
    Reader::note_parsed(reader.app, *this);
    std::string text = error.what();
    if (help_ == Help::offered) text += "; see " + Reader::parsed_commands(*this) + " --help";
    throw Error(ErrorKind::usage, text);
  }
  Reader::note_parsed(reader.app, *this);
  return std::nullopt;
}

std::string Syntax::help() const { return Reader(*this).app.help(); }

}  // namespace halocline::cli

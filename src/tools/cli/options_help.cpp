// SPDX-License-Identifier: Apache-2.0
// What help says of a command.

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "cli/options.hpp"

namespace halocline::cli {
namespace {

constexpr std::size_t column = 32;  // where explanations begin

constexpr auto numbers_text =
    "Whole numbers are decimal: 4096, 1e6, 64Ki (Ki, Mi, Gi: times 1024, 1024^2, 1024^3).\n";

/// A name and its explanation, whose lines stand below each other.
std::string line_of(const std::string& name, const std::string& help) {
  std::string text = "  " + name;
  if (help.empty()) return text + "\n";
  text.append(text.size() < column ? column - text.size() : 0, ' ');
  if (name.size() + 2 >= column) text += "\n" + std::string(column, ' ');
  for (const char letter : help) {
    text += letter;
    if (letter == '\n') text.append(column, ' ');
  }
  return text + "\n";
}

std::string name_of(const Option& option) {
  std::string name = option.name;
  if (!option.type.empty()) name += " " + option.type;
  if (option.may_be_repeated()) name += " ...";
  if (option.given == Option::Given::always) name += " REQUIRED";
  return name;
}

}  // namespace

struct Syntax::HelpText {
  static std::string usage(const Syntax& syntax, const std::string& command) {
    std::string text = fmt::format("Usage: {} [OPTIONS]", command);
    for (const Option& option : syntax.options_)
      if (option.is_word())
        text += option.given == Option::Given::always ? " " + option.name
                                                      : fmt::format(" [{}]", option.name);
    return text + (syntax.subcommands_.empty() ? "\n" : " [SUBCOMMAND]\n");
  }

  static std::string options(const Syntax& syntax, Help help) {
    std::vector<std::string> groups;
    for (const Option& option : syntax.options_)
      if (!option.is_word() &&
          std::find(groups.begin(), groups.end(), option.group) == groups.end())
        groups.push_back(option.group);
    const std::string general = "Options";
    if (help == Help::offered && (groups.empty() || groups[0] != general))
      groups.insert(groups.begin(), general);
    std::string text;
    for (const std::string& group : groups) {
      text += fmt::format("\n{}:\n", group);
      if (help == Help::offered && group == general)
        text += line_of("-h,--help", "print this help");
      for (const Option& option : syntax.options_)
        if (!option.is_word() && option.group == group)
          text += line_of(name_of(option), option.help);
    }
    return text;
  }

  static std::string of(const Syntax& syntax, const std::string& command, Help help) {
    std::string text = syntax.summary_ + "\n" + usage(syntax, command);
    if (!syntax.header_.empty()) text += "\n" + syntax.header_;
    const auto is_word = [](const Option& option) { return option.is_word(); };
    if (std::any_of(syntax.options_.begin(), syntax.options_.end(), is_word)) {
      text += "\nPositionals:\n";
      for (const Option& option : syntax.options_)
        if (option.is_word()) text += line_of(name_of(option), option.help);
    }
    text += options(syntax, help);
    if (!syntax.subcommands_.empty()) text += "\nSubcommands:\n";
    for (const Syntax& each : syntax.subcommands_) text += line_of(each.command_, each.summary_);
    text += "\n";
    if (syntax.subcommands_.empty()) text += numbers_text + std::string("\n");
    return text + syntax.footer_ + (syntax.footer_.ends_with('\n') ? "" : "\n");
  }
};

std::string Syntax::help_of_parsed(const std::string& before, Help help) const {
  const std::string command = before + command_;
  for (const Syntax& each : subcommands_)
    if (each.parsed_) return each.help_of_parsed(command + " ", help);
  return HelpText::of(*this, command, help);
}

std::string Syntax::help() const { return HelpText::of(*this, command_, help_); }

}  // namespace halocline::cli

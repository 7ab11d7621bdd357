// SPDX-License-Identifier: Apache-2.0
#include "cli/options.hpp"

#include <utility>

namespace halocline::cli {

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

}  // namespace halocline::cli

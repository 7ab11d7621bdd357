// SPDX-License-Identifier: Apache-2.0
#include "problem/parameters.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>

#include "problem/translator.hpp"
#include "text/near_miss.hpp"

namespace halocline::problem {
namespace {

/// Bytes of the texts that searches for largest values evaluate, some thousand times each; a
/// parameter counts as 32 more.
constexpr std::size_t most_searched = 8192;
// The word for a request in braces of a message that is no expression.
constexpr std::string_view largest_word = "largest ";

/// Returns the names in an expression, in their order and each once.
std::vector<std::string> names_in(const Syntax& syntax) {
  std::vector<std::string> names;
  if (syntax.kind == Syntax::Kind::name) names.push_back(syntax.name);
  for (const Syntax& part : syntax.parts)
    for (const std::string& name : names_in(part))
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  return names;
}

class Parameters {
 public:
  Parameters(const File& file, const Choices& choices, Names& names, Model& model)
      : file_(file),
        choices_(choices),
        names_(names),
        model_(model),
        text_(file.source, names, model.tree) {}

  void set() {
    make_domain();
    make_parameters();
    finish_spacing();
    model_.has_requirements = !file_.requirements.empty();
    for (const Requirement& requirement : file_.requirements) check(requirement);
  }

 private:
  static char axis_name(int axis) { return axis_names[static_cast<std::size_t>(axis)]; }
  static std::string spacing_name(int axis) { return fmt::format("d{}", axis_name(axis)); }

  void make_domain() {
    const std::vector<Written> lower = text_.along_axes(file_.lower, "lower");
    const std::vector<Written> upper = text_.along_axes(file_.upper, "upper");
    has_upper_ = !upper.empty();
    for (int axis = 0; axis < model_.axes; ++axis) {
      const ParameterText* const parameter = has_upper_ ? nullptr : spacing_parameter(axis);
      names_.refused[spacing_name(axis)] =
          parameter != nullptr ? fmt::format("'{}' is set further down", parameter->name)
                               : fmt::format("'{}' comes from 'lower' and 'upper' of {}",
                                             spacing_name(axis), axis_name(axis));
    }
    for (int axis = 0; axis < model_.axes; ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      if (!lower.empty()) model_.lower[a] = text_.number(lower[a]);
      const std::string name = spacing_name(axis);
      if (!has_upper_) {
        if (spacing_parameter(axis) == nullptr) names_.numbers[name] = 1;
        continue;
      }
      if (const ParameterText* const parameter = parameter_named(name))
        text_.refuse(parameter->value.begin, 1, fmt::format("'upper' gives {} already", name));
      model_.upper[a] = text_.number(upper[a]);
      const double spacing =
          (model_.upper[a] - model_.lower[a]) / static_cast<double>(model_.cells[axis]);
      if (!(spacing > 0) || !std::isfinite(spacing))
        text_.refuse(upper[a], "'upper' must be above 'lower' along {}: {} is not above {}",
                     axis_name(axis), model_.upper[a], model_.lower[a]);
      names_.numbers[name] = spacing;
    }
  }

  /// The parameter that sets the spacing along an axis: dx also for axes without one of theirs.
  const ParameterText* spacing_parameter(int axis) const {
    const ParameterText* const own = parameter_named(spacing_name(axis));
    return own != nullptr ? own : parameter_named(spacing_name(0));
  }

  const ParameterText* parameter_named(const std::string& name) const {
    const auto found = std::find_if(file_.parameters.begin(), file_.parameters.end(),
                                    [&](const ParameterText& one) { return one.name == name; });
    return found == file_.parameters.end() ? nullptr : &*found;
  }

  void make_parameters() {
    for (const ParameterText& parameter : file_.parameters)
      names_.refused[parameter.name] =
          fmt::format("parameter '{}' is set further down", parameter.name);
    for (const auto& [name, value] : choices_.parameters) {
      if (parameter_named(name) == nullptr) refuse_choice(name);
      if (!std::isfinite(value))
        text_.refuse(fmt::format("parameter {} cannot be {}; use a finite number", name, value));
    }
    evaluate_parameters(choices_.parameters);
    check_finite();
    for (const ParameterText& parameter : file_.parameters) {
      const double value = names_.numbers.at(parameter.name);
      model_.parameters.push_back({parameter.name, parameter.help, value});
      if (parameter.name == "dt") model_.dt = value;
    }
  }

  /// Evaluates parameters in the order of the file; chosen ones take the value of the choice.
  void evaluate_parameters(const std::map<std::string, double>& chosen) {
    for (const ParameterText& parameter : file_.parameters) {
      const auto choice = chosen.find(parameter.name);
      const double value = choice != chosen.end() ? choice->second : text_.number(parameter.value);
      names_.refused.erase(parameter.name);
      names_.numbers[parameter.name] = value;
      for (int axis = 1; axis < model_.axes && !has_upper_; ++axis)
        if (spacing_parameter(axis) == &parameter) {
          names_.refused.erase(spacing_name(axis));
          names_.numbers[spacing_name(axis)] = value;
        }
    }
  }

  /// Refuses the first parameter that is not finite. A requirement that is not met comes first,
  /// unless it is about such numbers: the author's message about them is better.
  void check_finite() {
    std::set<std::string> not_finite;
    for (const ParameterText& parameter : file_.parameters)
      if (!std::isfinite(names_.numbers.at(parameter.name))) not_finite.insert(parameter.name);
    if (not_finite.empty()) return;
    for (int axis = 0; axis < model_.axes; ++axis)  // dy is dx, where it has no parameter
      if (!std::isfinite(names_.numbers.at(spacing_name(axis))))
        not_finite.insert(spacing_name(axis));
    const auto is_about_them = [&](const std::string& name) { return not_finite.contains(name); };
    for (const Requirement& requirement : file_.requirements) {
      const std::vector<std::string> names = names_in(text_.parsed(requirement.condition));
      if (std::none_of(names.begin(), names.end(), is_about_them)) check(requirement);
    }
    const auto first =
        std::find_if(file_.parameters.begin(), file_.parameters.end(),
                     [&](const ParameterText& one) { return not_finite.contains(one.name); });
    const double value = names_.numbers.at(first->name);
    // The sign of a NaN means nothing.
    std::string what = fmt::format("parameter '{}' is {}; it must be a finite number", first->name,
                                   std::isnan(value) ? NAN : value);
    const char* before = ": ";
    for (const std::string& name : names_in(text_.parsed(first->value)))
      if (parameter_named(name) != nullptr)
        what +=
            fmt::format("{}{} is {:g}", std::exchange(before, ", "), name, names_.numbers.at(name));
    throw Error(ErrorKind::usage,
                file_.source.shown(first->value, 0, first->value.text.size(), what));
  }

  [[noreturn]] void refuse_choice(const std::string& name) const {
    std::vector<std::string> names;
    for (const ParameterText& one : file_.parameters) names.push_back(one.name);
    throw Error(
        ErrorKind::usage,
        names.empty()
            ? fmt::format("{} has no parameters, so '{}' cannot be set", file_.source.name(), name)
            : fmt::format("{} has no parameter '{}'; it has: {}{}", file_.source.name(), name,
                          fmt::join(names, ", "), do_you_mean(name, names)));
  }

  void finish_spacing() {
    for (int axis = 0; axis < model_.axes; ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      model_.spacing[a] = names_.numbers.at(spacing_name(axis));
      if (!(model_.spacing[a] > 0) || !std::isfinite(model_.spacing[a]))
        text_.refuse(
            fmt::format("{} must be above 0, not {}", spacing_name(axis), model_.spacing[a]));
      if (!has_upper_)
        model_.upper[a] =
            model_.lower[a] + static_cast<double>(model_.cells[axis]) * model_.spacing[a];
    }
  }

  void check(const Requirement& requirement) {
    if (!text_.holds(requirement.condition))
      throw Error(ErrorKind::usage, printable(message_of(requirement), Lines::kept));
    check_message(requirement);
  }

  /// Replaces expressions in braces by their values.
  template <class ValueOf>
  static std::string filled_in(std::string_view rest, ValueOf value_of) {
    std::string text;
    for (;;) {
      const std::size_t open = rest.find('{'), close = rest.find('}', open);
      if (open == rest.npos || close == rest.npos) return text + std::string(rest);
      text += rest.substr(0, open);
      text += value_of(std::string(rest.substr(open + 1, close - open - 1)));
      rest.remove_prefix(close + 1);
    }
  }

  /// The message with expressions to 12 digits, and with the largest value of the parameter of
  /// "largest NAME" with which the condition holds.
  std::string message_of(const Requirement& requirement) {
    return filled_in(requirement.message, [&](const std::string& inside) {
      return inside.starts_with(largest_word)
                 ? known_largest_value(requirement, inside.substr(largest_word.size()))
                 : value_in_message(requirement, inside);
    });
  }

  /// Refuses parts that cannot be filled in, even if the message is not needed.
  void check_message(const Requirement& requirement) {
    filled_in(requirement.message, [&](const std::string& inside) -> std::string {
      if (!inside.starts_with(largest_word)) return value_in_message(requirement, inside);
      require_parameter(requirement, inside.substr(largest_word.size()));
      return "";
    });
  }

  std::string value_in_message(const Requirement& requirement, const std::string& expression) {
    return fmt::format("{:.12g}", text_.number({expression, requirement.condition.begin, false}));
  }

  void require_parameter(const Requirement& requirement, const std::string& name) const {
    if (parameter_named(name) == nullptr)
      text_.refuse(requirement.condition, "'largest {}' in the message names no parameter", name);
  }

  /// Searches once for each name.
  std::string known_largest_value(const Requirement& requirement, const std::string& name) {
    const auto [found, is_new] = largest_values_.try_emplace(name);
    if (is_new) found->second = largest_value(requirement, name);
    return found->second;
  }

  /// Returns a value between 0 and the refused one, rounded down, since users copy it; "unknown" if
  /// the search would take too long.
  std::string largest_value(const Requirement& requirement, const std::string& name) {
    require_parameter(requirement, name);
    const auto numbers = names_.numbers;
    searched_ += requirement.condition.text.size();
    for (const ParameterText& parameter : file_.parameters)
      searched_ += 32 + parameter.value.text.size();
    if (searched_ > most_searched) return "unknown";
    const auto holds_with = [&](double value) {
      std::map<std::string, double> chosen = choices_.parameters;
      chosen[name] = value;
      model_.tree = {};  // only this error is left of the model
      evaluate_parameters(chosen);
      const bool result = text_.holds(requirement.condition);
      names_.numbers = numbers;
      return result;
    };
    double good = 0, bad = names_.numbers.at(name);
    if (!std::isfinite(bad)) return "unknown";
    for (double middle = bad / 2; middle != good && middle != bad; middle = good + (bad - good) / 2)
      (holds_with(middle) ? good : bad) = middle;
    const std::string nearest = fmt::format("{:.12g}", good);
    return holds_with(std::strtod(nearest.c_str(), nullptr))
               ? nearest
               : fmt::format("{:.12g}", good * (1 - 1e-11));
  }

  const File& file_;
  const Choices& choices_;
  Names& names_;
  Model& model_;
  const Translator text_;
  bool has_upper_ = false;
  std::map<std::string, std::string> largest_values_;
  std::size_t searched_ = 0;  ///< bytes, for these
};

}  // namespace

void set_parameters(const File& file, const Choices& choices, Names& names, Model& model) {
  Parameters(file, choices, names, model).set();
}

}  // namespace halocline::problem

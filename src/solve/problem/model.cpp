// SPDX-License-Identifier: Apache-2.0
#include "problem/model.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>

#include "base/text/words.hpp"
#include "problem/meaning.hpp"
#include "problem/mistakes.hpp"
#include "text/near_miss.hpp"

namespace halocline::problem {
namespace {

/// Bytes of the texts that searches for largest values evaluate, some thousand times each; a
/// parameter counts as 32 more.
constexpr std::size_t most_searched = 8192;
// The word for a request in braces of a message that is no expression.
constexpr std::string_view largest_word = "largest ";

std::string axes_text(int axes) { return axes == 1 ? "1 axis" : fmt::format("{} axes", axes); }

/// "x-"
std::string side_text(std::size_t side) {
  return fmt::format("{}{}", axis_names[side / 2], "-+"[side % 2]);
}

class Maker {
 public:
  Maker(const File& file, const Choices& choices) : file_(file), choices_(choices) {}

  Model make() {
    choose_axes();
    choose_cells();
    names_.axes = model_.axes;
    names_.numbers["axes"] = model_.axes;
    for (int axis = 0; axis < model_.axes; ++axis)
      names_.numbers[fmt::format("n{}", axis_name(axis))] = static_cast<double>(model_.cells[axis]);
    model_.name = std::filesystem::path(file_.source.name()).stem();
    model_.title = file_.title;
    model_.precision = choices_.precision.value_or(file_.precision.value_or(Precision::f64));
    model_.seed = choices_.seed.value_or(file_.seed.value_or(model_.seed));
    make_domain();
    make_parameters();
    finish_spacing();
    check_requirements();
    make_names();
    make_fields();
    make_coefficients();
    make_updates();
    find_reaches();
    make_sides();
    make_stop();
    check_unused();
    return std::move(model_);
  }

 private:
  // ---- errors ----

  [[noreturn]] void refuse(std::size_t at, std::size_t length, const std::string& what) const {
    throw Error(ErrorKind::usage, file_.source.shown(at, length, what));
  }
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorKind::usage, fmt::format("{}: {}", file_.source.name(), what));
  }

  /// Parses and translates an expression; its mistakes are shown in the file.
  Ref meaning(const Written& written, Use use) {
    try {
      return meaning_of(model_.tree, parse(written.text), names_, use);
    } catch (const Mistake& mistake) {
      throw Error(ErrorKind::usage, shown(file_.source, written, mistake));
    }
  }

  double number(const Written& written) { return model_.tree[meaning(written, Use::number)].value; }

  static char axis_name(int axis) { return axis_names[static_cast<std::size_t>(axis)]; }

  /// The value for this number of axes, or for all.
  template <class Value>
  const Value* for_axes(const ByAxes<Value>& values) const {
    for (const int axes : {model_.axes, 0})
      if (const auto found = values.find(axes); found != values.end()) return &found->second;
    return nullptr;
  }

  /// One value for each axis; none if the file has no such key.
  template <class Value>
  std::vector<Value> along_axes(const ByAxes<AlongAxes<Value>>& all, std::string_view key) const {
    const AlongAxes<Value>* const found = for_axes(all);
    if (found == nullptr && !all.empty())
      refuse(fmt::format("the file has no '{}' for {}", key, axes_text(model_.axes)));
    if (found == nullptr) return {};
    const auto axes = static_cast<std::size_t>(model_.axes);
    if (!found->is_list) return std::vector<Value>(axes, found->values[0]);
    if (found->values.size() != axes)
      refuse(found->at, found->length,
             fmt::format("'{}' has {} for {}; give one for each axis, or a single one without "
                         "brackets for all",
                         key, counted(static_cast<std::int64_t>(found->values.size()), "number"),
                         axes_text(model_.axes)));
    return found->values;
  }

  // ---- shape ----

  void choose_axes() {
    const std::vector<int> known = file_.axes.empty() ? std::vector{1, 2, 3} : file_.axes;
    model_.axes = choices_.axes;
    if (model_.axes == 0 && !choices_.cells.empty())
      model_.axes = static_cast<int>(choices_.cells.size());
    if (model_.axes == 0) {
      if (file_.axes.empty()) refuse("the file does not say how many 'axes' the problem has");
      model_.axes = file_.axes.front();
    }
    if (std::find(known.begin(), known.end(), model_.axes) == known.end())
      throw Error(ErrorKind::usage, choices_.cells.empty()
                                        ? fmt::format("{} has {}, not {}", file_.source.name(),
                                                      counted_axes(known), model_.axes)
                                        : fmt::format("{} has {}, but cells {} have {}",
                                                      file_.source.name(), counted_axes(known),
                                                      fmt::join(choices_.cells, "x"), model_.axes));
  }

  /// "1 axis", "2 to 3 axes", "1 or 3 axes"
  static std::string counted_axes(std::vector<int> axes) {
    std::sort(axes.begin(), axes.end());
    if (axes.size() == 1) return axes_text(axes[0]);
    const bool is_range = axes.back() - axes.front() + 1 == std::ssize(axes);
    return fmt::format("{} {} {} axes", axes.front(), is_range ? "to" : "or", axes.back());
  }

  void choose_cells() {
    std::vector<std::int64_t> cells = choices_.cells;
    if (cells.empty()) cells = along_axes(file_.cells, "cells");
    if (cells.empty())
      refuse(fmt::format("the file has no 'cells' for {}", axes_text(model_.axes)));
    for (int axis = 0; axis < model_.axes; ++axis)
      model_.cells[axis] = cells[static_cast<std::size_t>(axis)];
  }

  // ---- numbers ----

  std::string spacing_name(int axis) const { return fmt::format("d{}", axis_name(axis)); }

  void make_domain() {
    const std::vector<Written> lower = along_axes(file_.lower, "lower");
    const std::vector<Written> upper = along_axes(file_.upper, "upper");
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
      if (!lower.empty()) model_.lower[a] = number(lower[a]);
      const std::string name = spacing_name(axis);
      if (!has_upper_) {
        if (spacing_parameter(axis) == nullptr) names_.numbers[name] = 1;
        continue;
      }
      if (const ParameterText* const parameter = parameter_named(name))
        refuse(parameter->value.begin, 1, fmt::format("'upper' gives {} already", name));
      model_.upper[a] = number(upper[a]);
      const double spacing =
          (model_.upper[a] - model_.lower[a]) / static_cast<double>(model_.cells[axis]);
      if (!(spacing > 0) || !std::isfinite(spacing))
        refuse(upper[a].begin, upper[a].text.size(),
               fmt::format("'upper' must be above 'lower' along {}: {} is not above {}",
                           axis_name(axis), model_.upper[a], model_.lower[a]));
      names_.numbers[name] = spacing;
    }
  }

  /// The parameter that sets the spacing along an axis: dx is also for axes without one of theirs.
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
        refuse(fmt::format("parameter {} cannot be {}; use a finite number", name, value));
    }
    evaluate_parameters(choices_.parameters);
    check_finite();
    for (const ParameterText& parameter : file_.parameters) {
      const double value = names_.numbers.at(parameter.name);
      model_.parameters.push_back({parameter.name, parameter.help, value});
      if (parameter.name == "dt") model_.dt = value;
    }
  }

  /// In the order of the file; those that are chosen take that value.
  void evaluate_parameters(const std::map<std::string, double>& chosen) {
    for (const ParameterText& parameter : file_.parameters) {
      const auto choice = chosen.find(parameter.name);
      const double value = choice != chosen.end() ? choice->second : number(parameter.value);
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
      const std::vector<std::string> names = names_in(parsed(requirement.condition));
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
    for (const std::string& name : names_in(parsed(first->value)))
      if (parameter_named(name) != nullptr)
        what +=
            fmt::format("{}{} is {:g}", std::exchange(before, ", "), name, names_.numbers.at(name));
    throw Error(ErrorKind::usage,
                shown(file_.source, first->value, {0, first->value.text.size(), what}));
  }

  /// In their order, each once.
  static std::vector<std::string> names_in(const Syntax& syntax) {
    std::vector<std::string> names;
    if (syntax.kind == Syntax::Kind::name) names.push_back(syntax.name);
    for (const Syntax& part : syntax.parts)
      for (const std::string& name : names_in(part))
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    return names;
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
        refuse(fmt::format("{} must be above 0, not {}", spacing_name(axis), model_.spacing[a]));
      if (!has_upper_)
        model_.upper[a] =
            model_.lower[a] + static_cast<double>(model_.cells[axis]) * model_.spacing[a];
    }
  }

  void check_requirements() {
    model_.has_requirements = !file_.requirements.empty();
    for (const Requirement& requirement : file_.requirements) check(requirement);
  }

  void check(const Requirement& requirement) {
    if (!holds(requirement))
      throw Error(ErrorKind::usage, printable(message_of(requirement), Lines::kept));
    check_message(requirement);
  }

  bool holds(const Requirement& requirement) {
    const Written& condition = requirement.condition;
    try {
      const Ref node = condition_of(model_.tree, parse(condition.text), names_, Use::number);
      return model_.tree[node].value != 0;
    } catch (const Mistake& mistake) {
      throw Error(ErrorKind::usage, shown(file_.source, condition, mistake));
    }
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

  /// Refuses what could not be filled in, before anybody needs the message.
  void check_message(const Requirement& requirement) {
    filled_in(requirement.message, [&](const std::string& inside) -> std::string {
      if (!inside.starts_with(largest_word)) return value_in_message(requirement, inside);
      require_parameter(requirement, inside.substr(largest_word.size()));
      return "";
    });
  }

  std::string value_in_message(const Requirement& requirement, const std::string& expression) {
    return fmt::format("{:.12g}", number({expression, requirement.condition.begin, false}));
  }

  void require_parameter(const Requirement& requirement, const std::string& name) const {
    if (parameter_named(name) == nullptr)
      refuse(requirement.condition.begin, requirement.condition.text.size(),
             fmt::format("'largest {}' in the message names no parameter", name));
  }

  /// Searched for once for each name.
  std::string known_largest_value(const Requirement& requirement, const std::string& name) {
    const auto [found, is_new] = largest_values_.try_emplace(name);
    if (is_new) found->second = largest_value(requirement, name);
    return found->second;
  }

  /// Between 0 and the value that was refused, rounded down: users copy it. "unknown" if that would
  /// take too long to find.
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
      const bool result = holds(requirement);
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

  // ---- fields ----

  void make_names() {
    if (file_.fields.empty()) refuse("the file has no fields; add [fields.NAME]");
    for (const FieldText& field : file_.fields) names_.fields.push_back(field.name);
    for (const CoefficientText& one : file_.coefficients) names_.coefficients.push_back(one.name);
    for (const NamedText& local : file_.locals) {
      const Written* const written = for_axes(local.value);
      if (written == nullptr)
        names_.refused[local.name] =
            fmt::format("'{}' of [locals] has no value for {}", local.name, axes_text(model_.axes));
      else
        names_.locals.emplace(local.name, parsed(*written));
    }
  }

  Syntax parsed(const Written& written) const {
    try {
      return parse(written.text);
    } catch (const Mistake& mistake) {
      throw Error(ErrorKind::usage, shown(file_.source, written, mistake));
    }
  }

  StartValues start(const StartText& text, Use use) {
    // Paths in a file are relative to it.
    if (text.file)
      return {.file = std::filesystem::path(file_.source.name()).parent_path() / *text.file};
    return {.expression = meaning(text.expression, use)};
  }

  void make_fields() {
    for (const FieldText& text : file_.fields) {
      const StartText* const initial = for_axes(text.initial);
      if (initial == nullptr)
        refuse(text.at, text.name.size(),
               fmt::format("field '{}' has no 'initial' value for {}", text.name,
                           axes_text(model_.axes)));
      model_.fields.push_back({.name = text.name, .initial = start(*initial, Use::initial)});
    }
  }

  void make_coefficients() {
    for (const CoefficientText& text : file_.coefficients)
      model_.coefficients.push_back(
          {.name = text.name, .values = start(text.value, Use::coefficient)});
  }

  void make_updates() {
    std::vector<const NamedText*> updates(model_.fields.size(), nullptr);
    for (const NamedText& update : file_.updates) {
      const auto index = field_named(update.name);
      if (!index) {
        refuse(update.at, update.name.size(),
               fmt::format("there is no field '{}' to update{}", update.name,
                           do_you_mean(update.name, names_.fields)));
      }
      updates[*index] = &update;
    }
    for (std::size_t i = 0; i < updates.size(); ++i) {
      const FieldText& text = file_.fields[i];
      if (updates[i] == nullptr)
        refuse(text.at, text.name.size(),
               fmt::format("field '{}' has no update; what does not change belongs in "
                           "[coefficients.{}]",
                           text.name, text.name));
      const Written* const written = for_axes(updates[i]->value);
      if (written == nullptr)
        refuse(updates[i]->at, text.name.size(),
               fmt::format("field '{}' has no update for {}", text.name, axes_text(model_.axes)));
      make_update(i, *written);
    }
  }

  std::optional<std::size_t> field_named(std::string_view name) const {
    const auto found = std::find(names_.fields.begin(), names_.fields.end(), name);
    if (found == names_.fields.end()) return std::nullopt;
    return static_cast<std::size_t>(found - names_.fields.begin());
  }

  /// `u_old = "u"` reuses a level.
  void make_update(std::size_t field, const Written& written) {
    const Syntax syntax = parsed(written);
    const auto other = syntax.kind == Syntax::Kind::name ? field_named(syntax.name) : std::nullopt;
    if (other && may_follow(field, *other))
      model_.fields[field].follows = other;
    else
      model_.fields[field].update = meaning(written, Use::update);
  }

  /// A level can be handed on to one field, and not in a circle; else it is copied.
  bool may_follow(std::size_t field, std::size_t other) const {
    return model_.followed(other).first != field &&
           std::none_of(model_.fields.begin(), model_.fields.end(),
                        [&](const ModelField& one) { return one.follows == other; });
  }

  void find_reaches() {
    const std::vector<Ref> updates = model_.updates();
    if (updates.empty()) refuse("no field is computed; every update names another field");
    const std::size_t fields = model_.fields.size();
    const std::vector<Reach> reach =
        reach_of(model_.tree, updates, fields + model_.coefficients.size());
    for (std::size_t i = 0; i < fields; ++i) model_.fields[i].reach = reach[i];
    for (std::size_t i = 0; i < model_.coefficients.size(); ++i)
      model_.coefficients[i].reach = reach[fields + i];
  }

  /// Locals that no update needs, and values for other numbers of axes.
  void check_unused() const {
    for (const auto* const list : {&file_.locals, &file_.updates})
      for (const NamedText& text : *list)
        for (const auto& [axes, written] : text.value) check_unused(written);
  }
  void check_unused(const Written& written) const {
    const Syntax syntax = parsed(written);
    try {
      check_names(syntax, names_);
    } catch (const Mistake& mistake) {
      throw Error(ErrorKind::usage, shown(file_.source, written, mistake));
    }
  }

  // ---- sides ----

  void make_sides() {
    find_periodic_axes();
    for (std::size_t f = 0; f < model_.fields.size(); ++f)
      for (std::size_t side = 0; side < 2 * static_cast<std::size_t>(model_.axes); ++side)
        make_side(f, side);
  }

  void find_periodic_axes() {
    for (int axis = 0; axis < model_.axes; ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      const BoundaryText *periodic = nullptr, *other = nullptr;
      for (const FieldText& field : file_.fields)
        for (const std::size_t side : {2 * a, 2 * a + 1})
          if (const auto& boundary = field.boundary[side])
            (boundary->kind == BoundaryKind::periodic ? periodic : other) = &*boundary;
      if (periodic != nullptr && other != nullptr)
        refuse(other->at, 1,
               fmt::format("axis {} is periodic elsewhere in this file; it is so on both sides and "
                           "for all fields, or not at all",
                           axis_name(axis)));
      model_.periodic[a] = periodic != nullptr;
    }
  }

  void make_side(std::size_t f, std::size_t side) {
    const std::size_t axis = side / 2;
    if (model_.periodic[axis]) return;
    ModelField& field = model_.fields[f];
    const FieldText& text = file_.fields[f];
    const int reach = side % 2 == 0 ? field.reach.lower[axis] : field.reach.upper[axis];
    const auto& boundary = text.boundary[side];
    if (!boundary) {
      if (reach > 0)
        refuse(
            text.at, text.name.size(),
            fmt::format("field '{}' is read beyond side {}, which has no 'boundary'; give it one, "
                        "such as boundary = \"reflect\" or boundary = {{ value = 0 }}",
                        text.name, side_text(side)));
      return;
    }
    SideRule rule{.kind = boundary->kind};
    for (std::size_t i = 0; i < boundary->values.size(); ++i) {
      const Written& written = boundary->values[i];
      // a and b of `mixed` are numbers.
      const bool is_weight = rule.kind == BoundaryKind::mixed && i < 2;
      rule.values[i] = meaning(written, is_weight ? Use::number : Use::boundary);
    }
    const std::size_t used = boundary->values.size();
    const std::vector<Ref> nodes = nodes_of(model_.tree, std::span(rule.values.data(), used));
    rule.depends_on_time = std::any_of(
        nodes.begin(), nodes.end(), [this](Ref node) { return model_.tree[node].op == Op::time; });
    check_rule(rule, *boundary, axis, reach);
    field.sides[side] = rule;
  }

  void check_rule(const SideRule& rule, const BoundaryText& boundary, std::size_t axis,
                  int reach) const {
    const std::int64_t cells = model_.cells[static_cast<int>(axis)];
    if (rule.kind != BoundaryKind::outside && cells < reach)
      refuse(boundary.at, 1,
             fmt::format("{} needs as many cells along {} as are read beyond it: {}, not {}",
                         name_of(rule.kind), axis_names[axis], reach, cells));
    if (rule.kind != BoundaryKind::mixed) return;
    const double a = model_.tree[rule.values[0]].value, b = model_.tree[rule.values[1]].value;
    for (int k = 1; k <= reach; ++k) {
      const double h = (2 * k - 1) * model_.spacing[axis];
      if (a / 2 + b / h == 0)
        refuse(boundary.at, 1,
               fmt::format("mixed with a = {} and b = {} divides by zero: a/2 + b/h is 0, h = {}",
                           a, b, h));
    }
  }

  // ---- stop ----

  void make_stop() {
    const StopText& stop = file_.stop;
    if (stop.tolerance) model_.tolerance = tolerance_of(*stop.tolerance);
    model_.norm =
        stop.norm.value_or(stop.tolerance || !stop.norm_of.empty() ? Norm::max : Norm::none);
    for (const std::string& name : stop.norm_of) {
      const auto field = field_named(name);
      if (!field)
        refuse(stop.at, 1,
               fmt::format("there is no field '{}' to take a norm of; there are: {}{}", name,
                           fmt::join(names_.fields, ", "), do_you_mean(name, names_.fields)));
      model_.norm_of.push_back(*field);
    }
    std::sort(model_.norm_of.begin(), model_.norm_of.end());
    // A field that follows another changes as that one did before.
    if (stop.norm_of.empty())
      for (std::size_t f = 0; f < model_.fields.size(); ++f)
        if (!model_.fields[f].follows) model_.norm_of.push_back(f);
    if (stop.sweeps)
      model_.sweeps = *stop.sweeps;
    else if (stop.time)
      model_.sweeps = sweeps_until(*stop.time);
    else
      refuse("the file does not say when to stop; add [stop] with 'sweeps' or 'time'");
  }

  double tolerance_of(const Written& written) {
    const double tolerance = number(written);
    if (!(tolerance >= 0) || std::isinf(tolerance))
      refuse(written.begin, written.text.size(),
             fmt::format("the tolerance is {}; use a finite number from 0", tolerance));
    return tolerance;
  }

  std::int64_t sweeps_until(const Written& written) {
    const double time = number(written);
    if (!model_.dt)
      refuse(written.begin, written.text.size(),
             "'time' needs a parameter named dt; add it under [parameters]");
    if (!(*model_.dt > 0) || !std::isfinite(*model_.dt))
      refuse(written.begin, written.text.size(),
             fmt::format("dt is {}; to stop at a time it must be a positive number", *model_.dt));
    const double sweeps = std::ceil(time / *model_.dt * (1 - 1e-12));
    if (!(sweeps >= 0) || sweeps > 9e15)
      refuse(written.begin, written.text.size(),
             fmt::format("time {} takes {} sweeps of dt = {}", time, sweeps, *model_.dt));
    return static_cast<std::int64_t>(sweeps);
  }

  const File& file_;
  const Choices& choices_;
  std::map<std::string, std::string> largest_values_;
  std::size_t searched_ = 0;  ///< bytes, for these
  bool has_upper_ = false;
  Names names_;
  Model model_;
};

}  // namespace

bool Model::is_in_norm(std::size_t field) const {
  return std::find(norm_of.begin(), norm_of.end(), field) != norm_of.end();
}

std::vector<Ref> Model::updates() const {
  std::vector<Ref> all;
  for (const ModelField& field : fields)
    if (!field.follows) all.push_back(field.update);
  return all;
}

std::pair<std::size_t, std::size_t> Model::followed(std::size_t field) const {
  std::size_t later = 0;
  for (; fields[field].follows; ++later) field = *fields[field].follows;
  return {field, later};
}

std::size_t Model::levels() const {
  std::size_t longest = 0;
  for (std::size_t f = 0; f < fields.size(); ++f) longest = std::max(longest, followed(f).second);
  return 2 + longest;
}

HaloWidths Model::reach() const {
  HaloWidths widths(0);
  const auto include = [&](const Reach& one) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const int a = static_cast<int>(axis);
      widths.lower[a] = std::max<std::int64_t>(widths.lower[a], one.lower[axis]);
      widths.upper[a] = std::max<std::int64_t>(widths.upper[a], one.upper[axis]);
    }
  };
  for (const ModelField& field : fields) include(field.reach);
  for (const ModelCoefficient& coefficient : coefficients) include(coefficient.reach);
  return widths;
}

bool Model::ghosts_change(std::size_t field, std::size_t side) const {
  const ModelField& one = fields[field];
  if (!one.reach.has_neighbours() || !one.sides[side]) return false;
  if (!one.sides[side]->is_fixed()) return true;
  for (std::size_t f = 0; f < fields.size(); ++f)
    if (f != field && fields[f].reach.has_neighbours() &&
        followed(f).first == followed(field).first)
      return true;
  return false;
}

bool Model::ghosts_change() const {
  for (std::size_t f = 0; f < fields.size(); ++f)
    for (std::size_t side = 0; side < fields[f].sides.size(); ++side)
      if (ghosts_change(f, side)) return true;
  return false;
}

bool Model::depends_on_time() const {
  const std::vector<Ref> formulas = updates();
  const std::vector<Ref> nodes = nodes_of(tree, formulas);
  return std::any_of(nodes.begin(), nodes.end(),
                     [this](Ref at) { return tree[at].op == Op::time; }) ||
         std::any_of(fields.begin(), fields.end(), [](const ModelField& field) {
           return std::any_of(field.sides.begin(), field.sides.end(),
                              [](const auto& rule) { return rule && rule->depends_on_time; });
         });
}

bool Model::reads_diagonally() const {
  const std::vector<Ref> formulas = updates();
  const std::vector<Ref> nodes = nodes_of(tree, formulas);
  return std::any_of(nodes.begin(), nodes.end(), [this](Ref at) {
    const Node& node = tree[at];
    return node.op == Op::access && node.symbol < fields.size() &&
           std::count(node.offset.begin(), node.offset.end(), 0) < 2;
  });
}

bool Model::reads_nearest() const {
  return !reads_diagonally() && std::all_of(fields.begin(), fields.end(), [](const auto& field) {
    const auto is_near = [](int far) { return far <= 1; };
    return std::all_of(field.reach.lower.begin(), field.reach.lower.end(), is_near) &&
           std::all_of(field.reach.upper.begin(), field.reach.upper.end(), is_near);
  });
}

std::optional<std::size_t> Model::only_field_with_halo() const {
  const auto has_halo = [](const ModelField& field) { return field.reach.has_neighbours(); };
  const auto first = std::find_if(fields.begin(), fields.end(), has_halo);
  if (first == fields.end() || first->follows ||
      std::any_of(std::next(first), fields.end(), has_halo))
    return std::nullopt;
  return static_cast<std::size_t>(first - fields.begin());
}

Model model_of(const File& file, const Choices& choices) { return Maker(file, choices).make(); }

}  // namespace halocline::problem

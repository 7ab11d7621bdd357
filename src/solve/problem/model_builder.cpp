// SPDX-License-Identifier: Apache-2.0
// Makes a model from a problem file and the choices of a run.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>

#include "base/text/words.hpp"
#include "problem/model.hpp"
#include "problem/parameters.hpp"
#include "problem/translator.hpp"
#include "text/near_miss.hpp"

namespace halocline::problem {
namespace {

/// "x-"
std::string side_text(std::size_t side) {
  return fmt::format("{}{}", axis_names[side / 2], "-+"[side % 2]);
}

class ModelBuilder {
 public:
  ModelBuilder(const File& file, const Choices& choices) : file_(file), choices_(choices) {}

  Model build() {
    choose_axes();
    names_.axes = model_.axes;
    choose_cells();
    names_.numbers["axes"] = model_.axes;
    for (int axis = 0; axis < model_.axes; ++axis)
      names_.numbers[fmt::format("n{}", axis_names[static_cast<std::size_t>(axis)])] =
          static_cast<double>(model_.cells[axis]);
    model_.name = std::filesystem::path(file_.source.name()).stem();
    model_.title = file_.title;
    model_.precision = choices_.precision.value_or(file_.precision.value_or(Precision::f64));
    model_.seed = choices_.seed.value_or(file_.seed.value_or(model_.seed));
    set_parameters(file_, choices_, names_, model_);
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
  // ---- shape ----

  void choose_axes() {
    const std::vector<int> known = file_.axes.empty() ? std::vector{1, 2, 3} : file_.axes;
    model_.axes = choices_.axes;
    if (model_.axes == 0 && !choices_.cells.empty())
      model_.axes = static_cast<int>(choices_.cells.size());
    if (model_.axes == 0) {
      if (file_.axes.empty()) text_.refuse("the file does not say how many 'axes' the problem has");
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
    if (axes.size() == 1) return counted(axes[0], "axis");
    const bool is_range = axes.back() - axes.front() + 1 == std::ssize(axes);
    return fmt::format("{} {} {} axes", axes.front(), is_range ? "to" : "or", axes.back());
  }

  void choose_cells() {
    std::vector<std::int64_t> cells = choices_.cells;
    if (cells.empty()) cells = text_.along_axes(file_.cells, "cells");
    if (cells.empty())
      text_.refuse(fmt::format("the file has no 'cells' for {}", text_.axes_text()));
    for (int axis = 0; axis < model_.axes; ++axis)
      model_.cells[axis] = cells[static_cast<std::size_t>(axis)];
  }

  // ---- fields ----

  void make_names() {
    if (file_.fields.empty()) text_.refuse("the file has no fields; add [fields.NAME]");
    for (const FieldText& field : file_.fields) names_.fields.push_back(field.name);
    for (const CoefficientText& one : file_.coefficients) names_.coefficients.push_back(one.name);
    for (const NamedText& local : file_.locals) {
      const Written* const written = text_.for_axes(local.value);
      if (written == nullptr)
        names_.refused[local.name] =
            fmt::format("'{}' of [locals] has no value for {}", local.name, text_.axes_text());
      else
        names_.locals.emplace(local.name, text_.parsed(*written));
    }
  }

  StartValues start(const StartText& text, Use use) {
    // Paths in a file are relative to it.
    if (text.file)
      return {.file = std::filesystem::path(file_.source.name()).parent_path() / *text.file};
    return {.expression = text_.meaning(text.expression, use)};
  }

  void make_fields() {
    for (const FieldText& text : file_.fields) {
      const StartText* const initial = text_.for_axes(text.initial);
      if (initial == nullptr)
        text_.refuse(text, "field '{}' has no 'initial' value for {}", text.name,
                     text_.axes_text());
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
      if (!index)
        text_.refuse(update, "there is no field '{}' to update{}", update.name,
                     do_you_mean(update.name, names_.fields));
      updates[*index] = &update;
    }
    for (std::size_t i = 0; i < updates.size(); ++i) {
      const FieldText& text = file_.fields[i];
      if (updates[i] == nullptr)
        text_.refuse(text,
                     "field '{}' has no update; what does not change belongs in "
                     "[coefficients.{}]",
                     text.name, text.name);
      const Written* const written = text_.for_axes(updates[i]->value);
      if (written == nullptr)
        text_.refuse(*updates[i], "field '{}' has no update for {}", text.name, text_.axes_text());
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
    const Syntax syntax = text_.parsed(written);
    const auto other = syntax.kind == Syntax::Kind::name ? field_named(syntax.name) : std::nullopt;
    if (other && may_follow(field, *other))
      model_.fields[field].follows = other;
    else
      model_.fields[field].update = text_.meaning(written, Use::update);
  }

  /// A level can be passed to one field, and not in a circle; else it is copied.
  bool may_follow(std::size_t field, std::size_t other) const {
    return model_.followed(other).first != field &&
           std::none_of(model_.fields.begin(), model_.fields.end(),
                        [&](const ModelField& one) { return one.follows == other; });
  }

  void find_reaches() {
    const std::vector<Ref> updates = model_.updates();
    if (updates.empty()) text_.refuse("no field is computed; every update names another field");
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
        for (const auto& [axes, written] : text.value) text_.check_names(written);
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
        text_.refuse(
            other->at, 1,
            fmt::format("axis {} is periodic elsewhere in this file; it is so on both sides and "
                        "for all fields, or not at all",
                        axis_names[a]));
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
        text_.refuse(text,
                     "field '{}' is read beyond side {}, which has no 'boundary'; give it one, "
                     "such as boundary = \"reflect\" or boundary = {{ value = 0 }}",
                     text.name, side_text(side));
      return;
    }
    SideRule rule{.kind = boundary->kind};
    for (std::size_t i = 0; i < boundary->values.size(); ++i) {
      const Written& written = boundary->values[i];
      // a and b of `mixed` are numbers.
      const bool is_weight = rule.kind == BoundaryKind::mixed && i < 2;
      rule.values[i] = text_.meaning(written, is_weight ? Use::number : Use::boundary);
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
      text_.refuse(boundary.at, 1,
                   fmt::format("{} needs as many cells along {} as are read beyond it: {}, not {}",
                               name_of(rule.kind), axis_names[axis], reach, cells));
    if (rule.kind != BoundaryKind::mixed) return;
    const double a = model_.tree[rule.values[0]].value, b = model_.tree[rule.values[1]].value;
    for (int k = 1; k <= reach; ++k) {
      const double h = (2 * k - 1) * model_.spacing[axis];
      if (a / 2 + b / h == 0)
        text_.refuse(
            boundary.at, 1,
            fmt::format("mixed with a = {} and b = {} divides by zero: a/2 + b/h is 0, h = {}", a,
                        b, h));
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
        text_.refuse(stop.at, 1,
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
      text_.refuse("the file does not say when to stop; add [stop] with 'sweeps' or 'time'");
  }

  double tolerance_of(const Written& written) {
    const double tolerance = text_.number(written);
    if (!(tolerance >= 0) || std::isinf(tolerance))
      text_.refuse(written, "the tolerance is {}; use a finite number from 0", tolerance);
    return tolerance;
  }

  std::int64_t sweeps_until(const Written& written) {
    const double time = text_.number(written);
    if (!model_.dt)
      text_.refuse(written, "'time' needs a parameter named dt; add it under [parameters]");
    if (!(*model_.dt > 0) || !std::isfinite(*model_.dt))
      text_.refuse(written, "dt is {}; to stop at a time it must be a positive number", *model_.dt);
    const double sweeps = std::ceil(time / *model_.dt * (1 - 1e-12));
    if (!(sweeps >= 0) || sweeps > 9e15)
      text_.refuse(written, "time {} takes {} sweeps of dt = {}", time, sweeps, *model_.dt);
    return static_cast<std::int64_t>(sweeps);
  }

  const File& file_;
  const Choices& choices_;
  Names names_;
  Model model_;
  const Translator text_{file_.source, names_, model_.tree};
};

}  // namespace

Model model_of(const File& file, const Choices& choices) {
  return ModelBuilder(file, choices).build();
}

}  // namespace halocline::problem

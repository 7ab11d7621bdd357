// SPDX-License-Identifier: Apache-2.0
#include "problem/model.hpp"

#include <algorithm>

namespace halocline::problem {

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

}  // namespace halocline::problem

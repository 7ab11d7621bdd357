// SPDX-License-Identifier: Apache-2.0
#include "stencil/ghosts.hpp"

#include <algorithm>
#include <span>

#include "field/cells.hpp"
#include "problem/ghost.hpp"

namespace halocline::stencil {
namespace {

using problem::BoundaryKind;
using problem::Model;
using problem::SideRule;

/// Owned cells, and those held beyond adjacent sides of the domain.
Box owned_and_beyond(const Model& model, const FieldShape& shape) {
  Box box = shape.owned;
  const Box held = shape.held();
  for (int axis = 0; axis < model.axes; ++axis) {
    if (model.periodic[static_cast<std::size_t>(axis)]) continue;
    if (box.lower[axis] == 0) box.lower[axis] = held.lower[axis];
    if (box.upper[axis] == model.cells[axis]) box.upper[axis] = held.upper[axis];
  }
  return box;
}

class HostGhosts final : public ChangingGhosts {
 public:
  explicit HostGhosts(const Ghosts& ghosts) : ghosts_(ghosts) {}
  void fill(Fields level, double time, const GraphClock&, Ghosts::Beside beside, Stream) override {
    for (const Ghosts::Side& side : ghosts_.sides())
      if (side.changes) ghosts_.fill(side, level, time, beside);
  }

 private:
  const Ghosts& ghosts_;
};

}  // namespace

RuleValues::RuleValues(const Model& model, const SideRule& rule, int axis, int end, double time)
    : rule_(rule),
      count_(static_cast<std::size_t>(values_of(rule.kind))),
      position_{.model = model, .at = {}, .now = time},
      interpreter_(model.tree, std::span(rule.values.data(), count_),
                   rule.depends_on_time ? problem::Functions::own : problem::Functions::library) {
  if (rule.kind != BoundaryKind::outside) position_.move_to_face(axis, end);
  are_constant_ = std::all_of(rule.values.begin(), rule.values.begin() + std::ptrdiff_t(count_),
                              [&](problem::Ref value) { return model.tree.is_constant(value); });
  evaluate();
}

const std::array<double, 3>& RuleValues::at(Int3 cell) {
  if (!are_constant_) {
    position_.at = cell;
    evaluate();
  }
  return values_;
}

void RuleValues::evaluate() {
  interpreter_.evaluate(position_);
  for (std::size_t i = 0; i < count_; ++i) values_[i] = interpreter_.value(rule_.values[i]);
}

// A deep halo has more of them than a sweep reads; those may have no cell that mirrors them.
Box ghosts_in(Box box, const Model& model, std::size_t field, int axis, int end) {
  const auto a = static_cast<std::size_t>(axis);
  const bool is_outside = model.fields[field].sides[2 * a + static_cast<std::size_t>(end)]->kind ==
                          BoundaryKind::outside;
  const problem::Reach& reach = model.fields[field].reach;
  if (end == 0) {
    box.upper[axis] = std::min<std::int64_t>(box.upper[axis], 0);
    if (!is_outside) box.lower[axis] = std::max<std::int64_t>(box.lower[axis], -reach.lower[a]);
  } else {
    const std::int64_t cells = model.cells[axis];
    box.lower[axis] = std::max(box.lower[axis], cells);
    if (!is_outside) box.upper[axis] = std::min(box.upper[axis], cells + reach.upper[a]);
  }
  for (int later = axis + 1; later < model.axes; ++later) {
    const auto side = 2 * static_cast<std::size_t>(later);
    if (model.fields[field].sides[side])
      box.lower[later] = std::max<std::int64_t>(box.lower[later], 0);
    if (model.fields[field].sides[side + 1])
      box.upper[later] = std::min(box.upper[later], model.cells[later]);
  }
  return box;
}

void fill_ghosts(const Model& model, std::size_t field, int axis, int end, const Box& box,
                 const GhostCells& cells, double time) {
  if (box.empty()) return;
  const SideRule& rule =
      *model.fields[field]
           .sides[2 * static_cast<std::size_t>(axis) + static_cast<std::size_t>(end)];
  const bool is_constant = values_of(rule.kind) > 0 && model.tree.is_constant(rule.values[0]);
  RuleValues values(model, rule, axis, end, time);
  const std::int64_t count = model.cells[axis];
  const double spacing = model.spacing[static_cast<std::size_t>(axis)];
  const auto fill = [&]<class Real>(Real) {
    const BrickView<Real> view{reinterpret_cast<Real*>(cells.first), cells.origin, cells.places};
    for (std::int64_t z = box.lower.z; z < box.upper.z; ++z)
      for (std::int64_t y = box.lower.y; y < box.upper.y; ++y)
        for (std::int64_t x = box.lower.x; x < box.upper.x; ++x) {
          const Int3 at{x, y, z};
          const std::int64_t k = end == 0 ? -at[axis] : at[axis] - count + 1;
          Int3 from = at;
          from[axis] = end == 0 ? k - 1 : count - k;
          const double h = static_cast<double>(2 * k - 1) * spacing;
          const auto terms =
              problem::ghost_terms<Real>(rule.kind, values.at(at).data(), is_constant, h);
          view(x, y, z) =
              ghost(rule.kind, terms,
                    rule.kind == BoundaryKind::outside ? Real(0) : view(from.x, from.y, from.z));
        }
  };
  if (cells.element_bytes == sizeof(float))
    fill(float());
  else
    fill(double());
}

Ghosts::Ghosts(const Model& model, const Grid& grid, const FieldShape& shape) : model_(model) {
  const std::array<Box, 2> around{owned_and_beyond(model, shape), shape.held()};
  for (std::size_t f = 0; f < model.fields.size(); ++f)
    for (int axis = 0; axis < grid.axes(); ++axis)
      for (const int end : {0, 1}) {
        const auto side = 2 * static_cast<std::size_t>(axis) + static_cast<std::size_t>(end);
        const auto& rule = model.fields[f].sides[side];
        if (!rule || !model.fields[f].reach.has_neighbours()) continue;
        const std::array<Box, 2> cells{ghosts_in(around[0], model, f, axis, end),
                                       ghosts_in(around[1], model, f, axis, end)};
        if (cells[1].empty()) continue;
        sides_.push_back({f, axis, end, &*rule, cells, model.ghosts_change(f, side)});
      }
}

void Ghosts::fill_fixed(Fields level) const {
  for (const Side& side : sides_)
    if (!side.changes) fill(side, level, 0, Beside::held);
}

void Ghosts::fill(const Side& side, Fields level, double time, Beside beside) const {
  const FieldStorage& field = level[side.field];
  fill_ghosts(model_, side.field, side.axis, side.end, side.beside(beside),
              {field.first_owned(), field.shape().owned.lower, field::places_of(field),
               field.shape().element_bytes},
              time);
}

std::unique_ptr<ChangingGhosts> make_host_ghosts(const Ghosts& ghosts) {
  return std::make_unique<HostGhosts>(ghosts);
}

}  // namespace halocline::stencil

// SPDX-License-Identifier: Apache-2.0
#include "support/whole_domain.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "problem/cell_position.hpp"
#include "problem/ghost.hpp"
#include "problem/interpreter.hpp"
#include "support/cells.hpp"

namespace halocline::problem {
namespace {

using test::for_each_cell;

/// Returns the larger value; NaN if either is NaN.
double larger(double a, double b) { return a > b || std::isnan(a) ? a : b; }

Int3 moved(Int3 at, const std::array<std::int8_t, 3>& offset) {
  return at + Int3{offset[0], offset[1], offset[2]};
}

}  // namespace

template <class Real>
class WholeDomain<Real>::State {
 public:
  explicit State(const Model& model)
      : model_(model),
        domain_{{0, 0, 0}, model.cells},
        updates_(model.updates()),
        interpreter_(model.tree, updates_, Functions::own) {
    for (const ModelField& field : model.fields) {
      fields_.emplace_back(held(field.reach));
      fill(fields_.back(), domain_, field.initial.expression);
    }
    for (const ModelCoefficient& coefficient : model.coefficients) {
      coefficients_.emplace_back(held(coefficient.reach));
      fill(coefficients_.back(), coefficients_.back().held, coefficient.values.expression);
    }
  }

  void sweep() {
    for (std::size_t f = 0; f < fields_.size(); ++f) fill_ghosts(f);
    std::vector<Array> next;
    for (const ModelField& field : model_.fields) next.emplace_back(held(field.reach));
    for_each_cell(domain_, [&](Int3 at) {
      interpreter_.evaluate(Cell{{model_, at, now()}, *this});
      for (std::size_t f = 0; f < next.size(); ++f)
        if (const auto& follows = model_.fields[f].follows)
          next[f](at) = fields_[*follows](at);
        else
          next[f](at) = interpreter_.value(model_.fields[f].update);
    });
    norm_ = 0;
    for (const std::size_t f : model_.norm_of) add_to_norm(next[f], fields_[f]);
    if (model_.norm != Norm::max) norm_ = std::sqrt(norm_);
    fields_ = std::move(next);
    ++sweeps_;
  }

  double norm() const { return norm_; }

  std::span<const Real> field(std::size_t index) {
    shown_.clear();
    for_each_cell(domain_, [&](Int3 at) { shown_.push_back(fields_[index](at)); });
    return shown_;
  }

 private:
  /// The values of all cells and of the ghosts around them.
  struct Array {
    Box held;
    std::vector<Real> values;

    Array() = default;
    explicit Array(const Box& box) : held(box), values(static_cast<std::size_t>(box.cells())) {}
    Real& operator()(Int3 at) { return values[index(at)]; }
    const Real& operator()(Int3 at) const { return values[index(at)]; }
    std::size_t index(Int3 at) const {
      const Int3 extent = held.extent(), from = at - held.lower;
      return static_cast<std::size_t>(from.x + extent.x * (from.y + extent.y * from.z));
    }
  };

  /// A cell in an update.
  struct Cell : CellPosition {
    const State& state;
    Cell(CellPosition position, const State& all) : CellPosition(position), state(all) {}
    Real access(int symbol, const std::array<std::int8_t, 3>& offset) const {
      const auto s = static_cast<std::size_t>(symbol);
      const std::size_t fields = state.fields_.size();
      const Array& array = s < fields ? state.fields_[s] : state.coefficients_[s - fields];
      return array(moved(at, offset));
    }
  };

  double now() const { return static_cast<double>(sweeps_) * model_.dt.value_or(0); }

  Box held(const Reach& reach) const {
    Box box = domain_;
    for (int axis = 0; axis < 3; ++axis) {
      box.lower[axis] -= reach.lower[static_cast<std::size_t>(axis)];
      box.upper[axis] += reach.upper[static_cast<std::size_t>(axis)];
    }
    return box;
  }

  /// Evaluates in double precision, and rounds once.
  void fill(Array& array, const Box& box, Ref expression) {
    const Ref formulas[] = {expression};
    Interpreter<double> interpreter(model_.tree, formulas, Functions::library);
    for_each_cell(box, [&](Int3 at) {
      interpreter.evaluate(CellPosition{model_, at});
      array(at) = static_cast<Real>(interpreter.value(expression));
    });
  }

  /// Periodic axes first, then the sides of x, y and z, each over all held cells.
  void fill_ghosts(std::size_t f) {
    Array& field = fields_[f];
    for (int axis = 0; axis < model_.axes; ++axis)
      if (model_.periodic[static_cast<std::size_t>(axis)]) wrap(field, axis);
    for (int axis = 0; axis < model_.axes; ++axis)
      for (const int end : {0, 1})
        if (const auto& rule =
                model_.fields[f]
                    .sides[2 * static_cast<std::size_t>(axis) + static_cast<std::size_t>(end)])
          apply(field, *rule, axis, end);
  }

  Box beyond(const Array& field, int axis, int end) const {
    Box box = field.held;
    (end == 0 ? box.upper : box.lower)[axis] = end == 0 ? 0 : model_.cells[axis];
    return box;
  }

  void wrap(Array& field, int axis) const {
    for (const int end : {0, 1})
      for_each_cell(beyond(field, axis, end), [&](Int3 at) {
        Int3 from = at;
        const std::int64_t n = model_.cells[axis];
        from[axis] = (at[axis] % n + n) % n;
        field(at) = field(from);
      });
  }

  void apply(Array& field, const SideRule& rule, int axis, int end) const {
    const auto a = static_cast<std::size_t>(axis);
    const auto count = static_cast<std::size_t>(values_of(rule.kind));
    Interpreter<double> interpreter(model_.tree, std::span(rule.values.data(), count),
                                    rule.depends_on_time ? Functions::own : Functions::library);
    for_each_cell(beyond(field, axis, end), [&](Int3 at) {
      CellPosition position{model_, at, now()};
      if (rule.kind != BoundaryKind::outside) position.move_to_face(axis, end);
      interpreter.evaluate(position);
      std::array<double, 3> values{};
      for (std::size_t i = 0; i < count; ++i) values[i] = interpreter.value(rule.values[i]);
      const std::int64_t n = model_.cells[axis];
      const std::int64_t k = end == 0 ? -at[axis] : at[axis] - n + 1;
      Int3 mirrored = at;
      mirrored[axis] = end == 0 ? k - 1 : n - k;
      const double h = static_cast<double>(2 * k - 1) * model_.spacing[a];
      const auto terms = problem::ghost_terms<Real>(rule.kind, values.data(),
                                                    model_.tree.is_constant(rule.values[0]), h);
      field(at) =
          ghost(rule.kind, terms, rule.kind == BoundaryKind::outside ? Real(0) : field(mirrored));
    });
  }

  void add_to_norm(const Array& after, const Array& before) {
    for_each_cell(domain_, [&](Int3 at) {
      const auto change = static_cast<double>(after(at) - before(at));
      if (model_.norm == Norm::max)
        norm_ = larger(norm_, std::fabs(change));
      else
        norm_ += change * change;
    });
  }

  const Model& model_;
  Box domain_;
  std::vector<Ref> updates_;
  Interpreter<Real> interpreter_;
  std::vector<Array> fields_, coefficients_;
  std::vector<Real> shown_;
  std::int64_t sweeps_ = 0;
  double norm_ = 0;
};

template <class Real>
WholeDomain<Real>::WholeDomain(const Model& model) : state_(std::make_unique<State>(model)) {}
template <class Real>
WholeDomain<Real>::~WholeDomain() = default;
template <class Real>
void WholeDomain<Real>::sweep() {
  state_->sweep();
}
template <class Real>
double WholeDomain<Real>::norm() const {
  return state_->norm();
}
template <class Real>
std::span<const Real> WholeDomain<Real>::field(std::size_t index) const {
  return state_->field(index);
}

template class WholeDomain<float>;
template class WholeDomain<double>;

}  // namespace halocline::problem

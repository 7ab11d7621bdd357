// SPDX-License-Identifier: Apache-2.0
#include "stencil/fill.hpp"

#include <vector>

#include "field/cells.hpp"
#include "field/elements.hpp"
#include "problem/row_evaluator.hpp"
#include "program/fill.hpp"

namespace halocline::stencil {

void fill_start(const FieldStorage& field, const problem::Model& model, problem::Ref expression,
                int threads) {
  const Box& owned = field.shape().owned;
  const problem::RowEvaluator values(model, expression, owned.lower.x, owned.upper.x);
  program::fill_owned(
      field, [&](Int3 first, std::int64_t count, double* to) { values.evaluate(first, count, to); },
      threads);
}

void fill_coefficient(const FieldStorage& field, const problem::Model& model,
                      problem::Ref expression, int threads) {
  fill_start(field, model, expression, threads);
  const Box held = field.shape().held();
  const problem::RowEvaluator values(model, expression, held.lower.x, held.upper.x);
  field::with_real(field, [&]<class Real>() {
    const FieldView<Real> view = field::view_of<Real>(field);
    std::vector<double> row(static_cast<std::size_t>(held.extent().x));
    for (const Box& box : subtract(held, field.shape().owned))
      for (std::int64_t z = box.lower.z; z < box.upper.z; ++z)
        for (std::int64_t y = box.lower.y; y < box.upper.y; ++y) {
          values.evaluate({box.lower.x, y, z}, box.extent().x, row.data());
          for (std::int64_t x = box.lower.x; x < box.upper.x; ++x)
            view(x, y, z) = static_cast<Real>(row[static_cast<std::size_t>(x - box.lower.x)]);
        }
  });
}

}  // namespace halocline::stencil

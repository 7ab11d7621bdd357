// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>
#include <vector>

#include <halocline/solver.hpp>

#include "program/run_report.hpp"
#include "report/render.hpp"
#include "solver/case.hpp"
#include "solver/target.hpp"

namespace halocline {

using solver::names_of;

namespace {

template <class Number>
std::vector<Number> of_axes(const std::array<Number, 3>& values, int axes) {
  return std::vector<Number>(values.begin(), values.begin() + axes);
}

}  // namespace

std::string description_of(const SolveOptions& options, int ranks) {
  const solver::Case the_case = solver::make_case(options, ranks);
  solver::check_target(options);
  const problem::Model& model = *the_case.model;
  Report report("description");
  report.add_json("problem", model.name)
      .add_json("title", model.title)
      .add_json("cells", program::list_of(the_case.grid.cells))
      .add_json("periodic", of_axes(model.periodic, model.axes))
      .add_json("lower", of_axes(model.lower, model.axes))
      .add_json("spacing", of_axes(model.spacing, model.axes))
      .add_json("precision", name_of(model.precision))
      .add_json("fields", names_of(model.fields))
      .add_json("coefficients", names_of(model.coefficients))
      .add_json("dt", model.dt)
      .add_json("sweeps", the_case.sweeps)
      .add_json("norm", name_of(the_case.norm))
      .add_json("tolerance", the_case.tolerance);
  Table& parameters =
      report.add_table(json_table("parameters", {"name", "value", "help"}, Table::Shape::keyed));
  for (const problem::ModelParameter& parameter : model.parameters)
    parameters.add({parameter.name, parameter.value, parameter.help});
  return render_json(report);
}

}  // namespace halocline

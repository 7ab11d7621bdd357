// SPDX-License-Identifier: Apache-2.0
#pragma once
// Models for tests.

#include <string>

#include <halocline/grid.hpp>

#include "problem/catalogue.hpp"
#include "problem/model.hpp"

namespace halocline::test {

/// Of a text, as of a file called "test.toml".
inline problem::Model model_of_text(const std::string& text, const problem::Choices& choices = {}) {
  return problem::model_of(problem::read_text("test.toml", text), choices);
}

/// Of a built-in problem, with so many cells or, if there are none, its own.
inline problem::Model built_in(const std::string& name, const Extents& cells = {},
                               problem::Choices choices = {}) {
  for (int axis = 0; axis < cells.axes(); ++axis) choices.cells.push_back(cells[axis]);
  const problem::ProblemText problem = problem::find_problem(name);
  return problem::model_of(problem::read_text(problem.name, problem.text), choices);
}

}  // namespace halocline::test

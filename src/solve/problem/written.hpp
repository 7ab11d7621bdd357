// SPDX-License-Identifier: Apache-2.0
#pragma once
// Formulas as text again, with all names and macros written out.

#include <string>
#include <vector>

#include "problem/model.hpp"

namespace halocline::problem {

/// Writes the updates of a model, one line for each, before them one for each part that several
/// need and that is more than a cell or a number: "p1 = u[-1,0] + u[1,0]". Only the parentheses
/// that the order of evaluation needs.
std::vector<std::string> written_out(const Model& model);

/// The cost of one update of one cell, equal parts counted once.
struct Effort {
  int operations = 0;  ///< without loads, stores and constants
  int fields_read = 0, coefficients_read = 0, fields_written = 0;
  /// Bytes of memory for a cell: each field and coefficient read once, each field written once.
  std::int64_t bytes = 0;
};
Effort effort_of(const Model& model);

}  // namespace halocline::problem

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The updates of a model as C++ for CPUs.

#include <array>
#include <string>

#include "stencil/formula_text.hpp"

namespace halocline::stencil::cpu {

struct PrintedUpdate {
  /// Of the struct Printed and of the function `halocline_update`; for text/rows.hpp, in front.
  std::string source;
  Operands operands;
  std::array<double, most_constants> constants{};
};

PrintedUpdate print_update(const problem::Model& model);

/// Returns text/rows.hpp with all that it includes.
const char* text_of_rows();

}  // namespace halocline::stencil::cpu

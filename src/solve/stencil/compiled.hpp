// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether the updates of a model are compiled, not interpreted.

#include <optional>
#include <string>

#include "problem/model.hpp"

namespace halocline::stencil {

/// The most fields and coefficients that kernels read.
inline constexpr int most_inputs = 32;
/// Returns why kernels cannot be compiled of the model's updates, or nothing.
std::optional<std::string> cannot_be_compiled_because(const problem::Model& model);

/// Whether kernels of the model's updates, with any constants, came with the program.
bool is_compiled_in(const problem::Model& model);

}  // namespace halocline::stencil

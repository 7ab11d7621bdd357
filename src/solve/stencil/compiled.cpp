// SPDX-License-Identifier: Apache-2.0
#include "stencil/compiled.hpp"

#include <cstddef>
#include <vector>

#include <fmt/format.h>

namespace halocline::stencil {

std::optional<std::string> cannot_be_compiled_because(const problem::Model& model) {
  // NVRTC takes some seconds for this number.
  constexpr std::size_t most_operations = 2000;
  const std::size_t operations = nodes_of(model.tree, model.updates()).size();
  if (operations > most_operations)
    return fmt::format("its updates have {} operations, and at most {} are compiled", operations,
                       most_operations);
  const std::size_t arrays = model.fields.size() + model.coefficients.size();
  if (arrays > most_inputs)
    return fmt::format("it has {} fields and coefficients, and kernels read at most {}", arrays,
                       most_inputs);
  return std::nullopt;
}

}  // namespace halocline::stencil

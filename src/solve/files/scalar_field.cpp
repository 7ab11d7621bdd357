// SPDX-License-Identifier: Apache-2.0
#include "files/scalar_field.hpp"

#include <fmt/format.h>

#include <halocline/error.hpp>

namespace halocline::files {

void require_scalar(const Grid& grid, const FieldStorage& field) {
  const FieldShape& shape = field.shape();
  const auto refuse = [&](const std::string& reason) {
    throw Error(ErrorKind::usage, fmt::format("field '{}' {}", field.name(), reason));
  };
  if (shape.owned != grid.owned()) refuse("was made for another grid: it owns other cells");
  if (shape.components != 1)
    refuse(fmt::format("has {} components; files need one", shape.components));
  if (shape.element_bytes != 4 && shape.element_bytes != 8)
    refuse(
        fmt::format("has elements of {} bytes; files need float or double", shape.element_bytes));
}

}  // namespace halocline::files

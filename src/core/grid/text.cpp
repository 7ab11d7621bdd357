// SPDX-License-Identifier: Apache-2.0
#include "grid/text.hpp"

#include <fmt/format.h>

namespace halocline::grid {

std::string text_of(const Extents& extents) {
  std::string text = fmt::format("{}", extents[0]);
  for (int axis = 1; axis < extents.axes(); ++axis) text += fmt::format("x{}", extents[axis]);
  return text;
}

}  // namespace halocline::grid

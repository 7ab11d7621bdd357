// SPDX-License-Identifier: Apache-2.0
#include "grid/text.hpp"

#include <fmt/format.h>

#include "base/text/words.hpp"

namespace halocline::grid {

std::string text_of(const Extents& extents) {
  std::string text = fmt::format("{}", extents[0]);
  for (int axis = 1; axis < extents.axes(); ++axis) text += fmt::format("x{}", extents[axis]);
  return text;
}

std::string cells_text(const Extents& extents) {
  return extents.axes() == 1 ? counted(extents[0], "cell") : text_of(extents) + " cells";
}

}  // namespace halocline::grid

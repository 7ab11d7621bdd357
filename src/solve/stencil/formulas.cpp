// SPDX-License-Identifier: Apache-2.0
#include "stencil/formulas.hpp"

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/words.hpp"

namespace halocline::stencil {

void refuse_axes(const problem::Problem& problem, const problem::Setting& setting) {
  const problem::ProblemInfo& info = problem.info();
  throw Error(ErrorKind::usage, info.fewest_axes == info.most_axes
                                    ? fmt::format("{} has {}, not {}", info.name,
                                                  counted(info.most_axes, "axis"), setting.axes)
                                    : fmt::format("{} has {} to {} axes, not {}", info.name,
                                                  info.fewest_axes, info.most_axes, setting.axes));
}

}  // namespace halocline::stencil

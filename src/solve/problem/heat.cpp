// SPDX-License-Identifier: Apache-2.0
// The error texts, which need fmt. nvcc compiles heat.hpp, and fails on fmt.

#include "problem/heat.hpp"

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/words.hpp"

namespace halocline::problem {

void Heat::check(const Setting& setting) const {
  const double alpha = setting.parameters[0], dx = setting.parameters[2];
  if (!(alpha > 0) || !(setting.parameters[1] > 0) || !(dx > 0))
    throw Error(ErrorKind::usage, fmt::format("heat needs positive alpha, dt and dx, not {}, {} "
                                              "and {}",
                                              alpha, setting.parameters[1], dx));
  if (2 * ratio(setting) * setting.axes > 1)
    throw Error(
        ErrorKind::usage,
        fmt::format("heat is unstable with dt {}: r = alpha*dt/dx^2 is {:.6g}, and {} allow{} "
                    "at most {:.6g}; the largest stable dt is {:.6g}",
                    setting.parameters[1], ratio(setting), counted(setting.axes, "axis"),
                    setting.axes == 1 ? "s" : "", 1.0 / (2 * setting.axes),
                    dx * dx / (2 * setting.axes * alpha)));
}

}  // namespace halocline::problem

// SPDX-License-Identifier: Apache-2.0
// The error texts, which need fmt. nvcc compiles heat.hpp, and fails on fmt.

#include "problem/heat.hpp"

#include <cstdlib>
#include <string>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/words.hpp"

namespace halocline::problem {
namespace {

bool is_stable(const Setting& setting) { return 2 * Heat::ratio(setting) * setting.axes <= 1; }

/// The largest stable dt, to 12 digits, rounded so that it is stable: users copy it.
std::string largest_stable_dt(Setting setting) {
  const double alpha = setting.parameters[0], dx = setting.parameters[2];
  double& dt = setting.parameters[1];
  const double limit = dx * dx / (2 * setting.axes * alpha);
  const std::string nearest = fmt::format("{:.12g}", limit);
  dt = std::strtod(nearest.c_str(), nullptr);
  return is_stable(setting) ? nearest : fmt::format("{:.12g}", limit * (1 - 1e-11));
}

}  // namespace

void Heat::check(const Setting& setting) const {
  const double alpha = setting.parameters[0], dx = setting.parameters[2];
  if (!(alpha > 0) || !(setting.parameters[1] > 0) || !(dx > 0))
    throw Error(ErrorKind::usage, fmt::format("heat needs positive alpha, dt and dx, not {}, {} "
                                              "and {}",
                                              alpha, setting.parameters[1], dx));
  if (!is_stable(setting))
    throw Error(ErrorKind::usage,
                fmt::format("heat is unstable with dt {}: r = alpha*dt/dx^2 is {:.12g}, and {} "
                            "allow{} at most {:.12g}; the largest stable dt is {}",
                            setting.parameters[1], ratio(setting), counted(setting.axes, "axis"),
                            setting.axes == 1 ? "s" : "", 1.0 / (2 * setting.axes),
                            largest_stable_dt(setting)));
}

}  // namespace halocline::problem

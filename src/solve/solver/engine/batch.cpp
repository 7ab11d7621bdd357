// SPDX-License-Identifier: Apache-2.0
#include "solver/engine/batch.hpp"

#include <algorithm>
#include <numeric>

namespace halocline::solver {

std::int64_t period_of(const Case& the_case, std::int64_t sweeps_per_pass) {
  // A pass of several sweeps leaves half of the levels to the next.
  if (sweeps_per_pass > 1)
    return std::lcm(std::int64_t{2}, the_case.passes_per_exchange(sweeps_per_pass)) *
           sweeps_per_pass;
  return static_cast<std::int64_t>(the_case.levels()) * the_case.halo_depth;
}

std::int64_t batch_sweeps_of(const Case& the_case, std::int64_t sweeps_per_pass) {
  const std::int64_t even = period_of(the_case, sweeps_per_pass);
  const bool has_norms = the_case.norm != Norm::none;
  const std::int64_t period = has_norms ? std::lcm(even, the_case.norm_every) : even;
  const std::int64_t unit = period <= longest_period ? period : std::min(even, longest_period);
  return (fewest_batch_sweeps + unit - 1) / unit * unit;
}

}  // namespace halocline::solver

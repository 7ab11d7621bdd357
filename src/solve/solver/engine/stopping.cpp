// SPDX-License-Identifier: Apache-2.0
#include "solver/engine/stopping.hpp"

#include <cmath>

#include <halocline/error.hpp>

#include "solver/engine/norm_rounding.hpp"

namespace halocline::solver {

Stopping::Stopping(const Case& the_case, const RunState& start)
    : case_(the_case), first_(start.sweep), history_(start.norms) {
  if (history_.empty() || history_.back().first != first_ - 1) return;
  const auto [sweep, norm] = history_.back();
  history_.pop_back();
  enter(sweep, norm);
}

stencil::PassNorms Stopping::norms_of(const stencil::Pass& pass) const {
  const std::int64_t every = case_.norm_every;
  stencil::PassNorms norms{.first = (every - pass.first_sweep % every) % every, .every = every};
  const std::int64_t last = pass.first_sweep + pass.sweeps - 1;
  if (case_.norm != Norm::none && (norms.first < pass.sweeps || has_norm(last)))
    norms.kind = case_.norm;
  if (pass.sweeps == 1) norms.first = 0;
  return norms;
}

bool Stopping::would_stop(double norm) const {
  return case_.may_stop && (!std::isfinite(norm) || case_.converges_with(norm));
}

bool Stopping::enter(std::int64_t sweep, double norm) {
  history_.emplace_back(sweep, norm);
  if (!case_.may_stop) return false;
  diverged_ = !std::isfinite(norm);
  if (diverged_ || !case_.tolerance) return diverged_;
  converged_ = case_.converges_with(norm);
  was_close_ |= case_.norm == Norm::l2 && is_same_norm(case_, norm, *case_.tolerance);
  return converged_;
}

}  // namespace halocline::solver

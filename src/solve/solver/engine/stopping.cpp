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

void Stopping::begin_batch(std::int64_t, stencil::SweepBatch&) {
  throw Error(ErrorKind::internal, "a batch of sweeps cannot have norms that the host reduces");
}

bool Stopping::would_stop(double norm) const {
  return !std::isfinite(norm) || case_.converges_with(norm);
}

bool Stopping::enter(std::int64_t sweep, double norm) {
  history_.emplace_back(sweep, norm);
  diverged_ = !std::isfinite(norm);
  if (diverged_ || !case_.tolerance) return diverged_;
  converged_ = case_.converges_with(norm);
  was_close_ |= case_.norm == Norm::l2 && is_same_norm(case_, norm, *case_.tolerance);
  return converged_;
}

}  // namespace halocline::solver

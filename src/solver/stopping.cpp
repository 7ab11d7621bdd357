#include "solver/stopping.hpp"

#include <cmath>

namespace halocline::solver {

using problem::NormKind;

void Stopping::offer(std::int64_t sweep, double norm_sum) {
  reduction_of(sweep).start(
      case_.norm == NormKind::max ? comm::NormReduction::Kind::max : comm::NormReduction::Kind::sum,
      norm_sum);
}

bool Stopping::stops_at(std::int64_t sweep) {
  if (sweep < 0 || !reduction_of(sweep).in_flight()) return false;
  double norm = reduction_of(sweep).finish();
  if (case_.norm == NormKind::l2) norm = std::sqrt(norm);
  history_.emplace_back(sweep, norm);
  diverged_ = !std::isfinite(norm);
  if (diverged_ || !case_.tolerance) return diverged_;
  converged_ = norm <= *case_.tolerance;
  was_close_ |=
      case_.norm == NormKind::l2 && std::abs(norm - *case_.tolerance) <= 1e-12 * *case_.tolerance;
  return converged_;
}

void Stopping::discard(std::int64_t sweep) {
  if (sweep >= 0 && reduction_of(sweep).in_flight()) reduction_of(sweep).finish();
}

}  // namespace halocline::solver

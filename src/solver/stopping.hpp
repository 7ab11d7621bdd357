#pragma once
// When a run stops: norms that reach every rank one sweep late.

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "comm/collectives.hpp"
#include "solver/case.hpp"

namespace halocline::solver {

/// Takes the norms of a run. The norm of sweep k is reduced while sweep k+1 runs and looked at
/// before sweep k+2 begins, always then and never earlier: every rank decides at the same place.
/// So a run is at most one sweep further than the one that stops it, and the result of that one
/// is still the input of the last.
class Stopping {
 public:
  Stopping(const Communicator& communicator, const Case& the_case)
      : case_(the_case),
        reductions_{comm::NormReduction(communicator), comm::NormReduction(communicator)} {}

  /// Hands in this rank's share of the norm of a sweep.
  void offer(std::int64_t sweep, double norm_sum);
  /// Looks at the norm of a sweep, if it has one; true if the run stops with it.
  bool stops_at(std::int64_t sweep);
  /// Waits for a norm that no longer matters.
  void discard(std::int64_t sweep);

  bool converged() const { return converged_; }
  bool diverged() const { return diverged_; }
  /// A tolerance so near a norm that another split of an L2 sum might have decided otherwise.
  bool was_close() const { return was_close_; }
  const std::vector<std::pair<std::int64_t, double>>& history() const { return history_; }

 private:
  comm::NormReduction& reduction_of(std::int64_t sweep) {
    return reductions_[static_cast<std::size_t>(sweep % 2)];
  }

  const Case& case_;
  std::array<comm::NormReduction, 2> reductions_;
  std::vector<std::pair<std::int64_t, double>> history_;
  bool converged_ = false, diverged_ = false, was_close_ = false;
};

}  // namespace halocline::solver

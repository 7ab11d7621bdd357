// SPDX-License-Identifier: Apache-2.0
#pragma once
// Norms of a run, and the decision when it stops.

#include <memory>
#include <utility>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/stream.hpp>

#include "solver/case.hpp"
#include "solver/stepper.hpp"
#include "stencil/persistent.hpp"

namespace halocline::solver {

/// Collects the norms of a run and decides when it stops. One or two sweeps may have run, or be
/// queued, beyond the sweep that stops it; its result remains, since later ones overwrote only its
/// input.
class Stopping {
 public:
  /// For a run that begins at `start`.
  Stopping(const Case& the_case, const RunState& start)
      : case_(the_case), first_(start.sweep), history_(start.norms) {}
  virtual ~Stopping() = default;
  Stopping(const Stopping&) = delete;
  Stopping& operator=(const Stopping&) = delete;

  /// Sets the norm's destination in the arguments of a sweep that has a norm.
  virtual void begin(std::int64_t sweep, stencil::SweepArguments& arguments, Stream stream) = 0;
  /// Call it after queueing each sweep.
  virtual void end(std::int64_t sweep, Stream stream) = 0;
  /// Returns how many sweeps from this one on may begin before the next call of stops_before(). The
  /// work that begin() and end() queue for them depends only on their numbers.
  virtual std::int64_t sweeps_at_once(std::int64_t sweep) const {
    static_cast<void>(sweep);
    return 1;
  }
  /// Sets the destinations of the norms of a batch, at most sweeps_at_once() sweeps in one launch;
  /// replaces begin() and end(). Throws internal where norms need the host.
  virtual void begin_batch(std::int64_t first, stencil::SweepBatch& batch);
  /// Returns true if the run stops before this sweep; the same on all ranks.
  virtual bool stops_before(std::int64_t sweep) = 0;
  /// Reads the remaining norms, after the last sweep; returns how many of the `sweeps` queued
  /// count.
  virtual std::int64_t finish(std::int64_t sweeps) = 0;

  bool converged() const { return converged_; }
  bool diverged() const { return diverged_; }
  /// Whether an L2 norm was so near the tolerance that another split might have decided otherwise.
  bool was_close() const { return was_close_; }
  const std::vector<std::pair<std::int64_t, double>>& history() const { return history_; }

 protected:
  /// Adds a norm to the history; returns true if the run stops with that sweep.
  bool enter(std::int64_t sweep, double norm);
  const Case& the_case() const { return case_; }
  /// Whether a sweep of this run has a norm.
  bool has_norm(std::int64_t sweep) const { return sweep >= first_ && case_.wants_norm(sweep); }
  std::int64_t first() const { return first_; }  ///< number of the run's first sweep

 private:
  const Case& case_;
  std::int64_t first_;
  std::vector<std::pair<std::int64_t, double>> history_;
  bool converged_ = false, diverged_ = false, was_close_ = false;
};

/// All-reduces norms through MPI, one sweep late: the norm of sweep k while sweep k+1 runs. Decides
/// before sweep k+2 begins, never earlier, so that every rank decides at the same sweep.
std::unique_ptr<Stopping> make_reduced_stopping(const Communicator& communicator,
                                                const Case& the_case, const RunState& start,
                                                Stream stream);

/// Returns the sweeps of a batch where norms stay on the GPUs: so many that level, halo depth and,
/// if possible, norms repeat with each batch, so that one graph serves all batches.
std::int64_t sweeps_of_batch(const Case& the_case);

struct DeviceStoppingParts {
  const Communicator& communicator;
  const Case& the_case;
  stencil::Sweep& sweep;
  /// Null on one rank, or without norms.
  const device::AllReducePort* all_reduce;
  Stream stream;
};

/// Reduces norms on the GPUs. The host queues sweeps far ahead; those after the sweep that stops
/// the run do nothing. Each sweep leaves partial norms, and the next sweep reduces them while it
/// updates cells, over all ranks if there are several, so that no rank waits for a norm.
std::unique_ptr<Stopping> make_device_stopping(const DeviceStoppingParts& parts,
                                               const RunState& start);

}  // namespace halocline::solver

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Norms of a run, and the decision when it stops.

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/stream.hpp>

#include "solver/case.hpp"
#include "solver/engine/stepper.hpp"
#include "stencil/sweep.hpp"
#include "transport/transport.hpp"

namespace halocline::solver {

/// Collects the norms of a run and decides when it stops. By then later sweeps may have begun: one
/// single sweep on the host, up to two batches on GPUs, where they do nothing. The result remains,
/// since later sweeps overwrote only its input.
class Stopping {
 public:
  /// For a run that begins at `start`, where a norm may have ended it.
  Stopping(const Case& the_case, const RunState& start);
  virtual ~Stopping() = default;
  Stopping(const Stopping&) = delete;
  Stopping& operator=(const Stopping&) = delete;

  /// Sets which sweeps of a pass have norms, at most sweeps_at_once() sweeps, and where they go.
  /// Throws internal for several sweeps where norms need the host.
  virtual void begin(stencil::Pass& pass, Stream stream) = 0;
  /// Call it after queueing each pass of one sweep.
  virtual void end(const stencil::Pass& pass, Stream stream) = 0;
  /// Returns how many sweeps, from a multiple of this number on, may begin before the next call of
  /// stops_before(). The work that begin() and end() queue for them depends only on their numbers.
  virtual std::int64_t batch_sweeps() const { return 1; }
  /// Returns the sweeps left of the batch of this one, itself included.
  std::int64_t sweeps_at_once(std::int64_t sweep) const {
    return batch_sweeps() - sweep % batch_sweeps();
  }
  /// Returns true if the run stops before this sweep; the same on all ranks.
  virtual bool stops_before(std::int64_t sweep) = 0;
  /// Returns true if the run stops before the sweep after which `sweeps` are done, so that they do
  /// not all count; the same on all ranks. All that is queued must be done, and stops_before() have
  /// been called with this number.
  virtual bool stopped_within(std::int64_t) { return false; }
  /// Returns the norm of the last of `sweeps` sweeps, if it has one, which later sweeps would
  /// bring; leaves the run as it is. After stopped_within(sweeps). Collective.
  virtual std::optional<double> norm_of_last(std::int64_t sweeps) = 0;
  /// Whether such a norm ends the run.
  bool would_stop(double norm) const;
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
  /// Returns which sweeps of a pass have norms.
  stencil::PassNorms norms_of(const stencil::Pass& pass) const;
  std::int64_t first() const { return first_; }  ///< number of the run's first sweep

 private:
  const Case& case_;
  std::int64_t first_;
  std::vector<std::pair<std::int64_t, double>> history_;
  bool converged_ = false, diverged_ = false, was_close_ = false;
};

/// All-reduces norms through MPI, one sweep late: the norm of sweep k while sweep k+1 runs. Decides
/// before sweep k+2 begins, never earlier, so that every rank decides at the same sweep.
std::unique_ptr<Stopping> make_mpi_stopping(const Communicator& communicator, const Case& the_case,
                                            const RunState& start, Stream stream);

/// Of passes by several sweeps on the host: all-reduces the norms of a pass together, and decides
/// before the next one, which overwrites what the pass read.
std::unique_ptr<Stopping> make_pass_stopping(const Communicator& communicator, const Case& the_case,
                                             const RunState& start, std::int64_t sweeps_per_pass);

struct GpuStoppingParts {
  const Communicator& communicator;
  const Case& the_case;
  stencil::Sweep& sweep;
  /// Null on one rank, or without norms.
  const device::AllReducePort* all_reduce;
  /// Null, or gathers the ranks' parts of norms where kernels cannot reach all ranks.
  transport::Gather* gather;
  Stream stream;
  std::int64_t sweeps_per_pass = 1;  ///< the most of a pass over memory
};

/// Reduces norms on the GPUs. The host queues sweeps far ahead; those after the sweep that stops
/// the run do nothing. Each sweep leaves partial norms, and the next sweep reduces them while it
/// updates cells, over all ranks if there are several, so that no rank waits for a norm. With a
/// gather the norm is reduced on a branch of the stream, in parallel with the next sweep.
std::unique_ptr<Stopping> make_gpu_stopping(const GpuStoppingParts& parts, const RunState& start);

}  // namespace halocline::solver

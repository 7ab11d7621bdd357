// SPDX-License-Identifier: Apache-2.0
#pragma once
// Norms, and when a run stops by them.

#include <memory>
#include <utility>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/stream.hpp>

#include "solver/case.hpp"
#include "solver/stepper.hpp"
#include "stencil/persistent.hpp"

namespace halocline::solver {

/// Takes the norms of a run and decides when it stops. By then later sweeps may have begun: one on
/// the host, up to two batches on GPUs, where they do nothing. The result is still there, since
/// only its input has been written over.
class Stopping {
 public:
  /// Of a run that begins at `start`.
  Stopping(const Case& the_case, const RunState& start)
      : case_(the_case), first_(start.sweep), history_(start.norms) {}
  virtual ~Stopping() = default;
  Stopping(const Stopping&) = delete;
  Stopping& operator=(const Stopping&) = delete;

  /// Tells a sweep that has a norm where to leave it.
  virtual void begin(std::int64_t sweep, stencil::SweepArguments& arguments, Stream stream) = 0;
  /// After every sweep was given to the stream.
  virtual void end(std::int64_t sweep, Stream stream) = 0;
  /// How many sweeps, from a multiple of this number on, may begin before stops_before() is asked
  /// again. What begin() and end() give to a stream for them depends on nothing but their numbers.
  virtual std::int64_t batch_sweeps() const { return 1; }
  /// Sweeps left of the batch in which this one is.
  std::int64_t sweeps_at_once(std::int64_t sweep) const {
    return batch_sweeps() - sweep % batch_sweeps();
  }
  /// Instead of begin() and end(), tells a batch of sweeps_at_once() or fewer that are one launch
  /// where to leave their norms. Throws internal where norms need the host.
  virtual void begin_batch(std::int64_t first, stencil::SweepBatch& batch);
  /// True if this sweep need not begin any more: asked by all ranks alike.
  virtual bool stops_before(std::int64_t sweep) = 0;
  /// After the last; returns how many of the `sweeps` that were begun count.
  virtual std::int64_t finish(std::int64_t sweeps) = 0;

  bool converged() const { return converged_; }
  bool diverged() const { return diverged_; }
  /// A tolerance so near a norm that another split of an L2 sum might have decided otherwise.
  bool was_close() const { return was_close_; }
  const std::vector<std::pair<std::int64_t, double>>& history() const { return history_; }

 protected:
  /// Enters a norm into the history; true if the run stops with that sweep.
  bool enter(std::int64_t sweep, double norm);
  const Case& the_case() const { return case_; }
  /// Whether a sweep of this run has a norm.
  bool has_norm(std::int64_t sweep) const { return sweep >= first_ && case_.wants_norm(sweep); }
  std::int64_t first() const { return first_; }  ///< sweep of the run

 private:
  const Case& case_;
  std::int64_t first_;
  std::vector<std::pair<std::int64_t, double>> history_;
  bool converged_ = false, diverged_ = false, was_close_ = false;
};

/// By norms of all ranks, reduced through MPI one sweep late: the norm of sweep k is reduced while
/// sweep k+1 runs and looked at before sweep k+2 begins, always then and never earlier, so that
/// every rank decides at the same place.
std::unique_ptr<Stopping> make_mpi_stopping(const Communicator& communicator, const Case& the_case,
                                            const RunState& start, Stream stream);

struct GpuStoppingParts {
  const Communicator& communicator;
  const Case& the_case;
  stencil::Sweep& sweep;
  /// Of all ranks, or null: there is one rank, or no norm is wanted.
  const device::AllReducePort* all_reduce;
  Stream stream;
};

/// By norms that never leave the GPUs. Sweeps are queued far ahead; those after the one that stops
/// the run do nothing. The norm of a sweep is reduced by the next one, so that nobody waits for it.
std::unique_ptr<Stopping> make_gpu_stopping(const GpuStoppingParts& parts, const RunState& start);

}  // namespace halocline::solver

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Persistent sweeps: one launch on a GPU runs many sweeps of a rank, with the same bits as one
// launch per sweep.

#include <array>
#include <functional>

#include "device/edge_port.hpp"
#include "stencil/sweep.hpp"

namespace halocline::stencil {

/// Consecutive sweeps, of which the first reads the newest level.
struct SweepBatch {
  std::size_t level;             ///< input of the first sweep
  std::int64_t count;            ///< sweeps, at least 1
  std::int64_t first_sweep = 0;  ///< number of the first one: t is that times the model's dt
  Norm norm = Norm::none;
  /// Sweeps with a norm: number `first_norm`, counted from the batch's first, and every
  /// `norm_every`-th after it.
  std::int64_t first_norm = 0, norm_every = 1;
  /// Destination of the partial norms of the batch's last sweep, if it has a norm; a later sweep
  /// reduces them.
  PartialNorms* partial_norms = nullptr;
  /// Of the norm before the batch, unless its `parts` are null. The batch reduces the norms of its
  /// own sweeps, except the last, in the same way: that of sweep i before sweep i + 2 begins, into
  /// norm[i + 1] unless norm is null. If a norm stops the run, the batch ends, and the result of
  /// that sweep is in the level that a single sweep would have written; for this the batch may do
  /// all its sweeps up to that one again.
  NormReduction reduction{};
};

/// A problem's update on a rank's cells, which stay in the GPU's registers between sweeps.
class PersistentSweep {
 public:
  virtual ~PersistentSweep() = default;
  /// Runs all sweeps of the batch in one launch; all neighbours must do the same. Afterwards the
  /// output level of the last sweep holds its result, but not the halos of other subdomains. Does
  /// nothing if `batch.reduction.stop` is set when it begins. Ordered by `stream`.
  virtual void run(const SweepBatch& batch, Stream stream) = 0;
  /// Returns how long its formula took to compile, if it was when it was made.
  virtual double compile_seconds() const { return 0; }
};

struct PersistentParts {
  const problem::Model& model;
  std::array<std::reference_wrapper<const FieldStorage>, 2> levels;
  /// Along x and, in 3-D, y: the rank owns them whole, and each end is next to the other.
  std::array<bool, 2> wraps;
  /// Connects both ends of the last axis to the neighbours. At an end without neighbour, a batch
  /// reads the halo from the levels when it begins.
  device::EdgePort port;
  /// Least rows per warp. Fewer rows make more warps, which hide each other's waits. Other values
  /// are for tests.
  int fewest_rows = 2;
  /// As in SweepOptions.
  const Communicator* communicator = nullptr;
  /// Of batches: they have this norm or none.
  Norm norm = Norm::none;
};

}  // namespace halocline::stencil

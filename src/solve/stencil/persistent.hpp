// SPDX-License-Identifier: Apache-2.0
#pragma once
// Many sweeps of a rank in one launch on a GPU, to the same bits as one after the other.

#include <array>
#include <functional>

#include "device/edge_port.hpp"
#include "stencil/sweep.hpp"

namespace halocline::stencil {

/// Neighbouring sweeps, the first of which reads the newest level.
struct SweepBatch {
  std::size_t level;   ///< that the first sweep reads
  std::int64_t count;  ///< sweeps, at least 1
  Norm norm = Norm::none;
  /// Sweeps that have a norm: this one, counted from the batch's first, and each `norm_every` after
  /// it.
  std::int64_t first_norm = 0, norm_every = 1;
  /// Where the last sweep of the batch leaves its norm, if it has one; another sweep reduces it.
  NormParts* norm_parts = nullptr;
  /// Of the norm before the batch, if it has parts. The norm of the batch's sweep i, but for the
  /// last one, is reduced likewise, before sweep i + 2 begins: to norm[i + 1], or nowhere where
  /// norm is null. If one stops the run, its sweep's result is in the level that the sweep would
  /// have written by itself, and the batch ends.
  NormReduction reduction{};
};

/// A problem's update on a rank's cells, which stay in the GPU's registers from sweep to sweep.
class PersistentSweep {
 public:
  virtual ~PersistentSweep() = default;
  /// Does all sweeps of the batch with one launch; all neighbours must do the same. Then the level
  /// of the last sweep holds its result, without halos beside other subdomains. Does nothing where
  /// `batch.reduction.stop` is set when it begins. Ordered by `stream`.
  virtual void run(const SweepBatch& batch, Stream stream) = 0;
};

struct PersistentParts {
  const problem::Problem& problem;
  const problem::Setting& setting;
  problem::Precision precision;
  std::array<std::reference_wrapper<const FieldStorage>, 2> levels;
  bool wraps_along_x;
  /// Of the ends along the last axis; halos where there is no neighbour are read from the levels
  /// when a batch begins.
  device::EdgePort port;
  /// That a warp keeps at the least; fewer make more warps, which hide each other's waits. Other
  /// values are for tests.
  int fewest_rows = 2;
};

}  // namespace halocline::stencil

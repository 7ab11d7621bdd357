// SPDX-License-Identifier: Apache-2.0
#pragma once
// Persistent sweeps: one launch on a GPU runs many sweeps of a rank, with the same bits as one
// launch per sweep.

#include <array>
#include <functional>

#include <halocline/communicator.hpp>
#include <halocline/stream.hpp>

#include "device/edge_port.hpp"
#include "stencil/pass.hpp"

namespace halocline::stencil {

/// A problem's update on a rank's cells, which stay in the GPU's registers between sweeps.
class PersistentSweep {
 public:
  virtual ~PersistentSweep() = default;
  /// Runs all sweeps of the pass in one launch, over all owned cells of levels like those that it
  /// was made for; all neighbours must do the same. Afterwards `out` holds the result, but not the
  /// halos of other subdomains. Does nothing if `stop` is set when it begins. Ordered by `stream`.
  ///
  /// Reduces `reduction` and, in the same way, the norms of its own sweeps, except the last: that
  /// of sweep i before sweep i + 2 begins, into norm[i + 1] unless norm is null. Its `parts` may be
  /// null where no norm is left from before. If a norm stops the run, the pass ends, and `out`
  /// holds the result of that sweep; for this it may do all its sweeps up to that one again. If
  /// that is the norm from before, `in` holds the result.
  virtual void run(const Pass& pass, Stream stream) = 0;
  /// Returns how long its formula took to compile, if it was when it was made.
  virtual double compile_seconds() const { return 0; }
};

struct PersistentParts {
  const problem::Model& model;
  std::array<std::reference_wrapper<const FieldStorage>, 2> levels;
  /// Along x and, in 3-D, y: the rank owns them whole, and each end is next to the other.
  std::array<bool, 2> wraps;
  /// Connects both ends of the last axis to the neighbours. At an end without neighbour, a pass
  /// reads the halo from its input when it begins.
  device::EdgePort port;
  /// Least rows per warp. Fewer rows make more warps, which hide each other's waits. Other values
  /// are for tests.
  int fewest_rows = 2;
  /// As in SweepOptions.
  const Communicator* communicator = nullptr;
  /// Of passes: they have this norm or none.
  Norm norm = Norm::none;
};

}  // namespace halocline::stencil

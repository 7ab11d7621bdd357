// SPDX-License-Identifier: Apache-2.0
#pragma once
// A pass: sweeps that read one level and write another.

#include <array>
#include <cstdint>

#include <halocline/grid.hpp>

#include "device/all_reduce_port.hpp"
#include "device/face_port.hpp"
#include "problem/model.hpp"
#include "stencil/fields.hpp"
#include "stencil/graph_clock.hpp"
#include "stencil/partial_norms.hpp"

namespace halocline::stencil {

/// A norm to reduce from partial norms of an earlier sweep, and where it goes.
struct NormReduction {
  const PartialNorms* parts = nullptr;  ///< null: nothing to reduce
  Norm kind = Norm::none;
  /// In device memory, may be null: gets the norm (for l2 the root of the sum).
  double* norm = nullptr;
  /// In device memory, may be null: accumulates. Gets the larger of its value and the norm, or for
  /// l2 the sum of its value and the squares.
  double* sum = nullptr;
  /// In device memory, may be null: set to 1 if the norm is at most `tolerance` and at least
  /// `least`, or not finite. If it is set before, the reduction does nothing.
  unsigned* stop = nullptr;
  double tolerance = -1, least = 0;
  /// Connects the ranks whose partial norms make one norm, or null. Waits until all ranks reduce
  /// it.
  const device::AllReducePort* all_reduce = nullptr;
  /// In device memory, may be null: gets this rank's part of the norm, or of each of a pass, and
  /// nothing else is done. The caller gathers the parts of all ranks, for another reduction.
  double* share = nullptr;
  /// In device memory, may be null: the parts of `ranks` ranks, in their order, to reduce instead
  /// of `parts`.
  const double* shares = nullptr;
  int ranks = 0;
  /// A bit for each sweep of a pass over memory: whether it has a norm. Then `parts` are those of
  /// the pass's first sweep, the norm of sweep i goes to norm[i], and norms after one that stops
  /// the run to nowhere. 0: one norm.
  unsigned sweeps = 0;
};

/// The norms of a pass, each of the update of the model's field: the maximum of |new - old|, or the
/// sum of squares of new - old in double precision (with the difference in the fields' precision).
/// They count owned cells only. NaN if a difference is NaN.
struct PassNorms {
  Norm kind = Norm::none;  ///< none: no sweep has one
  /// Sweeps with a norm: number `first`, counted from the pass's first, and every `every`-th after
  /// it.
  std::int64_t first = 0, every = 1;
  /// Destination of the norm of a pass of one sweep, in the backend's memory; on the host of as
  /// many norms as the pass has sweeps. Accumulates, so that several regions make one norm. A GPU
  /// needs a second launch for it.
  double* sum = nullptr;
  /// On a GPU, instead: destination of the partial norms of the last sweep, for a later pass to
  /// reduce. Of a pass over memory by several sweeps: those of every sweep, whether it has a norm
  /// or not, `bytes_of_pass_norms` apart.
  PartialNorms* parts = nullptr;
};

struct Pass {
  /// All fields of the model, in its order, of the levels that are read and written. A field that
  /// follows another is not written by a pass of one sweep: its memory in `out` is that of the
  /// other in `in`. By several sweeps it is: it gets what the other had one sweep before the last.
  Fields in, out;
  /// Cells to update; may reach into the halo of `out` (the redundant rim of a deep halo). `in` and
  /// `coefficients` must hold the neighbours of every cell.
  Box region;
  /// Axes along which the region is whole and periodic: neighbours beyond an end are the cells at
  /// the other end, and the halo is not read. See Sweep::can_wrap().
  std::array<bool, 3> wraps{};
  Fields coefficients = {};
  std::int64_t first_sweep = 0;  ///< number of the first sweep, which reads `in`
  std::int64_t sweeps = 1;
  /// Its dt gives t of `in`; on a GPU, all of it where a graph is recorded.
  GraphClock clock = {};
  PassNorms norms = {};
  /// Whether this is the first queued region of its pass, which overwrites earlier partial norms,
  /// and the last, which stores their number. Regions may run at the same time.
  bool is_first = true, is_last = true;
  /// On a GPU: one more block reduces this norm, of an earlier pass, while the others sweep.
  NormReduction reduction{};
  /// In the backend's memory; a pass does nothing if this is not zero when it begins, so that the
  /// host can queue passes before it knows where the run ends. Null: always sweep.
  const unsigned* stop = nullptr;
  /// On a GPU: the pass itself waits for the halo along the last axis and sends the next one; see
  /// Sweep::rows_of_pushing_tile. Null: the halo is filled already.
  const device::FacePort* faces = nullptr;

  /// Returns t of `in`.
  double time() const { return static_cast<double>(first_sweep) * clock.dt; }
};

}  // namespace halocline::stencil

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Halo layers that sweeps store directly into the neighbours' memory.
//
// Compiles with NVRTC, so nothing of the standard library is included.

#include "device/watch.hpp"

namespace halocline::device {

/// One end of a rank's cells along the last axis. Before a warp of a sweep that updates cells of
/// the outermost layer reads the adjacent halo, it waits until the neighbour's adjacent warp has
/// stored it in its last sweep. Then it stores its own cells of the layer into the neighbour's halo
/// of the field that it writes, and raises its flag. The overwritten values were read by that same
/// warp of the neighbour, before that warp raised the flag waited for.
struct FaceSide {
  void* to;  ///< the neighbour's halo layer, at the begin of this rank's cells; null: no neighbour
  Epoch* raise;         ///< a flag for each warp, in the neighbour's memory
  const Epoch* raised;  ///< in this rank's
  Epoch* swept;         ///< number of sweeps of each warp, in this rank's memory
};

/// Both ends, for one field that a sweep writes; all addresses are in GPU memory.
struct FacePort {
  FaceSide lower, upper;
  const Watch* watch;
};

}  // namespace halocline::device

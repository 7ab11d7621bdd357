// SPDX-License-Identifier: Apache-2.0
#pragma once
// Halo layers that sweeps store into the neighbours' memory themselves.
//
// Compiles with NVRTC, so nothing of the standard library is included.

#include "device/watch.hpp"

namespace halocline::device {

/// One end of a rank's cells along the last axis. A warp of a sweep that updates cells of the
/// outermost layer waits, before it reads the halo beside them, until the neighbour's warp beside
/// it has stored that in its last sweep; it stores its own cells of the layer into the neighbour's
/// halo of the field that it writes, and says so. What it stores over was read by that same warp of
/// the neighbour, before it raised the flag that has been waited for.
struct FaceSide {
  void* to;      ///< the neighbour's halo layer, where this rank's begins; null: there is none
  Epoch* raise;  ///< a flag for each warp, in the neighbour's memory
  const Epoch* raised;  ///< in this rank's
  Epoch* swept;         ///< sweeps that each warp has done, in this rank's memory
};

/// Of one field that a sweep writes; the addresses are the GPU's.
struct FacePort {
  FaceSide lower, upper;
  const Watch* watch;
};

}  // namespace halocline::device

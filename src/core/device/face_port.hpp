// SPDX-License-Identifier: Apache-2.0
#pragma once
// Halo layers that sweeps store directly into the neighbours' memory.
//
// Compiles with NVRTC, so nothing of the standard library is included.

#include "device/watch.hpp"

namespace halocline::device {

/// One end of a rank's cells along the last axis. The walks of a sweep, of warps or of blocks, meet
/// the end in tiles, the same on both ranks. Before the walk of a tile reads the adjacent halo, it
/// waits until the neighbour's walks of this tile, and of those around it if it reads their cells,
/// have stored theirs in the last sweep. Then it stores its own cells of the outermost layers into
/// the neighbour's halo of the field that it writes, and raises its flag. The overwritten values
/// were read by those walks of the neighbour, in that sweep or before, and then flags were raised.
/// If sweeps between read that halo without flags, a kernel of each rank raises all of them and
/// waits for the neighbour's (links/cuda/face_flags.hpp).
struct FaceSide {
  void* to;      ///< the neighbour's halo: its lowest layer, at the begin of this rank's cells
  int layers;    ///< of that halo; may be none
  Epoch* raise;  ///< a flag for each tile, in the neighbour's memory; null: no neighbour
  const Epoch* raised;  ///< in this rank's
  Epoch* swept;         ///< number of sweeps of each tile, in this rank's memory
};

/// Both ends, for one field that a sweep writes; all addresses are in GPU memory.
struct FacePort {
  FaceSide lower, upper;
  const Watch* watch;
};

}  // namespace halocline::device

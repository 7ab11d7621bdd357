// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arguments of kernels for one sweep over a region.
//
// For the host and for kernels: compiles with NVRTC, so it includes nothing of the standard
// library.

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>
#endif

#include "device/all_reduce_port.hpp"
#include "device/face_port.hpp"
#include "stencil/cuda/sizes.hpp"
#include "stencil/cuda/text/reads.hpp"
#include "stencil/graph_clock.hpp"
#include "stencil/partial_norms.hpp"

namespace halocline::stencil::cuda {

using Index = long long;

enum class Norm { none, max, l2 };

/// A norm to reduce: see stencil::NormReduction.
struct ReduceWork {
  const PartialNorms* parts;  ///< null: nothing to reduce
  Norm kind;
  double *norm, *sum;
  unsigned int* stop;
  const unsigned int* stop_seen;  ///< if it is not zero, do nothing; may be null
  double tolerance, least;
  device::AllReducePort all_reduce;  ///< without ranks: this rank alone
  double* share;
  const double* shares;
  int ranks;
  unsigned sweeps;
};

/// A box of cells within a region: lower and upper along each axis.
struct Range {
  Index lower[3], upper[3];
};

/// A field or coefficient that a kernel reads or writes, and elements from a cell to the next along
/// x, y, z.
template <class Cell>
struct Array {
  Cell* cell;  ///< the region's first; for `march`, `lead` cells before it
  Index step[3];
};

/// Where the cells of arrays in bricks lie: halocline::Bricks, the same of all arrays, which then
/// begin at the first owned cell.
struct BrickPlaces {
  bool any;  ///< otherwise they are in rows
  int shift[3];
  Index brick_step[3], cell_step[3];
  Index first[3];  ///< the region's first cell, from the first owned one

  /// Returns the elements from the first owned cell to the region's cell `at` along an axis.
  __device__ Index place(Index at, int axis) const {
    const Index cell = first[axis] + at;
    return (cell >> shift[axis]) * brick_step[axis] +
           (cell & ((Index{1} << shift[axis]) - 1)) * cell_step[axis];
  }
};

/// The arguments of one sweep over a region.
template <class Real, int inputs = 1, int outputs = 1>
struct Work {
  Array<const Real> in[inputs];
  Array<Real> out[outputs];
  BrickPlaces bricks;
  Index cells[3];   ///< of the region
  Index origin[3];  ///< the domain's cell at which the region begins
  Index around[3];  ///< cells of an axis that the region wraps around, else 0
  double time;      ///< t of the inputs, unless the clock has it
  GraphClock clock;
  int lead;                  ///< cells from a 16-byte boundary to the region's first
  Index layers;              ///< of a walk along the last axis
  Index ends[2];             ///< of walks at its ends; 0: as of others
  Range owned;               ///< cells that the norm counts, in the region's coordinates
  PartialNorms* parts;       ///< null if there is no norm
  Index first_part;          ///< index of this region's first partial norm
  bool is_last;              ///< region of its sweep: stores the number of partial norms
  const unsigned int* stop;  ///< if it is not zero, do nothing; may be null
  device::FacePort faces;    ///< at the region's ends along the last axis
};

}  // namespace halocline::stencil::cuda

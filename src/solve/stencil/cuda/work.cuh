// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arguments of kernels for one sweep over a region, and those of formulas.
//
// Compiles with nvcc and with NVRTC, so it includes nothing of the standard library.

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>
#endif

#include "device/all_reduce_port.hpp"
#include "device/face_port.hpp"
#include "stencil/cuda/reads.hpp"
#include "stencil/cuda/sizes.hpp"
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
  double tolerance;
  device::AllReducePort all_reduce;  ///< without ranks: this rank alone
  double* share;
  const double* shares;
  int ranks;
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

/// Whether the run has ended before this sweep. Where walks wait for neighbours, all threads of a
/// block agree on it: the first block may end the run while others read the word, and a warp that
/// leaves must not be one that the rest of its block waits for.
template <class Work>
__device__ inline bool has_ended(const Work& work) {
  if (work.stop == nullptr) return false;
  const bool ended = *work.stop != 0;
  const bool is_linked = work.faces.lower.raise != nullptr || work.faces.upper.raise != nullptr;
  return is_linked ? __syncthreads_or(ended ? 1 : 0) != 0 : ended;
}

/// Returns t of a sweep, which is `time` outside graphs.
__device__ inline double time_by(const GraphClock& clock, double time) {
  return clock.first == nullptr ? time
                                : static_cast<double>(__ldg(clock.first) + clock.ahead) * clock.dt;
}

/// The blocks of a launch that sweep: all, except the first one if it reduces a norm.
struct SweepBlocks {
  unsigned int number, count;

  __device__ explicit SweepBlocks(const ReduceWork& reduction)
      : number(blockIdx.x - (reduction.parts != nullptr ? 1 : 0)),
        count(gridDim.x - (reduction.parts != nullptr ? 1 : 0)) {}
};

/// The update of one field by a compiled formula. An update is what kernels compute for a cell:
/// from values at<input, x, y, z>() of inputs, at offsets in cells, those of its outputs.
template <class Formula_, int axes>
struct OneField {
  static constexpr int inputs = 1, outputs = 1;
  /// The output whose cells its sweeps may store into the halos of neighbours; -1: none.
  static constexpr int pushed = 0;
  static __host__ __device__ constexpr Reads reads(int) {
    constexpr int y = axes > 1 ? 1 : 0, z = axes > 2 ? 1 : 0;
    return {{1, y, z}, {1, y, z}, false, 0, 0};
  }

  template <class Cells, class Real>
  __device__ void operator()(const Cells& u, Real* values) const {
    values[0] = formula(Neighbours<Cells>{u});
  }
  /// Returns the new and the old value whose difference the norm measures.
  template <class Cells, class Real>
  __device__ static Real now(const Cells&, const Real* values) {
    return values[0];
  }
  template <class Real, class Cells>
  __device__ static Real before(const Cells& u) {
    return u.template at<0, 0, 0, 0>();
  }

  /// The argument of a formula: problem/formulas.hpp.
  template <class Cells>
  struct Neighbours {
    const Cells& u;
    __device__ auto c() const { return u.template at<0, 0, 0, 0>(); }
    __device__ auto w() const { return u.template at<0, -1, 0, 0>(); }
    __device__ auto e() const { return u.template at<0, 1, 0, 0>(); }
    __device__ auto s() const { return u.template at<0, 0, -1, 0>(); }
    __device__ auto n() const { return u.template at<0, 0, 1, 0>(); }
    __device__ auto d() const { return u.template at<0, 0, 0, -1>(); }
    __device__ auto t() const { return u.template at<0, 0, 0, 1>(); }
    template <class Real>
    __device__ static Real constant(Real value) {
      return value;
    }
  };

  Formula_ formula;
};

}  // namespace halocline::stencil::cuda

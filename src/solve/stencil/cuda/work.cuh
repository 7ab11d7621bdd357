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
#include "stencil/partial_norms.hpp"

namespace halocline::stencil::cuda {

using Index = long long;

enum class Norm { none, max, l2 };

inline constexpr int warp_lanes = 32;
inline constexpr int block_threads = 256;
inline constexpr int block_warps = block_threads / warp_lanes;

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

/// The arguments of one sweep over a region.
template <class Real>
struct Work {
  const Real* in;  ///< the region's first cell; for `march`, `lead` cells before it
  Real* out;
  Index in_step[3], out_step[3];  ///< elements from a cell to the next along x, y, z
  Index cells[3];                 ///< of the region
  int lead;                       ///< cells from a 16-byte boundary to the region's first
  Index layers;                   ///< of a warp's walk along the last axis
  Range owned;                    ///< cells that the norm counts, in the region's coordinates
  PartialNorms* parts;            ///< null if there is no norm
  Index first_part;               ///< index of this region's first partial norm
  bool is_last;                   ///< region of its sweep: stores the number of partial norms
  const unsigned int* stop;       ///< if it is not zero, do nothing; may be null
  device::FacePort faces;         ///< at the region's ends along the last axis
};

/// The blocks of a launch that sweep: all, except the first one if it reduces a norm.
struct SweepBlocks {
  unsigned int number, count;

  __device__ explicit SweepBlocks(const ReduceWork& reduction)
      : number(blockIdx.x - (reduction.parts != nullptr ? 1 : 0)),
        count(gridDim.x - (reduction.parts != nullptr ? 1 : 0)) {}
};

/// The argument of a formula.
template <class Real>
struct Cells {
  Real c_, w_, e_, s_, n_, d_, t_;

  __device__ Real c() const { return c_; }
  __device__ Real w() const { return w_; }
  __device__ Real e() const { return e_; }
  __device__ Real s() const { return s_; }
  __device__ Real n() const { return n_; }
  __device__ Real d() const { return d_; }
  __device__ Real t() const { return t_; }
  __device__ static Real constant(Real value) { return value; }
};

}  // namespace halocline::stencil::cuda

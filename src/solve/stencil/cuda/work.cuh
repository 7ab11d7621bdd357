// SPDX-License-Identifier: Apache-2.0
#pragma once
// One sweep over a region, as kernels see it, and what a formula sees.
//
// Compiles with nvcc and with NVRTC, so nothing of the standard library is included.

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>
#endif

#include "device/all_reduce_port.hpp"
#include "device/face_port.hpp"
#include "stencil/norm_parts.hpp"

namespace halocline::stencil::cuda {

using Index = long long;

enum class Norm { none, max, l2 };

inline constexpr int warp_lanes = 32;
inline constexpr int block_threads = 256;
inline constexpr int block_warps = block_threads / warp_lanes;

/// A norm to reduce: see stencil::NormReduction.
struct ReduceWork {
  const NormParts* parts;  ///< null: nothing to reduce
  Norm kind;
  double *norm, *sum;
  unsigned int* stop;
  const unsigned int* stop_seen;  ///< not zero: do nothing; may be null
  double tolerance;
  device::AllReducePort all_reduce;  ///< no ranks: this one alone
};

/// A box of cells within a region: lower and upper along each axis.
struct Range {
  Index lower[3], upper[3];
};

/// One sweep over a region, as a kernel sees it.
template <class Real>
struct Work {
  const Real* in;  ///< the region's first cell; for `march` `lead` cells before it
  Real* out;
  Index in_step[3], out_step[3];  ///< elements from a cell to the next along x, y, z
  Index cells[3];                 ///< of the region
  int lead;                       ///< cells from a 16-byte boundary to the region's first
  Index layers;                   ///< that a warp walks along the last axis
  Range owned;                    ///< those the norm counts, in the region's coordinates
  NormParts* parts;               ///< of the norm; null if there is none
  Index first_part;               ///< of this region's
  bool is_last;                   ///< region of its sweep: all parts are known
  const unsigned int* stop;       ///< not zero: do nothing; may be null
  device::FacePort faces;         ///< of the region's ends along the last axis
};

/// The blocks of a launch that sweep: all, but for a first one that reduces a norm.
struct SweepBlocks {
  unsigned int number, count;

  __device__ explicit SweepBlocks(const ReduceWork& reduction)
      : number(blockIdx.x - (reduction.parts != nullptr ? 1 : 0)),
        count(gridDim.x - (reduction.parts != nullptr ? 1 : 0)) {}
};

/// What a formula sees.
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

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The header of updates that are printed as CUDA C++ (printed.hpp) and compiled when the program
// runs.
//
// Compiles with NVRTC, so it includes nothing of the standard library.

#include "problem/functions.hpp"
#include "stencil/cuda/ghosts/ghosts.cuh"
#include "stencil/cuda/persistent/persistent.cuh"
#include "stencil/cuda/walks/march.cuh"
#include "stencil/cuda/walks/march_planes.cuh"
#include "stencil/cuda/walks/per_cell.cuh"

namespace halocline::stencil::cuda {

/// Returns the index of the cell of a periodic axis that one up to a whole length outside images.
__device__ inline Index folded(Index at, Index cells) {
  return at < 0 ? at + cells : at >= cells ? at - cells : at;
}

__device__ inline float absolute(float value) { return fabsf(value); }
__device__ inline double absolute(double value) { return fabs(value); }
__device__ inline float root(float value) { return __fsqrt_rn(value); }
__device__ inline double root(double value) { return __dsqrt_rn(value); }
__device__ inline float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
__device__ inline double fused(double a, double b, double c) { return __fma_rn(a, b, c); }

}  // namespace halocline::stencil::cuda

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Questions of kernels to their arguments: whether to run, at which time, and by which blocks.
//
// Compiles with nvcc and with NVRTC, so it includes nothing of the standard library.

#include "stencil/cuda/work.cuh"

namespace halocline::stencil::cuda {

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

}  // namespace halocline::stencil::cuda

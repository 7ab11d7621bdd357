// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared memory of a block, with a size that is known only at launch.
//
// Compiles with nvcc and with NVRTC, so nothing of the standard library is included.

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>
#endif

namespace halocline::device::cuda {

/// Aligned to 16 bytes.
__device__ inline void* block_memory() {
#ifdef CUDA_ON_CPU
  return cuda_on_cpu::block_memory();
#else
  extern __shared__ uint4 memory_of_block[];
  return memory_of_block;
#endif
}

}  // namespace halocline::device::cuda

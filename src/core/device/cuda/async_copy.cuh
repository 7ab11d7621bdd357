// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies from the GPU's memory to a block's that continue while threads work, and take no
// registers meanwhile. Before compute capability 8.0 a copy is complete when the call returns.
//
// Compiles with nvcc and with NVRTC, so nothing of the standard library is included.

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>
#endif

namespace halocline::device::cuda {

/// Copies 4, 8 or 16 bytes. Both addresses are aligned to them.
template <int bytes = 16>
__device__ __forceinline__ void copy_async(void* to, const void* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const auto place = static_cast<unsigned int>(__cvta_generic_to_shared(to));
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place), "l"(from) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(place), "l"(from), "n"(bytes)
                 : "memory");
#else
  if constexpr (bytes == 16)
    *static_cast<uint4*>(to) = *static_cast<const uint4*>(from);
  else if constexpr (bytes == 8)
    *static_cast<uint2*>(to) = *static_cast<const uint2*>(from);
  else
    *static_cast<unsigned int*>(to) = *static_cast<const unsigned int*>(from);
#endif
}

/// Ends a group: this thread's copies since the last group.
__device__ __forceinline__ void end_group() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits for this thread's groups but the last `pending`. Others see what they copied after a
/// barrier of the block.
template <int pending>
__device__ __forceinline__ void await_groups() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
#endif
}

}  // namespace halocline::device::cuda

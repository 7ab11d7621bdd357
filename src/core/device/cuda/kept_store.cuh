// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stores whose lines stay in the GPU's second-level cache when others leave it. A sweep at the rate
// of the memory can be faster by them, or slower: what neighbours loaded leaves the cache earlier.
// Measure on more than one kind of card.
//
// Compiles with nvcc and with NVRTC, so nothing of the standard library is included.

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>
#endif

namespace halocline::device::cuda {

/// Stores 16 bytes, to an address aligned to them. Before compute capability 8.0 a plain store.
__device__ __forceinline__ void store_kept(double2* to, const double2& value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0;" : "=l"(policy));
  asm volatile(
      "st.global.L2::cache_hint.v2.f64 [%0], {%1, %2}, %3;" ::"l"(__cvta_generic_to_global(to)),
      "d"(value.x), "d"(value.y), "l"(policy)
      : "memory");
#else
  *to = value;
#endif
}

}  // namespace halocline::device::cuda

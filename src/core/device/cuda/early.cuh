// SPDX-License-Identifier: Apache-2.0
#pragma once
// Calls for kernels that are launched early: see Start::early.
//
// Compiles with nvcc and with NVRTC, so nothing of the standard library is included.

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>
#endif

namespace halocline::device::cuda {

/// Waits until all earlier work of the stream is done and visible. Returns at once in a kernel that
/// was not launched early.
__device__ inline void await_stream() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Lets the next kernel's blocks become resident as soon as all blocks of this one are.
__device__ inline void let_next_begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

}  // namespace halocline::device::cuda

// SPDX-License-Identifier: Apache-2.0
#pragma once
// CUDA's runtime and language for a C++ compiler: kernels run on the CPU, each thread a fiber.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>

#include "cuda_on_cpu/device_functions.hpp"
#include "cuda_on_cpu/threads.hpp"
#include "cuda_runtime_api.h"

// A kernel stays on a thread and runs its blocks one after another, so one object of the thread
// serves as every block's shared memory.
#define __global__
#define __device__
#define __host__
#define __shared__ static thread_local
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__  // also the name of an attribute in the standard library
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...)
#define __grid_constant__

/// Queues a kernel. Each thread gets its own copy of the arguments, as on a GPU.
template <class... Params, class... Args>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Params...),
                               Args&&... args) {
  static_assert((std::is_trivially_copyable_v<Params> && ...),
                "kernel arguments are copied as bytes");
  static_assert((sizeof(Params) + ... + 0) <= 32764, "kernel arguments are limited to 32764 bytes");
  if (!config || !kernel) return cudaErrorInvalidValue;
  const auto run = [kernel](Params... params) {
    return [kernel, params...] { kernel(params...); };
  };
  return cuda_on_cpu::launch(*config, reinterpret_cast<const void*>(kernel),
                             run(std::forward<Args>(args)...));
}

template <class T>
cudaError_t cudaMalloc(T** ptr, std::size_t size) {
  return cudaMalloc(reinterpret_cast<void**>(ptr), size);
}
template <class T>
cudaError_t cudaMallocHost(T** ptr, std::size_t size, unsigned flags = 0) {
  return cudaHostAlloc(reinterpret_cast<void**>(ptr), size, flags);
}
template <class T>
cudaError_t cudaHostAlloc(T** ptr, std::size_t size, unsigned flags) {
  return cudaHostAlloc(reinterpret_cast<void**>(ptr), size, flags);
}
template <class T>
cudaError_t cudaMallocManaged(T** ptr, std::size_t size, unsigned flags = cudaMemAttachGlobal) {
  return cudaMallocManaged(reinterpret_cast<void**>(ptr), size, flags);
}
template <class T>
cudaError_t cudaMallocAsync(T** ptr, std::size_t size, cudaStream_t stream) {
  return cudaMallocAsync(reinterpret_cast<void**>(ptr), size, stream);
}
template <class R, class... Params>
cudaError_t cudaFuncSetAttribute(R (*func)(Params...), cudaFuncAttribute attr, int value) {
  return cudaFuncSetAttribute(reinterpret_cast<const void*>(func), attr, value);
}
template <class R, class... Params>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attr, R (*func)(Params...)) {
  return cudaFuncGetAttributes(attr, reinterpret_cast<const void*>(func));
}
template <class R, class... Params>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* numBlocks, R (*func)(Params...),
                                                          int blockSize,
                                                          std::size_t dynamicSMemSize) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      numBlocks, reinterpret_cast<const void*>(func), blockSize, dynamicSMemSize);
}

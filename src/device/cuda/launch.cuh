#pragma once
// Starting kernels: checked, and with sizes that cannot overflow.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include <halocline/error.hpp>
#include <halocline/stream.hpp>

#include "device/cuda/check.hpp"

namespace halocline::device::cuda {

/// What a grid has along x at most; along the other axes it has 65535, so x is the one we use.
inline constexpr std::int64_t most_blocks = 0x7fffffff;

/// Of the current GPU.
inline int multiprocessors() {
  int gpu = 0, count = 0;
  check(cudaGetDevice(&gpu), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, gpu),
        "cudaDeviceGetAttribute");
  return count;
}

/// Blocks for `items` pieces of work of which a block does `per_block`. Beyond `most`, blocks have
/// to take several turns.
inline unsigned blocks_for(std::int64_t items, std::int64_t per_block,
                           std::int64_t most = most_blocks) {
  return static_cast<unsigned>(
      std::clamp<std::int64_t>((items + per_block - 1) / per_block, 1, most));
}

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, Stream stream,
            Arguments&&... arguments) {
  cudaLaunchConfig_t shape{};
  shape.gridDim = dim3(blocks);
  shape.blockDim = dim3(threads);
  shape.stream = native(stream);
  check(cudaLaunchKernelEx(&shape, kernel, Parameters(arguments)...), "a kernel's launch");
}

/// Loads a kernel's code now. CUDA does it at the first launch otherwise: that may wait for all the
/// GPU's work, hence for a neighbour who waits for us, and takes 30 ms while a graph is recorded.
template <class... Parameters>
void load(void (*kernel)(Parameters...)) {
  cudaFuncAttributes facts{};
  check(cudaFuncGetAttributes(&facts, reinterpret_cast<const void*>(kernel)),
        "the loading of a kernel");
}

/// Whether GPUs like the current one can launch kernels early.
inline bool launches_early() {
  int gpu = 0, major = 0;
  check(cudaGetDevice(&gpu), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, gpu),
        "cudaDeviceGetAttribute");
  return major >= 9;
}

/// As launch(), but blocks may take their places, and wait in await_stream(), while the kernel
/// before in the stream still runs: that saves the GPU a microsecond or two between two kernels.
/// That kernel must call let_next_begin(), this one await_stream() before it
/// touches memory that work before it may use.
template <class... Parameters, class... Arguments>
void launch_early(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, Stream stream,
                  Arguments&&... arguments) {
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t shape{};
  shape.gridDim = dim3(blocks);
  shape.blockDim = dim3(threads);
  shape.stream = native(stream);
  shape.attrs = &early;
  shape.numAttrs = 1;
  check(cudaLaunchKernelEx(&shape, kernel, Parameters(arguments)...), "a kernel's launch");
}

}  // namespace halocline::device::cuda

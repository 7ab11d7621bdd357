// SPDX-License-Identifier: Apache-2.0
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

/// Loads a kernel's code now. CUDA does it at the first launch otherwise: that may wait for all the
/// GPU's work, hence for a neighbour who waits for us, and takes 30 ms while a graph is recorded.
template <class... Parameters>
void load(void (*kernel)(Parameters...)) {
  cudaFuncAttributes facts{};
  check(cudaFuncGetAttributes(&facts, reinterpret_cast<const void*>(kernel)),
        "the loading of a kernel");
}

/// When a kernel's blocks may take their places.
enum class Start {
  after_all,  ///< when all that the stream did before is done
  /// While the kernel before in the stream still runs, to wait in await_stream(): that saves the
  /// GPU a microsecond or two between two kernels. For GPUs that launch early, after kernels that
  /// call let_next_begin(); this one must call await_stream() before it touches memory that work
  /// before it may use.
  early
};

/// The earliest that the current GPU has.
inline Start earliest_start() {
  int gpu = 0, major = 0;
  check(cudaGetDevice(&gpu), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, gpu),
        "cudaDeviceGetAttribute");
  return major >= 9 ? Start::early : Start::after_all;
}

template <class... Parameters, class... Arguments>
void launch(Start start, void (*kernel)(Parameters...), unsigned blocks, unsigned threads,
            Stream stream, Arguments&&... arguments) {
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t shape{};
  shape.gridDim = dim3(blocks);
  shape.blockDim = dim3(threads);
  shape.stream = native(stream);
  shape.attrs = &early;
  shape.numAttrs = start == Start::early ? 1 : 0;
  check(cudaLaunchKernelEx(&shape, kernel, Parameters(arguments)...), "a kernel's launch");
}

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, Stream stream,
            Arguments&&... arguments) {
  launch(Start::after_all, kernel, blocks, threads, stream, arguments...);
}

/// Blocks that wait for each other, so all of them must be resident at once.
struct ResidentShape {
  unsigned blocks, threads;
  std::size_t shared_bytes;  ///< of each block, beside its static ones
};

/// How many blocks of that shape the current GPU can have resident; 0 if it can launch none so.
/// Loads the kernel.
template <class... Parameters>
std::int64_t most_resident_blocks(void (*kernel)(Parameters...), unsigned threads,
                                  std::size_t shared_bytes) {
  int gpu = 0, can_launch = 0, most_shared = 0, per_multiprocessor = 0;
  check(cudaGetDevice(&gpu), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&can_launch, cudaDevAttrCooperativeLaunch, gpu),
        "cudaDeviceGetAttribute");
  check(cudaDeviceGetAttribute(&most_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, gpu),
        "cudaDeviceGetAttribute");
  cudaFuncAttributes facts{};
  check(cudaFuncGetAttributes(&facts, reinterpret_cast<const void*>(kernel)),
        "the loading of a kernel");
  if (can_launch == 0 || facts.sharedSizeBytes + shared_bytes > std::size_t(most_shared)) return 0;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(shared_bytes)),
        "cudaFuncSetAttribute");
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, kernel,
                                                      static_cast<int>(threads), shared_bytes),
        "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  return std::int64_t{per_multiprocessor} * multiprocessors();
}

/// After most_resident_blocks() for the same shared memory.
template <class... Parameters, class... Arguments>
void launch_resident(void (*kernel)(Parameters...), const ResidentShape& wanted, Stream stream,
                     Arguments&&... arguments) {
  cudaLaunchAttribute together{};
  together.id = cudaLaunchAttributeCooperative;
  together.val.cooperative = 1;
  cudaLaunchConfig_t shape{};
  shape.gridDim = dim3(wanted.blocks);
  shape.blockDim = dim3(wanted.threads);
  shape.dynamicSmemBytes = wanted.shared_bytes;
  shape.stream = native(stream);
  shape.attrs = &together;
  shape.numAttrs = 1;
  check(cudaLaunchKernelEx(&shape, kernel, Parameters(arguments)...),
        "the launch of a kernel whose blocks are all resident");
}

}  // namespace halocline::device::cuda

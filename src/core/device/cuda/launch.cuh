// SPDX-License-Identifier: Apache-2.0
#pragma once
// Launches kernels, with checks and sizes that cannot overflow.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include <halocline/error.hpp>
#include <halocline/stream.hpp>

#include "device/cuda/check.hpp"
#include "device/cuda/runtime.hpp"

namespace halocline::device::cuda {

/// The most blocks of a grid along x; along the other axes the limit is 65535, so we use x.
inline constexpr std::int64_t most_blocks = 0x7fffffff;

/// Of the current GPU.
inline int multiprocessors() {
  int gpu = 0, count = 0;
  check(cudaGetDevice(&gpu), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, gpu),
        "cudaDeviceGetAttribute");
  return count;
}

/// Returns the number of blocks for `items` pieces of work, `per_block` of them per block, but not
/// more than `most`: then blocks have to loop.
inline unsigned blocks_for(std::int64_t items, std::int64_t per_block,
                           std::int64_t most = most_blocks) {
  return static_cast<unsigned>(
      std::clamp<std::int64_t>((items + per_block - 1) / per_block, 1, most));
}

/// Loads a kernel's code now. Otherwise CUDA does it at the first launch: this may wait for all
/// work of the GPU, and so for a neighbour that waits for us, and takes 30 ms while a graph is
/// recorded.
template <class... Parameters>
void load(void (*kernel)(Parameters...)) {
  cudaFuncAttributes facts{};
  check(cudaFuncGetAttributes(&facts, reinterpret_cast<const void*>(kernel)),
        "the loading of a kernel");
}

/// Returns the bytes of a thread's values that do not fit in registers. Loads the kernel.
template <class... Parameters>
std::size_t spilled_bytes(void (*kernel)(Parameters...)) {
  cudaFuncAttributes facts{};
  check(cudaFuncGetAttributes(&facts, reinterpret_cast<const void*>(kernel)),
        "the loading of a kernel");
  return facts.localSizeBytes;
}

/// When a kernel's blocks may start.
enum class Start {
  after_all,  ///< when all earlier work of the stream is done
  /// While the previous kernel in the stream still runs, to wait in await_stream(): this saves the
  /// GPU a microsecond or two between two kernels. For GPUs that launch early, after kernels that
  /// call let_next_begin(); this kernel must call await_stream() before it touches memory that
  /// earlier work may use.
  early
};

/// Returns the earliest start that the current GPU supports.
inline Start earliest_start() {
  return compute_capability() >= 90 ? Start::early : Start::after_all;
}

/// How a kernel is launched.
struct Launch {
  Start start = Start::after_all;
  /// Of each block, besides its static ones; most_resident_blocks() must know of them.
  std::size_t shared_bytes = 0;
};

template <class... Parameters, class... Arguments>
void launch(const Launch& how, void (*kernel)(Parameters...), unsigned blocks, unsigned threads,
            Stream stream, Arguments&&... arguments) {
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t shape{};
  shape.gridDim = dim3(blocks);
  shape.blockDim = dim3(threads);
  shape.stream = native(stream);
  shape.attrs = &early;
  shape.dynamicSmemBytes = how.shared_bytes;
  shape.numAttrs = how.start == Start::early ? 1 : 0;
  check(cudaLaunchKernelEx(&shape, kernel, Parameters(arguments)...), "a kernel's launch");
}

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, Stream stream,
            Arguments&&... arguments) {
  launch(Launch{}, kernel, blocks, threads, stream, arguments...);
}

/// The shape of a kernel whose blocks wait for each other, so all of them must be resident at once.
struct ResidentShape {
  unsigned blocks, threads;
  std::size_t shared_bytes;  ///< of each block, in addition to its static ones
};

/// Returns how many blocks of that shape can be resident on the current GPU; 0 if it cannot launch
/// any. Loads the kernel.
template <class... Parameters>
std::int64_t most_resident_blocks(void (*kernel)(Parameters...), unsigned threads,
                                  std::size_t shared_bytes) {
  const auto* const code = reinterpret_cast<const void*>(kernel);
  int gpu = 0, can_launch = 0, most_shared = 0, per_multiprocessor = 0;
  check(cudaGetDevice(&gpu), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&can_launch, cudaDevAttrCooperativeLaunch, gpu),
        "cudaDeviceGetAttribute");
  check(cudaDeviceGetAttribute(&most_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, gpu),
        "cudaDeviceGetAttribute");
  cudaFuncAttributes facts{};
  check(cudaFuncGetAttributes(&facts, code), "the loading of a kernel");
  if (can_launch == 0 || facts.sharedSizeBytes + shared_bytes > std::size_t(most_shared)) return 0;
  // All there is: with shared_bytes, the next question about fewer would forbid a launch with
  // these.
  check(cudaFuncSetAttribute(code, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             most_shared - static_cast<int>(facts.sharedSizeBytes)),
        "cudaFuncSetAttribute");
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, code,
                                                      static_cast<int>(threads), shared_bytes),
        "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  return std::int64_t{per_multiprocessor} * multiprocessors();
}

/// Launches the kernel, whose number of blocks must be at most most_resident_blocks().
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

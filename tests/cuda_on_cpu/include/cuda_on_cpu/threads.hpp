// SPDX-License-Identifier: Apache-2.0
#pragma once
// What device code needs of the library: where threads of a block meet, and the end of a program
// that real hardware would hang or corrupt.

#include <cstdint>
#include <functional>

#include "cuda_runtime_api.h"

extern constinit thread_local uint3 threadIdx, blockIdx;
extern constinit thread_local dim3 blockDim, gridDim;
inline constexpr int warpSize = 32;

namespace cuda_on_cpu {

enum class LaneOp : std::uint8_t { syncwarp, shfl, shfl_up, shfl_down, shfl_xor, ballot, any, all };
enum class BlockOp : std::uint8_t { sync, sync_or, sync_and, sync_count };

/// A place in device code. As a default argument, here() is where the outermost call stands. (clang
/// 14 has no std::source_location.)
struct Where {
  const char* file;
  int line;
  static constexpr Where here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

/// What a lane brings to a meeting of its warp.
struct LaneVisit {
  LaneOp op;
  unsigned mask;
  std::uint64_t value = 0;  ///< for ballots: not zero is true
  int source = 0;           ///< for shuffles: the lane whose value it wants
};

/// Waits for all lanes of the mask. Returns the source's value of a shuffle, the ballot of others.
std::uint64_t meet_lanes(const LaneVisit& visit, Where where);
/// Waits for all threads of the block. Returns their predicates combined.
int meet_block(BlockOp op, bool predicate, Where where);
/// Lets the other threads of the block go on first.
void step_aside();
/// The same after some time, in which other blocks, other kernels and the host may go on too.
void pause(unsigned nanoseconds);
/// The time of a pause.
void rest(unsigned nanoseconds);
int lane();
/// The block's dynamic shared memory, as many bytes as the launch said.
void* block_memory();

/// Ends the program with this text.
[[noreturn]] void fatal(const char* text);

/// Queues a kernel; `body` is run once per thread.
cudaError_t launch(const cudaLaunchConfig_t& config, const void* kernel,
                   std::function<void()> body);

}  // namespace cuda_on_cpu

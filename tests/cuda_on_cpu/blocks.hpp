// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs the threads of a kernel, one block after another.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "cuda_runtime_api.h"

namespace cuda_on_cpu {

struct Kernel {
  dim3 grid, block;
  std::function<void()> body;  ///< one thread
  /// Blocks, and the threads of a block, begin in another order for each seed; ascending without.
  std::optional<std::uint64_t> shuffle_seed;
  std::size_t shared_bytes = 0;  ///< of block_memory()
  /// All blocks go on together: one that pauses lets the others begin at once.
  bool is_cooperative = false;
};

/// Returns when all threads have ended.
void run(const Kernel& kernel);

}  // namespace cuda_on_cpu

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Device memory by others of CUDA's functions than cudaMalloc: what programs bring along.

#include <cstdint>
#include <memory>

#include <halocline/memory.hpp>

namespace halocline::device {

/// Which functions give device memory. Kernels see no difference; whoever shares memory between
/// processes does, and MPI with it.
enum class Allocator {
  ordinary,       ///< cudaMalloc
  pool,           ///< cudaMallocAsync, from the GPU's default pool
  virtual_memory  ///< cuMemCreate and cuMemMap, of a kind that file descriptors name
};

/// As allocate() in buffer.hpp. Throws internal for another allocator of anything but device
/// memory.
std::shared_ptr<void> allocate(Memory memory, std::int64_t bytes, Allocator allocator);

}  // namespace halocline::device

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Device memory from CUDA functions other than cudaMalloc, as programs may use it.

#include <cstdint>
#include <memory>

#include <halocline/memory.hpp>

namespace halocline::device {

/// The function that allocates device memory. It makes no difference to kernels, but does to
/// sharing memory between processes, and so to MPI.
enum class Allocator {
  ordinary,       ///< cudaMalloc
  pool,           ///< cudaMallocAsync, from the GPU's default pool
  virtual_memory  ///< cuMemCreate and cuMemMap, that can be shared by file descriptors
};

/// Allocates as allocate() in buffer.hpp. Throws internal for allocators other than `ordinary` with
/// memory other than device.
std::shared_ptr<void> allocate(Memory memory, std::int64_t bytes, Allocator allocator);

}  // namespace halocline::device

// SPDX-License-Identifier: Apache-2.0
#pragma once
// GPU memory of one process that kernels of another process on the node load from and store to.
//
// There are two methods, hidden from the callers: CUDA's handles for memory of cudaMalloc; and file
// descriptors, sent over a socket, for memory of CUDA's virtual memory functions. Handles are the
// default: any memory of cudaMalloc has one. Descriptors replace them where CUDA rejects handles,
// as between containers without a common IPC namespace.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <halocline/memory.hpp>

namespace halocline::device {

/// Identifies memory for another process of the node; plain bytes to send.
struct MemoryHandle {
  enum class Kind { cuda, descriptor } kind;
  std::array<std::byte, 64> bytes;
};

/// Allocates as allocate(), such that handle_of() accepts GPU memory. With descriptors the size is
/// rounded up to some MiB.
std::shared_ptr<void> allocate_to_share(Memory memory, std::int64_t bytes);

/// Returns the handle of `memory`, which must come from allocate_to_share(Memory::device, ...).
/// Throws device if the driver or the container does not allow it.
MemoryHandle handle_of(const void* memory);

/// Maps the memory of another process's handle for kernels on the current GPU, until the result is
/// released; that process must keep the memory at least as long. Takes about 0.1 to 1 ms. Throws
/// device if the GPUs cannot access each other's memory, if the other process is gone or does not
/// answer within `limit` (0: none), and for a handle of this process itself.
std::shared_ptr<void> map(const MemoryHandle& handle, std::chrono::duration<double> limit);

/// Switches this process to sharing by descriptors for later allocations; `because` is why handles
/// do not work. Processes that share memory must switch together.
void share_by_descriptors(const std::string& because);
void share_by_handles();
/// Returns that reason; empty while memory is shared by handles.
const std::string& descriptors_because();

/// Makes allocate_to_share() get GPU memory from `allocate`, until it is called with null.
void share_memory_from(std::shared_ptr<void> (*allocate)(std::int64_t bytes));

}  // namespace halocline::device

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory of one process's GPU that kernels of another process on the node load from and store to.
//
// There are two ways, and whoever shares memory need not know which: CUDA's handles for memory of
// cudaMalloc; and file descriptors, handed over by a socket, for memory of CUDA's virtual memory
// functions. Handles come first: any memory of cudaMalloc has one. Descriptors serve where CUDA
// refuses handles, as between containers that share no IPC namespace.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <halocline/memory.hpp>

namespace halocline::device {

/// Names memory to another process of the node; plain bytes to send.
struct MemoryHandle {
  enum class Kind { cuda, descriptor } kind;
  std::array<std::byte, 64> bytes;
};

/// As allocate(); a GPU's memory can be given to handle_of(). Descriptors round it up to some MiB.
std::shared_ptr<void> allocate_to_share(Memory memory, std::int64_t bytes);

/// `memory` is what allocate_to_share(Memory::device, ...) has returned. Throws device where the
/// driver or the container does not allow it.
MemoryHandle handle_of(const void* memory);

/// Maps what another process's handle names, for kernels on the current GPU, until the result is
/// released; that process must keep it at least as long. Costs about 0.1 to 1 ms. Throws device if
/// the GPUs cannot reach each other, if the other process is gone or does not answer within `limit`
/// (0: none), and for a handle of this process itself.
std::shared_ptr<void> map(const MemoryHandle& handle, std::chrono::duration<double> limit);

/// From now on this process's memory is made to be shared by descriptors; `because` says why
/// handles do not do. Processes that share memory should decide together.
void share_by_descriptors(const std::string& because);
void share_by_handles();
/// As told; empty while memory is shared by handles.
const std::string& descriptors_because();

}  // namespace halocline::device

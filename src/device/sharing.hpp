#pragma once
// Memory of one process's GPU that kernels of another process on the node load from and store to.

#include <array>
#include <cstddef>
#include <memory>

namespace halocline::device {

/// Names memory to another process of the node; plain bytes to send.
struct MemoryHandle {
  std::array<std::byte, 64> bytes;
};

/// `memory` was allocated by device::allocate(Memory::device, ...). Throws device where the driver
/// or the container does not allow it.
MemoryHandle handle_of(const void* memory);

/// Maps what another process's handle names, for kernels on the current GPU, until the result is
/// released; that process must keep it at least as long. Costs about 0.1 to 1 ms. Throws device if
/// the GPUs cannot reach each other, and for a handle of this process itself.
std::shared_ptr<void> map(const MemoryHandle& handle);

}  // namespace halocline::device

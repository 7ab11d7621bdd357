// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kinds of memory.

#include <optional>
#include <string_view>

namespace halocline {

/// Ordinary host memory; host memory pinned for a GPU; a GPU's own memory;
/// memory that the driver migrates; ordinary host memory that a GPU can read too.
enum class Memory { host, pinned, device, managed, system };

/// Returns "host", "pinned", "device", "managed" or "system".
std::string_view name_of(Memory memory);

/// Returns the memory of that name; nothing for other names.
inline std::optional<Memory> memory_named(std::string_view name) {
  for (const Memory memory :
       {Memory::host, Memory::pinned, Memory::device, Memory::managed, Memory::system})
    if (name_of(memory) == name) return memory;
  return std::nullopt;
}

/// Returns the memory that CUDA says a pointer points to; host where there is no GPU. Throws usage
/// if it is that of another GPU than the calling thread's.
Memory memory_at(const void* pointer);

/// True for memory that the host reads and writes by ordinary loads and stores.
constexpr bool host_reads(Memory memory) { return memory != Memory::device; }
/// True for memory that kernels of a GPU read and write.
constexpr bool gpu_reads(Memory memory) { return memory != Memory::host; }

}  // namespace halocline

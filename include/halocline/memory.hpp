#pragma once
// Kinds of memory.

#include <string_view>

namespace halocline {

/// Where bytes live: ordinary host memory; host memory pinned for a GPU; a GPU's own; memory
/// that the driver migrates; ordinary memory that a GPU may read too.
enum class Memory { host, pinned, device, managed, system };

std::string_view name_of(Memory memory);

/// True for memory that the host reads and writes by ordinary loads and stores.
constexpr bool host_reads(Memory memory) { return memory != Memory::device; }
/// True for memory that kernels of a GPU read and write.
constexpr bool gpu_reads(Memory memory) { return memory != Memory::host; }

}  // namespace halocline

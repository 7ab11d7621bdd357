// SPDX-License-Identifier: Apache-2.0
#pragma once
// Allocates memory of all kinds, and finds the kind of a pointer's memory.

#include <cstddef>
#include <cstdint>
#include <memory>

#include <halocline/memory.hpp>

namespace halocline::device {

/// Allocates zeroed bytes, aligned to 256 at least. Does not touch host pages, so the thread that
/// first writes one determines its NUMA node. GPU memory is the current GPU's. Throws resource with
/// the requested and the free size, unavailable if this machine has no such memory.
std::shared_ptr<void> allocate(Memory memory, std::int64_t bytes);

/// Returns the kind of memory that a pointer points to. Memory that CUDA does not know is `host`.
Memory memory_of(const void* pointer);

}  // namespace halocline::device

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory of a kind, owned; and which kind a pointer is of.

#include <cstddef>
#include <cstdint>
#include <memory>

#include <halocline/memory.hpp>

namespace halocline::device {

/// Allocates zeroed bytes, aligned to 256 at least. Host pages are not touched, so the thread
/// that first writes one decides on which NUMA node it lies. Memory of a GPU is the current
/// GPU's. Throws resource with the size wanted and what is free, unavailable if there is no such
/// memory here.
std::shared_ptr<void> allocate(Memory memory, std::int64_t bytes);

/// The kind of memory that a pointer points to. Memory that CUDA does not know is `host`.
Memory memory_of(const void* pointer);

}  // namespace halocline::device

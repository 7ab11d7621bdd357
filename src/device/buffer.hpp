#pragma once
// Memory of a kind, owned.

#include <cstddef>
#include <cstdint>
#include <memory>

#include <halocline/memory.hpp>

namespace halocline::device {

/// Allocates zeroed bytes, aligned to a page. Host pages are not touched, so the thread that
/// first writes one decides on which NUMA node it lies. Throws resource with the size wanted,
/// unavailable if this build has no such memory.
std::shared_ptr<void> allocate(Memory memory, std::int64_t bytes);

}  // namespace halocline::device

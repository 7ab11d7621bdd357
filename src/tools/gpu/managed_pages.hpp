// SPDX-License-Identifier: Apache-2.0
#pragma once
// Prefetching pages of managed memory.

#include <cstdint>
#include <optional>
#include <string>

#include <halocline/stream.hpp>

namespace halocline::gpu {

/// Returns why pages cannot be moved on request between host and current GPU, or nothing.
std::optional<std::string> no_prefetch_because();

enum class Side { host, gpu };
/// Queues the move of whole pages of managed memory, on a stream of the current GPU. Throws device.
void prefetch(void* memory, std::int64_t bytes, Side to, Stream stream);

}  // namespace halocline::gpu

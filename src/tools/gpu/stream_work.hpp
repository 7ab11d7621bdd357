// SPDX-License-Identifier: Apache-2.0
#pragma once
// Work for a GPU's stream, to test the order of operations in it. Every function throws device.

#include <chrono>
#include <cstdint>

#include <halocline/stream.hpp>

namespace halocline::gpu {

/// Queues a kernel that waits for this time.
void pass_time(Stream stream, std::chrono::nanoseconds time);

/// Queues a kernel that writes words of 8 bytes: `first`, `first` + `step`, and so on; the last one
/// may be partial.
struct Words {
  std::uint64_t first, step;
};
void write_words(Stream stream, void* to, std::int64_t bytes, Words words);

/// Queues a kernel that copies. Unlike copy(), it keeps the stream's order for ordinary host memory
/// too, if the GPU can access it.
void copy_by_kernel(Stream stream, void* to, const void* from, std::int64_t bytes);

}  // namespace halocline::gpu

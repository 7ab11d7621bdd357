// SPDX-License-Identifier: Apache-2.0
#pragma once
// Work for a GPU's stream by which it shows what keeps its place there. All of it throws device.

#include <chrono>
#include <cstdint>

#include <halocline/stream.hpp>

namespace halocline::gpu {

/// Queues a kernel that does nothing for so long.
void pass_time(Stream stream, std::chrono::nanoseconds time);

/// Queues a kernel that writes words of 8 bytes: `first`, `first` + `step`, and so on, the last one
/// in part if need be.
struct Words {
  std::uint64_t first, step;
};
void write_words(Stream stream, void* to, std::int64_t bytes, Words words);

/// Queues a kernel that copies. Unlike copy(), it reads and writes ordinary host memory in its turn
/// too, where the GPU reaches that.
void copy_by_kernel(Stream stream, void* to, const void* from, std::int64_t bytes);

}  // namespace halocline::gpu

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Calls that are made only to see what they cost the host.

#include <cstdint>
#include <memory>

#include <halocline/stream.hpp>

namespace halocline::bench {

/// Queues a kernel that does nothing, on a GPU's stream. Throws device.
void launch_nothing(Stream stream);

/// Queues a function of the host, on a GPU's stream, that counts `calls` up once what the stream
/// was given before is done. Throws device.
void count_on_host(Stream stream, std::int64_t& calls);
/// Reads what count_on_host() counts. Does not block.
std::int64_t calls_so_far(const std::int64_t& calls);

/// Pins memory of the host that was allocated by somebody else, until it is gone. Throws device.
class Registered {
 public:
  Registered(void* memory, std::int64_t bytes);
  ~Registered();  // NOLINT(performance-trivially-destructible): where there is CUDA, it is not
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;

 private:
  void* memory_;
};

}  // namespace halocline::bench

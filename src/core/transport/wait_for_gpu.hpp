// SPDX-License-Identifier: Apache-2.0
#pragma once
// Waits of a host-driven transport for its own GPU.

#include <string>

#include "comm/waiting.hpp"
#include "device/queue.hpp"

namespace halocline::transport {

/// Waits until the bytes to send are ready. Not recorded as waiting for others: the time belongs to
/// the work queued before.
inline void wait_for_gpu(comm::State& state, const device::Event& packed) {
  if (packed.reached()) return;
  comm::wait_until(state,
                   {.site = "wait for the GPU",
                    .phase = Phase::other,
                    .missing = [] { return std::string("its own GPU to pack the halo"); }},
                   [&] { return packed.reached(); });
}

}  // namespace halocline::transport

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The wait of a host-driven transport for its own GPU.

#include <string>

#include "comm/waiting.hpp"
#include "device/queue.hpp"

namespace halocline::transport {

/// Waits until the bytes to be sent are there. Not booked as waiting for others: the time is that
/// of the work queued before.
inline void wait_for_gpu(comm::State& state, const device::Event& packed) {
  if (packed.reached()) return;
  comm::wait_until(
      state,
      {.site = "wait for the GPU",
       .phase = Phase::other,
       .missing = [] { return std::string("its own GPU to come as far as the packed halo"); }},
      [&] { return packed.reached(); });
}

}  // namespace halocline::transport

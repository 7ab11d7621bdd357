// SPDX-License-Identifier: Apache-2.0
#pragma once
// The limit of a kernel's wait for a neighbour.
//
// Compiles with NVRTC, so nothing of the standard library is included.

namespace halocline::device {

/// std::uint64_t, which NVRTC does not know.
using Epoch = unsigned long;
static_assert(sizeof(Epoch) == 8);

/// The report to the host on a wait that took too long; in pinned memory.
struct Overdue {
  unsigned is_set;
  int message;  ///< of the channel
  Epoch epoch;
};

/// Shared by all waits of one channel; all addresses are for the GPU.
struct Watch {
  unsigned long long limit_ns;  ///< 0: none
  unsigned* gave_up;            ///< set by the first wait that took too long: it ends all others
  Overdue* overdue;
};

}  // namespace halocline::device

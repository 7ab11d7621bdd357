// SPDX-License-Identifier: Apache-2.0
#pragma once
// All-reduces of one number per rank, by stores of kernels into each other's memory.
//
// Compiles with NVRTC, so nothing of the standard library is included.

#include "device/edge_port.hpp"

namespace halocline::device {

/// A rank's side: plain data for kernels; all addresses are in GPU memory. Number n goes to place n
/// % 2 of every rank, as words that carry n as their epoch: see device/edge_port.hpp. The thread
/// that sends to a rank reads that rank's number n before it sends n + 1, so one that has seen n +
/// 1 may overwrite place n % 2 with n + 2. Spin checks this in every order of events: tests/model.
struct AllReducePort {
  int ranks;
  /// Per rank, in that rank's memory: two places for this rank's numbers.
  EdgeWords* const* to;
  const EdgeWords* from;  ///< in this rank's memory: two places per rank
  Epoch* count;           ///< all-reduces this rank has sent a number to
  const Watch* watch;
};

/// The threads of one block serve all ranks.
inline constexpr int most_ranks_to_reduce = 256;

}  // namespace halocline::device

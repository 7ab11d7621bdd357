// SPDX-License-Identifier: Apache-2.0
#pragma once
// All-reduces of one number per rank, by stores of kernels into each other's memory.
//
// Compiles with NVRTC, so nothing of the standard library is included.

#include "device/watch.hpp"

namespace halocline::device {

/// A rank's side: plain data for kernels; all addresses are in GPU memory. Number n goes to place n
/// % 2 of every rank, then the flag there is raised to n. A rank reads the numbers of all-reduce n
/// before it sends that of n + 1, so a rank that has seen its flag for n + 1 may overwrite place n
/// % 2. Spin checks this in every order of events: tests/model.
struct AllReducePort {
  int ranks, rank;
  /// Per rank, in that rank's memory: two places for this rank's numbers, and the flag to raise.
  double* const* to;
  Epoch* const* raise;
  /// In this rank's memory: two places per rank, and the flags that the ranks raise.
  const double* numbers;
  const Epoch* raised;
  Epoch* count;  ///< all-reduces this rank has sent a number to
  const Watch* watch;
};

/// The threads of one block serve all ranks.
inline constexpr int most_ranks_to_reduce = 256;

}  // namespace halocline::device

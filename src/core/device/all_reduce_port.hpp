// SPDX-License-Identifier: Apache-2.0
#pragma once
// A number of every rank that all ranks get to know, by stores of kernels into each other's memory.
//
// Compiles with NVRTC, so nothing of the standard library is included.

#include "device/watch.hpp"

namespace halocline::device {

/// A rank's side of it: plain data for kernels, all addresses the GPU's. Number n goes to place n %
/// 2 of every rank, then its flag there is raised to n. A rank reads the numbers of all-reduce n
/// before it sends that of n + 1, so whoever has seen its flag for n + 1 may write over place n
/// % 2. Spin goes through it in every order: tests/model.
struct AllReducePort {
  int ranks, rank;
  /// Per rank, in its memory: where this rank's numbers go, two places; and the flag to raise.
  double* const* to;
  Epoch* const* raise;
  /// In this rank's memory: two places per rank; and the flags that they raise.
  const double* numbers;
  const Epoch* raised;
  Epoch* count;  ///< all-reduces this rank has sent a number to
  const Watch* watch;
};

/// Threads of one block serve all ranks.
inline constexpr int most_ranks_to_reduce = 256;

}  // namespace halocline::device

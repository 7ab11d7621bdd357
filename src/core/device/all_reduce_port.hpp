// SPDX-License-Identifier: Apache-2.0
#pragma once
// All-reduces of one number per rank or of several, by stores of kernels into each other's memory.
//
// Compiles with NVRTC, so nothing of the standard library is included.

#include "device/edge_port.hpp"

namespace halocline::device {

/// The most numbers of a rank in one all-reduce.
inline constexpr int most_numbers_to_reduce = 16;

/// A rank's side: plain data for kernels; all addresses are in GPU memory. The numbers of
/// all-reduce n go to place n % 2 of every rank, as words that carry n as their epoch: see
/// device/edge_port.hpp. A block reads those of all ranks before it sends any of n + 1, so a rank
/// that has seen n + 1 may overwrite place n % 2 with n + 2. Spin checks this in every order of
/// events: tests/model.
struct AllReducePort {
  int ranks;
  /// Per rank, in that rank's memory: two places for this rank's numbers.
  EdgeWords* const* to;
  const EdgeWords* from;  ///< in this rank's memory: two places per rank
  Epoch* count;           ///< all-reduces this rank has sent numbers to
  const Watch* watch;
};

/// Words in a place, and in both places of a rank.
inline constexpr int words_of_place = most_numbers_to_reduce, words_of_rank = 2 * words_of_place;

/// The threads of one block serve all ranks.
inline constexpr int most_ranks_to_reduce = 256;

}  // namespace halocline::device

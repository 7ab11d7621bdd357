// SPDX-License-Identifier: Apache-2.0
#pragma once
// Edges of a rank's cells that a kernel with many sweeps sends to the neighbours' kernels, and
// other values that are sent like them.
//
// Compiles with NVRTC, so nothing of the standard library is included.
//
// An edge needs no flags and no fences: each word of 64 bits holds 32 bits of a value and the
// value's epoch, and is stored and loaded whole. The receiver polls the edge itself, which is
// complete when all words have the expected epoch: one trip through the memory, where data, fence,
// flag and data again take three.
//
// The values of epoch e are in slot e % 2. A thread overwrites words of e with those of e + 2 only
// after it has seen, from the neighbour's thread that reads them, words of e + 1, which that thread
// has computed from those of e. Since every pair of neighbours sends both ways in every epoch, this
// needs no acknowledgement; it is the rule of device/port.hpp for each word. Spin checks it in
// every order of events: tests/model. A kernel that begins after its run has stopped sends nothing:
// the neighbour may not have read the last edges yet, and will send none. Epochs are compared for
// equality, as numbers of 32 bits: a slot holds only e - 2 and e.

#include "device/watch.hpp"

namespace halocline::device {

using EdgeWord = unsigned long long;

/// Two words, loaded and stored with one access of 16 bytes.
struct alignas(16) EdgeWords {
  unsigned long long first, second;
};

/// The word pairs of an edge for each vector of 16 bytes of its row, in both slots. A slot has the
/// first halves of all vectors, then the second halves.
inline constexpr long long edge_pairs_per_vector = 2 * 2;

/// One end of a rank's cells along the last axis.
struct EdgeSide {
  EdgeWords* to;          ///< in the neighbour's memory; null: there is none
  const EdgeWords* from;  ///< in this rank's memory: the neighbour's data
};

/// All addresses are in GPU memory; two zeroed edges each.
struct EdgePort {
  EdgeSide lower, upper;
  const Watch* watch;  ///< null if no other process takes part
};

}  // namespace halocline::device

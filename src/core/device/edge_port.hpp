// SPDX-License-Identifier: Apache-2.0
#pragma once
// Edges of a rank's cells that a kernel of many sweeps sends to the neighbours' kernels.
//
// Compiles with NVRTC, so nothing of the standard library is included.
//
// An edge travels without flags and without fences: each word of 64 bits holds 32 bits of a value
// and the epoch whose value that is, and a word is stored and loaded whole. Whoever waits for an
// edge polls the edge itself, and has it as soon as its words are of the epoch wanted: one way
// through the memory, where data, fence, flag and data again take three.
//
// The values at epoch e lie in slot e % 2. A thread writes words of e + 2 over those of e only
// after it has seen, from the thread of the neighbour that reads them, words of e + 1, which that
// one has computed from those of e. Since every pair of neighbours sends both ways at every epoch,
// that needs no acknowledgement; it is the rule of device/port.hpp word by word. Spin goes through
// it in every order: tests/model. Epochs are compared for equality, as numbers of 32 bits: a slot
// holds none but e - 2 and e.

#include "device/watch.hpp"

namespace halocline::device {

/// Two words, which are loaded and stored with one access of 16 bytes.
struct alignas(16) EdgeWords {
  unsigned long long first, second;
};

/// The pairs of an edge for each vector of 16 bytes of its row, of both slots. In a slot come the
/// first halves of all vectors, then the second ones.
inline constexpr long long edge_pairs_per_vector = 2 * 2;

/// One end of a rank's cells along the last axis.
struct EdgeSide {
  EdgeWords* to;          ///< in the neighbour's memory; null: there is none
  const EdgeWords* from;  ///< in this rank's: what the neighbour sends
};

/// The addresses are the GPU's; two zeroed edges each.
struct EdgePort {
  EdgeSide lower, upper;
  const Watch* watch;  ///< null where no other process takes part
};

}  // namespace halocline::device

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parts of bundles and moves: pieces of equal size, at equal distances on both sides.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pack/pack.hpp"

namespace halocline::pack {

/// One side of some pieces.
struct PieceSide {
  std::byte* first;
  std::int64_t stride;  ///< bytes from a piece to the next
};

/// `count` pieces of `bytes` bytes each, of the field of that number.
struct Pieces {
  PieceSide from, to;
  std::int64_t bytes, count;
  std::size_t field;
};

std::int64_t bytes_of(const FieldRuns& runs);

/// Returns what a bundle copies, in the order of the slot, of which `slot` is the first byte.
std::vector<Pieces> pieces_of(const Bundle& bundle, Direction direction, std::byte* slot);

/// Returns what a move copies, in the order of its runs, which may be cut differently on both
/// sides. Throws internal if their numbers of bytes differ.
std::vector<Pieces> pieces_of(const Move& move);

}  // namespace halocline::pack

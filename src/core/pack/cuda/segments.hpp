// SPDX-License-Identifier: Apache-2.0
#pragma once
// The list of copies that a kernel reads: chunks, one for each block at a time, and the segments of
// runs in them.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/watch.hpp"
#include "pack/pack.hpp"
#include "pack/pieces.hpp"

#ifdef __CUDACC__
#define HALOCLINE_ON_BOTH __host__ __device__
#else
#define HALOCLINE_ON_BOTH
#endif

namespace halocline::pack::cuda {

using device::Epoch;

/// One side of a segment. Twins are two segments of the same shape that take turns, word by word.
struct SegmentSide {
  std::byte* first;       ///< where the group with the first word begins
  std::int64_t of_piece;  ///< bytes from a piece to the next
  std::int64_t of_group;  ///< bytes from a group of pieces to the next
  std::int64_t of_twin;   ///< bytes from a word to that of its twin
};

/// A divisor of small numbers, as what they are multiplied by instead: a GPU has no instruction to
/// divide integers.
class Divisor {
 public:
  Divisor() = default;
  /// For numbers that times it are less than 2^32.
  HALOCLINE_ON_BOTH explicit Divisor(std::uint32_t by)
      : by_(by),
        factor_(by == 1 ? 0 : static_cast<std::uint32_t>((std::uint64_t{1} << 32) / by + 1)) {}
  /// A number larger than all it divides.
  HALOCLINE_ON_BOTH static Divisor of_all() {
    Divisor divisor{};
    divisor.factor_ = 1;
    return divisor;
  }

  HALOCLINE_ON_BOTH std::uint32_t by() const { return by_; }
  HALOCLINE_ON_BOTH bool is_of_all() const { return factor_ == 1; }
  HALOCLINE_ON_BOTH std::uint32_t quotient(std::uint32_t number) const {
    return factor_ == 0 ? number
                        : static_cast<std::uint32_t>(std::uint64_t{number} * factor_ >> 32);
  }

 private:
  std::uint32_t by_, factor_;  // without values at first, so that a block's memory can have it
};

/// Words in pieces, as far from each other, in groups of pieces, as far from each other: a face
/// across x has rows of one cell, and a group for each layer.
struct Segment {
  SegmentSide from, to;
  Divisor per_piece, per_group;  ///< words, pieces
  std::uint32_t skip_words;      ///< of the first word's piece, before it
  std::uint32_t skip_pieces;     ///< of its group
  std::uint32_t before;          ///< words of the chunk before the segment
  std::uint16_t has_twin;        ///< 1 or 0
  std::uint16_t field;           ///< its number

  HALOCLINE_ON_BOTH bool is_one_piece() const { return per_piece.is_of_all() && has_twin == 0; }
};

/// Where a word of a segment is.
struct WordPlace {
  std::uint32_t group, piece, word, twin;

  HALOCLINE_ON_BOTH std::byte* on(const SegmentSide& side, std::size_t word_bytes) const {
    return side.first + group * side.of_group + piece * side.of_piece + word * word_bytes +
           twin * side.of_twin;
  }
};

HALOCLINE_ON_BOTH inline WordPlace place_of(const Segment& segment, std::uint32_t word_of_chunk) {
  const std::uint32_t number = word_of_chunk - segment.before;
  const std::uint32_t word = segment.skip_words + (number >> segment.has_twin);
  const std::uint32_t pieces = segment.per_piece.quotient(word);
  const std::uint32_t piece = segment.skip_pieces + pieces;
  const std::uint32_t group = segment.per_group.quotient(piece);
  return {group, piece - group * segment.per_group.by(), word - pieces * segment.per_piece.by(),
          number & segment.has_twin};
}

/// Constant after construction.
struct Chunk {
  std::int64_t to_odd;  ///< bytes from the even slot to the odd one
  std::uint64_t* flag;  ///< or null
  const device::Watch* watch;
  int message;
  std::uint32_t first_segment, segments;
  std::uint32_t words, word_bytes;
  std::uint32_t is_within;  ///< 1: both sides are in fields; 0: one is in a slot
};

/// With its first segment, usually the only one.
struct ListedChunk {
  Chunk chunk;
  Segment first;
};

/// Lists chunks and the segments in them.
class Lister {
 public:
  /// Chunks of a message are as device::chunk_bytes() tells, for both sides have the same flags.
  void add(const Bundle& bundle, Direction direction);
  /// Chunks have `least` to `most` words, so that there are `blocks`, if there are so many words.
  /// Both faces across x of a field become twins: their cells lie near each other in memory. For 3
  /// fields of 256^3 cells in fp32, out of an H100's cache, one face after the other takes 53 us,
  /// both in turn 34 (bench/results/h100/gpu-faces.txt).
  void add(const std::vector<Move>& moves, std::int64_t least, std::int64_t most,
           std::int64_t blocks);

  /// The first chunks of all messages come first, then the second ones, and so on: in order of
  /// messages, all ranks would send to the same few at once, and others would wait.
  void take_messages_in_turn();

  const std::vector<ListedChunk>& chunks() const { return chunks_; }
  const std::vector<Epoch>& epochs() const { return epochs_; }
  const std::vector<Segment>& segments() const { return segments_; }

 private:
  /// Completes a chunk with parts of groups, in words of so many bytes.
  template <class Cuts>
  void add_chunk(Chunk chunk, const Cuts& cuts, std::int64_t word);

  std::vector<ListedChunk> chunks_;
  std::vector<Epoch> epochs_;
  std::vector<std::int64_t> numbers_;  // of each chunk in its message
  std::vector<Segment> segments_;
};

}  // namespace halocline::pack::cuda

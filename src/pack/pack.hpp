#pragma once
// Runs of bytes in fields <-> contiguous bytes in slots. Everything for an exchange in one call,
// so that a GPU needs one launch.

#include <memory>
#include <span>
#include <vector>

#include <halocline/field.hpp>
#include <halocline/stream.hpp>

namespace halocline::pack {

/// One box of one field, and where its bytes stand in a slot.
struct Piece {
  std::byte* field;       ///< the field's first byte
  std::vector<Run> runs;  ///< in the order in which they follow each other in the slot
  std::int64_t offset;    ///< in the slot
};

/// The pieces of one message, and the two slots they may go to. With an epoch, slot
/// `epoch % 2` is used, `even` for 0; without, `even`.
struct Bundle {
  std::vector<Piece> pieces;
  std::byte* even = nullptr;
  std::byte* odd = nullptr;
  const std::uint64_t* epoch = nullptr;
};

/// Copies field to slot. A packed slot belongs to the epoch that is about to begin, hence to
/// `*epoch + 1`.
void pack(std::span<const Bundle> bundles, Stream stream);

/// Copies slot to field, for the epoch that has begun.
void unpack(std::span<const Bundle> bundles, Stream stream);

}  // namespace halocline::pack

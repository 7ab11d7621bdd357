#pragma once
// Runs of bytes in fields <-> contiguous bytes in slots. Everything for an exchange in one call,
// so that a GPU needs one launch.

#include <cstdint>
#include <memory>
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
/// `epoch % 2` is used, `even` for 0; without, `even`. A packed slot belongs to the epoch that is
/// about to begin, hence to `*epoch + 1`; an unpacked one to the epoch that has begun.
struct Bundle {
  std::vector<Piece> pieces;
  std::byte* even = nullptr;
  std::byte* odd = nullptr;
  const std::uint64_t* epoch = nullptr;
};

enum class Direction {
  pack,   ///< field to slot
  unpack  ///< slot to field
};

/// Copies bundles, on the host.
class HostCopies {
 public:
  HostCopies(std::vector<Bundle> bundles, Direction direction);
  void run() const;

 private:
  std::vector<Bundle> bundles_;
  Direction direction_;
};

namespace cuda {
class Copies;
}

/// The copies of a plan, listed once and run many times: on the host, or on a GPU in one launch,
/// as the stream says. Fields and slots must be memory that whoever runs them reaches.
class Copies {
 public:
  Copies() = default;
  /// With memory that a GPU reads, also makes the GPU's list; throws resource.
  Copies(std::vector<Bundle> bundles, Direction direction, Memory memory);
  void run(Stream stream) const;
  bool empty() const { return empty_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  bool empty_ = true;
  std::int64_t bytes_ = 0;
  std::shared_ptr<const HostCopies> host_;
  std::shared_ptr<const cuda::Copies> gpu_;
};

}  // namespace halocline::pack

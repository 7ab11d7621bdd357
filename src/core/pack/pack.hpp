// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies between runs of bytes in fields and contiguous bytes in slots, and from runs to runs. One
// call does all copies of an exchange, so that a GPU needs one launch.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <halocline/field.hpp>
#include <halocline/stream.hpp>

#include "device/watch.hpp"

namespace halocline::pack {

/// One box of one field, and the offset of its bytes in a slot.
struct FieldRuns {
  std::byte* field;        ///< the field's first byte
  std::vector<Run> runs;   ///< in the order of the slot
  std::int64_t offset;     ///< in the slot
  std::size_t number = 0;  ///< of the field, see Shifts
};

/// The bytes that each field's memory is further on than when copies were listed, by the fields'
/// numbers. Empty: they are where they were. Where a GPU copies, they are multiples of its widest
/// word, and of most_moved_on_gpus fields at most.
using Shifts = std::span<const std::int64_t>;
inline constexpr std::size_t most_moved_on_gpus = 32;

/// Flags of a message between GPUs, one for each chunk of its slot (device/port.hpp).
struct Flags {
  std::uint64_t* first = nullptr;  ///< to raise after packing, to wait for before unpacking
  std::uint64_t begun = 0;         ///< epochs begun before the first copy
  const device::Watch* watch = nullptr;
  int message = 0;  ///< identifies the wait
};

/// The pieces of one message, and its two slots. The host uses slot `*epoch % 2`, `even` for 0 and
/// without an epoch. A packed slot belongs to the next epoch, `*epoch + 1`; an unpacked one to the
/// current epoch. A GPU uses `even`, except for bundles with flags, whose epochs it counts itself:
/// one for each copy.
struct Bundle {
  std::vector<FieldRuns> pieces;
  std::byte* even = nullptr;
  std::byte* odd = nullptr;
  const std::uint64_t* epoch = nullptr;
  Flags flags{};
};

/// Runs of a field that get the bytes of others of the same field, in the order of both. Offsets
/// are not used.
struct Move {
  FieldRuns from, to;
};

enum class Direction {
  pack,   ///< field to slot
  unpack  ///< slot to field
};

class HostCopies;
namespace cuda {
class Copies;
}

/// The copies of a plan, listed once and run many times: on the host, or on a GPU in one launch,
/// depending on the stream. The host or the GPU, whichever copies, must be able to access fields
/// and slots.
class Copies {
 public:
  Copies() = default;
  /// For memory that a GPU reads it also makes the GPU's list, and with flags only that one; throws
  /// resource. Moves come after the bundles, from which neighbours wait for data.
  Copies(const std::vector<Bundle>& bundles, Direction direction, Memory memory,
         const std::vector<Move>& moves = {});
  void run(Stream stream, Shifts shifts = {}) const;
  bool empty() const { return empty_; }
  std::int64_t bytes() const { return bytes_; }
  /// Returns whether a GPU copies, and all bundles have flags: then packing and unpacking can be
  /// one launch.
  bool all_signal() const { return empty_ || all_signal_; }
  /// Returns the bytes of the widest words that a GPU copies; 0 if none does.
  std::int64_t widest_word() const { return widest_word_; }

  /// Packs, then unpacks the neighbours' data, in one launch. Both must signal; `stream` is a
  /// GPU's.
  static void run_both(const Copies& packing, const Copies& unpacking, Stream stream,
                       Shifts shifts = {});

 private:
  bool empty_ = true, all_signal_ = false;
  std::int64_t bytes_ = 0, widest_word_ = 0;
  std::shared_ptr<const HostCopies> host_;
  std::shared_ptr<const cuda::Copies> gpu_;
};

}  // namespace halocline::pack

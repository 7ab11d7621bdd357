// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs of bytes in fields <-> contiguous bytes in slots. Everything for an exchange in one call,
// so that a GPU needs one launch.

#include <cstdint>
#include <memory>
#include <vector>

#include <halocline/field.hpp>
#include <halocline/stream.hpp>

#include "device/watch.hpp"

namespace halocline::pack {

/// One box of one field, and where its bytes stand in a slot.
struct FieldRuns {
  std::byte* field;       ///< the field's first byte
  std::vector<Run> runs;  ///< in the order in which they follow each other in the slot
  std::int64_t offset;    ///< in the slot
};

/// Flags of a message between GPUs, one for each chunk of its slot (device/port.hpp).
struct Flags {
  std::uint64_t* first = nullptr;  ///< to raise after packing, to wait for before unpacking
  std::uint64_t begun = 0;         ///< epochs begun before the first copy
  const device::Watch* watch = nullptr;
  int message = 0;  ///< names the wait
};

/// The pieces of one message, and the two slots they may go to. The host uses slot `*epoch % 2`,
/// `even` for 0 and where there is no epoch. A packed slot belongs to the epoch that is about to
/// begin, hence to `*epoch + 1`; an unpacked one to the epoch that has begun. A GPU uses `even` but
/// for bundles with flags, whose epochs it counts itself: each of its copies is one.
struct Bundle {
  std::vector<FieldRuns> pieces;
  std::byte* even = nullptr;
  std::byte* odd = nullptr;
  const std::uint64_t* epoch = nullptr;
  Flags flags{};
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
  /// With memory that a GPU reads, also makes the GPU's list, and with flags that alone; throws
  /// resource.
  Copies(std::vector<Bundle> bundles, Direction direction, Memory memory);
  void run(Stream stream) const;
  bool empty() const { return empty_; }
  std::int64_t bytes() const { return bytes_; }
  /// Whether all bundles have flags, on a GPU: then packing and unpacking can be one launch.
  bool all_signal() const { return empty_ || all_signal_; }

  /// Packs, then unpacks what neighbours pack meanwhile: one launch. Both must signal; `stream` is
  /// a GPU's.
  static void run_both(const Copies& packing, const Copies& unpacking, Stream stream);

 private:
  bool empty_ = true, all_signal_ = false;
  std::int64_t bytes_ = 0;
  std::shared_ptr<const HostCopies> host_;
  std::shared_ptr<const cuda::Copies> gpu_;
};

}  // namespace halocline::pack

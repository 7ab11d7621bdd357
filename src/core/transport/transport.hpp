// SPDX-License-Identifier: Apache-2.0
#pragma once
// Transports: bytes between ranks. They know no grid, no field and no packing.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/memory.hpp>
#include <halocline/stream.hpp>

#include "device/port.hpp"

namespace halocline::transport {

/// Contiguous bytes of a message. With `in_place` null the channel provides the memory.
struct Part {
  void* in_place = nullptr;
  std::int64_t bytes = 0;
};

/// What goes to and comes from one peer in one exchange; there is one message per peer. Parts
/// follow each other as the sender lists them. A message with more than one part, or none, is
/// not in place. Messages without bytes are sent all the same: they signal.
struct Message {
  int peer = -1;
  std::vector<Part> send, receive;
  std::string label;  ///< what would be missing: "field 'u', +x"
};

/// Where the bytes of a message stand; the same twice when there is one buffer only.
struct Slots {
  std::byte* even = nullptr;
  std::byte* odd = nullptr;
};

/// Messages between this rank and some peers, opened once and run many times. Errors of a peer
/// that does not answer are thrown by finish() within the wait limit.
class Channel {
 public:
  virtual ~Channel() = default;
  /// Where to write what goes out: this rank's memory, or the neighbour's. Null if in place.
  virtual Slots send_slots(std::size_t message) = 0;
  virtual Slots receive_slots(std::size_t message) = 0;
  /// Sends the bytes written before this point of `stream`; never blocks the host. Begins the
  /// next epoch.
  virtual void start(Stream stream) = 0;
  /// Moves on what needs the host; true when finish() would not wait.
  virtual bool progress() = 0;
  /// Lets later work on `stream` see the bytes; blocks the host only if host-driven.
  virtual void finish(Stream stream) = 0;
  /// Epochs begun by start(). A slot that is written belongs to the next one, a slot that is read
  /// to the last; odd ones use the odd slot.
  virtual std::uint64_t epoch() const { return 0; }
  /// What a user should know of how it works here; mostly nothing.
  virtual std::string note() const { return {}; }
  /// Null unless those who pack or compute can store to peers themselves.
  virtual const device::DevicePort* port() const { return nullptr; }
  /// Whether kernels that pack and unpack signal through port() too. Then they do all of an
  /// exchange; start() and finish() are for those who copy the bytes in another way.
  virtual bool kernels_signal() const { return false; }
};

/// How two ranks lie to each other.
enum class Pair { self, same_node, other_node };
inline constexpr Pair pairs[] = {Pair::self, Pair::same_node, Pair::other_node};
std::string_view name_of(Pair pair);
Pair pair_of(const Communicator& communicator, int peer);

/// The memory in which slots for such fields can be packed by whoever reaches the fields: device
/// memory for device memory; pinned for what host and GPU both reach. Slots that only a GPU packs
/// may be its memory all the same.
Memory slot_memory(Memory fields);

/// What carries the bytes of a channel, and so where its exchanges can be done.
enum class Carrier {
  kernels,  ///< kernels store into the peers' memory: those that pack, and sweeps too
  stream,   ///< calls that are enqueued on a stream, in the order of its kernels
  host      ///< the host, in every exchange
};

struct Capabilities {
  Carrier carrier;
  /// The host must move messages on between start() and finish(): progress() helps to overlap.
  bool needs_progress = false;
  bool in_place = false;  ///< bytes may be sent from and received into the caller's memory
  /// Cannot crash, and is no standard's promise: shown to work whenever a plan is made.
  bool prove_in_job = false;
  /// Might crash: auto uses it only where a proof is at hand (proof/records.hpp).
  bool needs_proof = false;

  /// Whether work on a GPU's stream does all of an exchange, so that a CUDA graph can hold it and
  /// sweeps can be queued far ahead.
  bool stays_on_stream() const { return carrier != Carrier::host; }
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::string_view name() const = 0;
  /// What this machine or build lacks for it altogether, or nothing.
  virtual std::optional<std::string> missing_here() const { return std::nullopt; }
  /// Why such a pair, with fields in such memory, cannot be served, or nothing.
  virtual std::optional<std::string> unavailable(Pair pair, Memory fields) const = 0;
  /// Whether auto may take it for fields in such memory that it serves; else it is for who names
  /// it.
  virtual bool is_for_auto(Memory) const { return true; }
  virtual Capabilities capabilities() const = 0;
  /// Opens a channel. Collective over the communicator: ranks without messages join. The
  /// memory of parts in place must outlive the channel. Throws resource.
  virtual std::unique_ptr<Channel> open(const Communicator& communicator,
                                        std::vector<Message> messages, Memory fields) const = 0;
};

/// The transports of this build, in order of preference where several reach a peer. A new one
/// is a folder and a row in transports.cpp.
std::span<const Transport* const> transports();

/// Appends a transport of another library's, which must live as long as the program. Not while
/// exchanges are planned. The same on every rank.
void add_transport(const Transport& transport);

/// Throws usage, naming the transports there are.
const Transport& find_transport(std::string_view name);

/// Bytes of all parts.
std::int64_t bytes_of(const std::vector<Part>& parts);
/// The same messages in memory that the channel provides: for trials, which must not touch the
/// caller's.
std::vector<Message> not_in_place(std::vector<Message> messages);
/// The memory of a message in place, or null. Throws internal for a mixture.
void* in_place(const std::vector<Part>& parts);

}  // namespace halocline::transport

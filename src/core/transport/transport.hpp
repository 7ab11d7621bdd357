// SPDX-License-Identifier: Apache-2.0
#pragma once
// Transports: bytes between ranks. They are independent of grids, fields and packing.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/memory.hpp>
#include <halocline/stream.hpp>

#include "base/process/variables.hpp"
#include "device/port.hpp"

namespace halocline::transport {

/// Contiguous bytes of a message. If `in_place` is null the channel provides the memory.
struct Part {
  void* in_place = nullptr;
  std::int64_t bytes = 0;
  std::size_t array = 0;  ///< number of the caller's array that has them in place
};

/// The data sent to and received from one peer in one exchange; there is one message per peer.
/// Parts follow each other in the sender's order. A message with more than one part, or none, is
/// not in place. Messages without bytes are sent too: they signal.
struct Message {
  int peer = -1;
  std::vector<Part> send, receive;
  std::string label;  ///< its content, for errors: "field 'u', +x"
};

std::vector<int> peers_of(const std::vector<Message>& messages);
/// Adds a message's peer to a list for errors: "rank 1 (field 'u', +x) and rank 2 (field 'u', -x)".
void add_peer(std::string& list, std::string_view between, const Message& message);

/// The buffers of a message; both are the same if there is only one.
struct Slots {
  std::byte* even = nullptr;
  std::byte* odd = nullptr;
};

/// Messages between this rank and some peers, opened once and run many times. If a peer does not
/// answer within the wait limit, finish() throws.
class Channel {
 public:
  virtual ~Channel() = default;
  /// Returns the buffers to write to: in this rank's memory, or the neighbour's. Null if in place.
  virtual Slots send_slots(std::size_t message) = 0;
  virtual Slots receive_slots(std::size_t message) = 0;
  /// From the next start() on, parts in place are so many bytes further on than where they were
  /// when the channel was opened, by the number of their array. Empty: none is.
  virtual void shift(std::span<const std::int64_t> /*of_arrays*/) {}
  /// Sends the bytes written before this point of `stream`; never blocks the host. Begins the next
  /// epoch.
  virtual void start(Stream stream) = 0;
  /// Progresses work that needs the host; returns true when finish() would not wait.
  virtual bool progress() = 0;
  /// Makes the bytes visible to later work on `stream`; blocks the host only if host-driven.
  virtual void finish(Stream stream) = 0;
  /// Returns the number of epochs begun by start(). A slot for writing belongs to the next epoch, a
  /// slot for reading to the last; odd epochs use the odd slot.
  virtual std::uint64_t epoch() const { return 0; }
  /// Whether parts in place stay there. If not, all messages have slots: see not_in_place().
  virtual bool takes_in_place() const { return true; }
  /// Returns a note on how it works here; usually empty.
  virtual std::string note() const { return {}; }
  /// Returns null unless kernels that pack or compute can store to peers directly.
  virtual const device::DevicePort* port() const { return nullptr; }
  /// Returns whether kernels that pack and unpack also signal through port(). Then they do all of
  /// an exchange; start() and finish() are for code that copies the bytes in another way.
  virtual bool kernels_signal() const { return false; }
};

/// Gathers one number of each rank of a communicator, as work on a stream: a CUDA graph can record
/// it. If a rank does not answer, the next wait of the host throws.
class Gather {
 public:
  virtual ~Gather() = default;
  /// Where work on the stream writes this rank's numbers before run(). In device memory.
  virtual double* mine() = 0;
  /// Where all ranks' numbers are after run(), in the order of the ranks. In device memory.
  virtual const double* all() const = 0;
  /// Gathers `numbers` of each rank, at most device::most_numbers_to_reduce.
  virtual void run(int numbers, Stream stream) = 0;
};

/// Where two ranks are relative to each other.
enum class Pair { self, same_node, other_node };
inline constexpr Pair pairs[] = {Pair::self, Pair::same_node, Pair::other_node};
std::string_view name_of(Pair pair);
Pair pair_of(const Communicator& communicator, int peer);

/// Returns the memory for slots of such fields: device memory for device memory; pinned memory if
/// both host and GPU can access the fields. Slots that only a GPU packs may still be in its memory.
Memory slot_memory(Memory fields);

/// The means by which a channel moves bytes; it determines where its exchanges can run.
enum class Carrier {
  kernels,  ///< kernels that pack, or sweeps, store into the peers' memory
  stream,   ///< calls queued on a stream, ordered with its kernels
  host      ///< the host, in every exchange
};

struct Capabilities {
  Carrier carrier;
  /// The host must progress messages between start() and finish(): progress() helps to overlap.
  bool needs_progress = false;
  bool in_place = false;  ///< bytes may be sent from and received into the caller's memory
  /// Cannot crash, but no standard guarantees it: tested whenever a plan is made.
  bool prove_in_job = false;
  /// Might crash or hang: auto uses it only with a proof (proof/records.hpp).
  bool needs_proof = false;
  /// Channels of one communicator must start in the same order on every rank.
  bool needs_order = false;
  /// Its first channel takes long, and memory of each GPU: auto considers it only where kernels
  /// cannot store into the peers' memory, which is as fast or faster.
  bool is_costly_to_start = false;
  /// Gives GPU memory to an MPI that may crash on it.
  bool trusts_mpi = false;
  /// Stays inside a rank: exchanges copy from field to field, and never call open().
  bool needs_no_channel = false;

  /// Whether work on a GPU's stream does all of an exchange, so that a CUDA graph can record it and
  /// sweeps can be queued far ahead.
  bool stays_on_stream() const { return carrier != Carrier::host; }
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::string_view name() const = 0;
  /// Returns why this machine or build cannot use it at all, or nothing.
  virtual std::optional<std::string> missing_here() const { return std::nullopt; }
  /// Returns why it cannot serve such a pair with fields in such memory, or nothing.
  virtual std::optional<std::string> unavailable(Pair pair, Memory fields) const = 0;
  /// Returns whether auto may use it for fields in such memory, if it serves them; if not, users
  /// can still request it.
  virtual bool is_for_auto(Memory) const { return true; }
  virtual Capabilities capabilities() const = 0;
  /// Opens a channel. Collective over the communicator, also for ranks without messages. The memory
  /// of parts in place must outlive the channel. Throws resource; internal where no channel is
  /// needed.
  virtual std::unique_ptr<Channel> open(const Communicator& communicator,
                                        std::vector<Message> messages, Memory fields) const = 0;
  /// Returns what shows why it fails where a test failed, or what helps: a clause without a full
  /// stop.
  virtual std::string_view when_it_fails() const { return "see halocline doctor"; }
  /// Opens a gather over all ranks, on one node or several; null if the transport has none.
  /// Collective. Throws resource.
  virtual std::unique_ptr<Gather> open_gather(const Communicator&) const { return nullptr; }
  /// Frees what it keeps for a communicator after its first channel, if no channel is open.
  /// Collective.
  virtual void forget(const Communicator&) const {}
  /// Returns the files of libraries that it loads with such variables, which proofs depend on.
  virtual std::vector<std::filesystem::path> files(const Variables&) const { return {}; }
};

/// Returns the transports of this build, in order of preference if several can serve a pair. A new
/// one is a folder and a row in transports.cpp.
std::span<const Transport* const> transports();

/// Appends a transport of another library, which must exist until the end of the program. Must not
/// run while exchanges are planned. The same on every rank.
void add_transport(const Transport& transport);

/// Throws usage, listing the transports.
const Transport& find_transport(std::string_view name);

/// Returns the bytes of all parts.
std::int64_t bytes_of(const std::vector<Part>& parts);
/// Returns the same messages with memory that the channel provides: for trials, which must not
/// touch the caller's memory.
std::vector<Message> not_in_place(std::vector<Message> messages);
/// Returns the memory of a message in place, or null. Throws internal for a mixture.
void* in_place(const std::vector<Part>& parts);
/// Returns how many bytes further on the memory of a message in place is; 0 for others.
std::int64_t shift_of(const std::vector<Part>& parts, std::span<const std::int64_t> of_arrays);

}  // namespace halocline::transport

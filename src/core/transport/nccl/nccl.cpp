// SPDX-License-Identifier: Apache-2.0
#include "transport/nccl/nccl.hpp"

#include <algorithm>
#include <utility>

#include <halocline/error.hpp>

#include "comm/collectives.hpp"
#include "comm/state.hpp"
#include "comm/waiting.hpp"
#include "device/all_reduce_port.hpp"
#include "device/buffer.hpp"
#include "device/gpu.hpp"
#include "device/queue.hpp"
#include "device/stream_clock.hpp"
#include "link/wait_for.hpp"
#include "transport/nccl/connection.hpp"
#include "transport/nccl/window.hpp"
#include "transport/peer/channel.hpp"

namespace halocline::transport {
namespace {

using nccl::Connection;
using nccl::Library;
using nccl::Window;

/// Calls that NCCL queues together at the end. An error in between ends the group too: calls of
/// this thread would stay in it.
class Group {
 public:
  explicit Group(const Connection& connection) : connection_(connection) {
    connection_.check(connection_.library().group_start(), "ncclGroupStart");
  }
  ~Group() {
    if (is_open_) connection_.library().group_end();
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  void end() {
    is_open_ = false;
    connection_.check(connection_.library().group_end(), "ncclGroupEnd");
  }

 private:
  const Connection& connection_;
  bool is_open_ = true;
};

/// Returns memory that NCCL has registered on all ranks; null if it registers none, which it is
/// asked once. Collective.
std::shared_ptr<Window> registered(const Communicator& communicator,
                                   const std::shared_ptr<Connection>& connection,
                                   std::int64_t bytes) {
  if (!connection->may_register()) return nullptr;
  try {
    return std::make_shared<Window>(communicator, connection, bytes);
  } catch (const Error& error) {  // the same on every rank
    if (error.kind() == ErrorKind::communication) throw;
    connection->register_no_more();
    return nullptr;
  }
}

/// Whether kernels of every rank reach the registered memory of all its peers. Collective.
bool kernels_reach(const Communicator& communicator, const std::shared_ptr<Connection>& connection,
                   const std::vector<Message>& messages) {
  const std::shared_ptr<Window> somewhere = connection->library().peer_pointer != nullptr
                                                ? registered(communicator, connection, 1)
                                                : nullptr;
  const bool all =
      somewhere && std::all_of(messages.begin(), messages.end(), [&](const Message& message) {
        return somewhere->of(message.peer) != nullptr;
      });
  return comm::max_over_ranks(communicator, std::int64_t{all ? 0 : 1}) == 0;
}

ReachedMemory reached_memory(const Communicator& communicator,
                             const std::shared_ptr<Connection>& connection, std::int64_t bytes,
                             const std::vector<int>& peers,
                             const std::vector<ReachedMemory::Offsets>& offsets) {
  const auto window = std::make_shared<Window>(communicator, connection, bytes);
  ReachedMemory reached{.mine = window->mine(),
                        .theirs = {},
                        .offsets = swapped(communicator, peers, offsets),
                        .owner = window};
  for (const int peer : peers) reached.theirs.push_back(window->of(peer));
  return reached;
}

class NcclChannel final : public Channel, private Connection::User {
 public:
  NcclChannel(const Communicator& communicator, std::vector<Message> messages, Memory fields)
      : communicator_(communicator),
        messages_(std::move(messages)),
        connection_(Connection::of(communicator)),
        registration_(*connection_, *this) {
    std::int64_t bytes = 0;
    for (const Message& message : messages_) {
      send_.push_back(place(message.send, bytes));
      receive_.push_back(place(message.receive, bytes));
    }
    if (comm::max_over_ranks(communicator, bytes) > 0)
      window_ = registered(communicator, connection_, bytes);
    comm::together(communicator, [&] {
      if (!window_) slots_ = device::allocate(fields, bytes);
      own_.emplace();
    });
  }

  Slots send_slots(std::size_t message) override { return slots_of(send_[message]); }
  Slots receive_slots(std::size_t message) override { return slots_of(receive_[message]); }

  void shift(std::span<const std::int64_t> of_arrays) override {
    for (std::size_t m = 0; m < messages_.size(); ++m) {
      if (send_[m].in_place != nullptr) send_[m].offset = shift_of(messages_[m].send, of_arrays);
      if (receive_[m].in_place != nullptr)
        receive_[m].offset = shift_of(messages_[m].receive, of_arrays);
    }
  }

  void start(Stream stream) override {
    connection_->check_async();
    is_started_ = true;
    const Stream queue = stream.is_host() ? own_->get() : stream;
    clock_.time(queue, 0, [&] { call(queue); });
    if (stream.is_host()) arrived_.record(queue);
  }

  bool progress() override {
    connection_->check_async();
    return arrived_.reached();
  }

  void finish(Stream stream) override {
    if (!stream.is_host()) return;  // what follows on the stream finds the bytes
    comm::wait_until(communicator_.state(),
                     {.site = "exchange, wait (nccl)",
                      .missing = [] { return std::string("its own GPU to send and receive"); }},
                     [this] { return arrived_.reached(); });
  }

  std::string note() const override { return connection_->note(); }

 private:
  void call(Stream queue) {
    // The first call to a peer connects to it, and waits until the peer does the same.
    const comm::Watchdog::Guard guard(communicator_.state().watchdog(), "ncclGroupEnd");
    const Library& library = connection_->library();
    nccl::Comm* const comm = connection_->comm();
    Group group(*connection_);
    for (std::size_t m = 0; m < messages_.size(); ++m) {
      const Message& message = messages_[m];
      connection_->check(
          library.send(memory_of(send_[m]), static_cast<std::size_t>(bytes_of(message.send)),
                       nccl::bytes_type, message.peer, comm, queue.native()),
          "ncclSend");
      connection_->check(library.receive(memory_of(receive_[m]),
                                         static_cast<std::size_t>(bytes_of(message.receive)),
                                         nccl::bytes_type, message.peer, comm, queue.native()),
                         "ncclRecv");
    }
    group.end();
  }

  /// The memory of a message: at an offset from a place of the caller's, or in that of all slots.
  struct Place {
    std::byte* in_place;
    std::int64_t offset;
  };

  static Place place(const std::vector<Part>& parts, std::int64_t& bytes) {
    if (void* const there = in_place(parts)) return {static_cast<std::byte*>(there), 0};
    constexpr std::int64_t line_bytes = 128;
    const std::int64_t offset = bytes;
    bytes += (bytes_of(parts) + line_bytes - 1) / line_bytes * line_bytes;
    return {nullptr, offset};
  }

  std::byte* slot(const Place& of) const {
    return (window_ ? window_->mine() : static_cast<std::byte*>(slots_.get())) + of.offset;
  }
  void* memory_of(const Place& of) const {
    return of.in_place != nullptr ? of.in_place + of.offset : slot(of);
  }
  Slots slots_of(const Place& of) const {
    if (of.in_place != nullptr) return {};
    return {slot(of), slot(of)};
  }

  std::string awaited() const override {
    std::string text;
    for (const Message& message : messages_) add_peer(text, " or ", message);
    return is_started_ ? text : "";
  }

  Communicator communicator_;
  std::vector<Message> messages_;
  std::shared_ptr<Connection> connection_;
  Connection::Registration registration_;
  std::vector<Place> send_, receive_;
  std::shared_ptr<Window> window_;          // the slots, if NCCL registers memory
  std::shared_ptr<void> slots_;             // else
  std::optional<device::OwnedStream> own_;  // for the host's stream
  device::Event arrived_;
  device::StreamClock clock_{comm::recorder(communicator_), Phase::move, "exchange (nccl)"};
  bool is_started_ = false;
};

class NcclGather final : public Gather, private Connection::User {
 public:
  explicit NcclGather(const Communicator& communicator)
      : ranks_(communicator.size()),
        connection_(Connection::of(communicator)),
        registration_(*connection_, *this) {
    comm::together(communicator, [&] {
      numbers_ = device::allocate(Memory::device, (ranks_ + 1) * device::most_numbers_to_reduce *
                                                      static_cast<std::int64_t>(sizeof(double)));
    });
    // The first one connects the ranks, which no sweep is to wait for.
    const device::OwnedStream stream;
    {
      const comm::Watchdog::Guard guard(communicator.state().watchdog(), "ncclAllGather");
      run(1, stream.get());
    }
    link::wait_for(communicator, stream.get());
  }

  double* mine() override { return first() + ranks_ * device::most_numbers_to_reduce; }
  const double* all() const override { return first(); }

  void run(int numbers, Stream stream) override {
    connection_->check_async();
    is_started_ = true;
    connection_->check(connection_->library().all_gather(
                           mine(), first(), static_cast<std::size_t>(numbers) * sizeof(double),
                           nccl::bytes_type, connection_->comm(), stream.native()),
                       "ncclAllGather");
  }

 private:
  double* first() const { return static_cast<double*>(numbers_.get()); }

  std::string awaited() const override { return is_started_ ? "all ranks (their norms)" : ""; }

  std::int64_t ranks_;
  std::shared_ptr<Connection> connection_;
  Connection::Registration registration_;
  std::shared_ptr<void> numbers_;  // of all ranks, then this rank's
  bool is_started_ = false;
};

}  // namespace

std::optional<std::string> NcclTransport::missing_here() const {
  if (const auto why = device::no_gpu_because()) return why;
  if (nccl::loaded_library() == nullptr) return nccl::why_no_library();
  return std::nullopt;
}

std::optional<std::string> NcclTransport::unavailable(Pair pair, Memory fields) const {
  if (pair == Pair::self) return "copies inside a rank need no NCCL";
  if (fields != Memory::device) return "it is for device memory only";
  return std::nullopt;
}

std::unique_ptr<Channel> NcclTransport::open(const Communicator& communicator,
                                             std::vector<Message> messages, Memory fields) const {
  const std::shared_ptr<Connection> connection = Connection::of(communicator);
  if (!kernels_reach(communicator, connection, messages))
    return std::make_unique<NcclChannel>(communicator, std::move(messages), fields);
  const auto open = [&](std::int64_t bytes, const std::vector<int>& peers,
                        const std::vector<ReachedMemory::Offsets>& offsets) {
    return reached_memory(communicator, connection, bytes, peers, offsets);
  };
  return open_kernel_channel(
      communicator, std::move(messages), {.transport = "nccl", .open = open},
      connection->note() + "; kernels store into the peers' memory, whose addresses it gives");
}

std::unique_ptr<Gather> NcclTransport::open_gather(const Communicator& communicator) const {
  return std::make_unique<NcclGather>(communicator);
}

void NcclTransport::forget(const Communicator& communicator) const {
  communicator.state().forget<Connection>();
}

std::vector<std::filesystem::path> NcclTransport::files(const Variables& variables) const {
  const std::filesystem::path file = file_to_load(nccl::library_to_find, variables);
  return file.empty() ? std::vector<std::filesystem::path>{} : std::vector{file};
}

}  // namespace halocline::transport

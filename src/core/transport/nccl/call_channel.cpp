// SPDX-License-Identifier: Apache-2.0
#include "transport/nccl/call_channel.hpp"

#include <utility>

#include <halocline/error.hpp>

#include "comm/collectives.hpp"
#include "comm/state.hpp"
#include "comm/waiting.hpp"
#include "device/buffer.hpp"

namespace halocline::transport::nccl {
namespace {

class GroupedChannel final : public CallChannel {
 public:
  GroupedChannel(const Communicator& communicator, std::vector<Message> messages, Memory fields)
      : CallChannel(communicator, std::move(messages)) {
    std::int64_t bytes = 0;
    for (const Message& message : this->messages()) {
      send_.push_back(place(message.send, bytes));
      receive_.push_back(place(message.receive, bytes));
    }
    if (comm::max_over_ranks(communicator, bytes) > 0)
      window_ = registered(communicator, connection(), bytes);
    comm::together(communicator, [&] {
      if (!window_) slots_ = device::allocate(fields, bytes);
    });
  }

  Slots send_slots(std::size_t message) override { return slots_of(send_[message]); }
  Slots receive_slots(std::size_t message) override { return slots_of(receive_[message]); }

 private:
  /// The memory of a message: in place, or at an offset in that of all slots.
  struct Place {
    void* in_place;
    std::int64_t offset;
  };

  static Place place(const std::vector<Part>& parts, std::int64_t& bytes) {
    if (void* const there = in_place(parts)) return {there, 0};
    return {nullptr, take_slot(parts, bytes)};
  }

  void queue_calls(Stream queue) override {
    const Library& library = connection()->library();
    Comm* const comm = connection()->comm();
    Group group(*connection());
    for (std::size_t m = 0; m < messages().size(); ++m) {
      const Message& message = messages()[m];
      connection()->check(
          library.send(memory_of(send_[m]), static_cast<std::size_t>(bytes_of(message.send)),
                       bytes_type, message.peer, comm, queue.native()),
          "ncclSend");
      connection()->check(library.receive(memory_of(receive_[m]),
                                          static_cast<std::size_t>(bytes_of(message.receive)),
                                          bytes_type, message.peer, comm, queue.native()),
                          "ncclRecv");
    }
    group.end();
  }

  std::byte* slot(const Place& of) const {
    return (window_ ? window_->mine() : static_cast<std::byte*>(slots_.get())) + of.offset;
  }
  void* memory_of(const Place& of) const { return of.in_place ? of.in_place : slot(of); }
  Slots slots_of(const Place& of) const {
    if (of.in_place != nullptr) return {};
    return {slot(of), slot(of)};
  }

  std::vector<Place> send_, receive_;
  std::shared_ptr<Window> window_;  // the slots, if NCCL registers memory
  std::shared_ptr<void> slots_;     // else
};

}  // namespace

Group::Group(const Connection& connection) : connection_(connection) {
  connection_.check(connection_.library().group_start(), "ncclGroupStart");
}

Group::~Group() {
  if (is_open_) connection_.library().group_end();
}

void Group::end() {
  is_open_ = false;
  connection_.check(connection_.library().group_end(), "ncclGroupEnd");
}

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

CallChannel::CallChannel(const Communicator& communicator, std::vector<Message> messages)
    : communicator_(communicator),
      messages_(std::move(messages)),
      connection_(Connection::of(communicator)),
      registration_(*connection_, *this),
      clock_{comm::recorder(communicator_), Phase::move, "exchange (nccl)"} {
  comm::together(communicator, [this] { own_.emplace(); });
}

void CallChannel::start(Stream stream) {
  connection_->check_async();
  is_started_ = true;
  const Stream queue = stream.is_host() ? own_->get() : stream;
  {
    // The first call to a peer connects to it, and waits until the peer does the same.
    const comm::Watchdog::Guard guard(communicator_.state().watchdog(), "ncclGroupEnd");
    clock_.time(queue, 0, [&] { queue_calls(queue); });
  }
  if (stream.is_host()) arrived_.record(queue);
}

bool CallChannel::progress() {
  connection_->check_async();
  return arrived_.reached();
}

void CallChannel::finish(Stream stream) {
  if (!stream.is_host()) return;  // what follows on the stream finds the bytes
  comm::wait_until(communicator_.state(),
                   {.site = "exchange, wait (nccl)",
                    .missing = [] { return std::string("its own GPU to send and receive"); }},
                   [this] { return arrived_.reached(); });
}

std::int64_t CallChannel::take_slot(const std::vector<Part>& parts, std::int64_t& bytes) {
  constexpr std::int64_t line_bytes = 128;
  const std::int64_t offset = bytes;
  bytes += (bytes_of(parts) + line_bytes - 1) / line_bytes * line_bytes;
  return offset;
}

std::string CallChannel::awaited() const {
  std::string text;
  for (const Message& message : messages_) add_peer(text, " or ", message);
  return is_started_ ? text : "";
}

std::unique_ptr<Channel> open_grouped_channel(const Communicator& communicator,
                                              std::vector<Message> messages, Memory fields) {
  return std::make_unique<GroupedChannel>(communicator, std::move(messages), fields);
}

}  // namespace halocline::transport::nccl

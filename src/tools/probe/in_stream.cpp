// SPDX-License-Identifier: Apache-2.0
#include "probe/in_stream.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "comm/collectives.hpp"
#include "device/graph.hpp"
#include "device/queue.hpp"
#include "gpu/stream_work.hpp"
#include "link/wait_for.hpp"
#include "proof/pattern.hpp"

namespace halocline::probe {
namespace {

using transport::Channel;
using transport::Message;

// Uses both slots, and one of them twice.
constexpr int exchanges = 3;
// The second replay starts from the state that the first left.
constexpr int replays = 2;
// A host queues an exchange in about 20 us, and MPI carries 8 bytes in less. An exchange that does
// not wait for the stream is therefore far too early.
constexpr std::chrono::milliseconds late(2);

// Seeds of patterns in sent memory: the data of an exchange, and the contents before it.
std::uint64_t due(int from, int to, int exchange) { return proof::seed_of(from, to, 2 * exchange); }
std::uint64_t old(int from, int to, int exchange) {
  return proof::seed_of(from, to, 2 * exchange + 1);
}
// Seed of the pattern in memory that has not received yet.
std::uint64_t empty(int rank) { return proof::seed_of(rank, rank, 0); }

std::vector<std::byte> pattern(std::uint64_t seed, std::int64_t bytes) {
  std::vector<std::byte> made(static_cast<std::size_t>(bytes));
  proof::fill(made.data(), bytes, seed);
  return made;
}

/// A message, with a field to copy from if it is not sent in place.
struct StreamMessage {
  int peer;
  std::int64_t sent, received;                ///< bytes
  std::shared_ptr<void> field;                ///< copied to the slot
  std::vector<std::shared_ptr<void>> seen{};  ///< received in each exchange
};

StreamMessage make_stream_message(const Message& message, const StreamFields& fields) {
  const auto allocate = [&](std::int64_t bytes) {
    return device::allocate(fields.memory, bytes, fields.allocator);
  };
  StreamMessage made{.peer = message.peer,
                     .sent = transport::bytes_of(message.send),
                     .received = transport::bytes_of(message.receive),
                     .field = nullptr};
  if (transport::in_place(message.send) == nullptr) made.field = allocate(made.sent);
  for (int exchange = 0; exchange < exchanges; ++exchange)
    made.seen.push_back(allocate(made.received));
  return made;
}

/// Records the first fault in the data received in one exchange, unless one is known: faults cause
/// others.
void check_received(const StreamMessage& message, int me, int exchange, StreamFaults& faults) {
  std::vector<std::byte> seen(static_cast<std::size_t>(message.received));
  device::copy(seen.data(), message.seen[static_cast<std::size_t>(exchange)].get(),
               message.received, Stream::host());
  const std::int64_t at =
      proof::first_difference(seen.data(), message.received, due(message.peer, me, exchange));
  if (at == message.received) return;
  // Compares the word around that byte, since kernels write words.
  constexpr std::int64_t word_bytes = 8;
  const std::int64_t begin = at / word_bytes * word_bytes;
  const auto length = static_cast<std::size_t>(std::min(word_bytes, message.received - begin));
  const auto holds = [&](std::uint64_t seed) {
    return std::memcmp(seen.data() + begin, pattern(seed, message.received).data() + begin,
                       length) == 0;
  };
  // Data of the sender's earlier exchanges was sent too early. It cannot be left from earlier
  // receives, which are overwritten by `empty` after reading.
  bool is_early = holds(old(message.peer, me, exchange));
  for (int before = 0; before < exchange; ++before)
    is_early |= holds(due(message.peer, me, before)) || holds(old(message.peer, me, before));
  const int next = exchange + 1;
  const char* order = nullptr;
  if (is_early)
    order = "was sent before earlier work in the stream had written it";
  else if (holds(old(message.peer, me, next)) || holds(due(message.peer, me, next)))
    order = "was sent after later work in the stream had overwritten it";
  else if (holds(empty(me)))
    order = "had not arrived when later work in the stream read it";
  std::string& fault = order != nullptr ? faults.order : faults.bytes;
  if (fault.empty())
    fault = fmt::format("byte {} of {} from rank {} to rank {} {}", at, message.received,
                        message.peer, me, order != nullptr ? order : "did not arrive as sent");
}

class Rehearsal {
 public:
  Rehearsal(const Communicator& communicator, Channel& channel,
            const std::vector<Message>& messages, const StreamFields& fields)
      : communicator_(communicator),
        channel_(channel),
        messages_(messages),
        in_graph_(fields.in_graph) {
    comm::together(communicator, [&] {
      for (const Message& message : messages)
        stream_messages_.push_back(make_stream_message(message, fields));
      stream_.emplace();
    });
  }

  StreamFaults run() {
    for (std::size_t m = 0; m < stream_messages_.size(); ++m) {
      write(out(m), stream_messages_[m].sent, old(me(), stream_messages_[m].peer, 0));
      // Before the exchange a slot belongs to its sender.
      if (void* field = transport::in_place(messages_[m].receive))
        write(field, stream_messages_[m].received, empty(me()));
      // CUDA loads a kernel at its first launch, and may then wait for all work of the GPU.
      gpu::copy_by_kernel(stream_->get(), stream_messages_[m].seen.front().get(),
                          stream_messages_[m].seen.back().get(), stream_messages_[m].received);
    }
    gpu::pass_time(stream_->get(), {});
    device::synchronize(stream_->get());
    StreamFaults mine;
    queue_all();
    check_all(mine);
    if (in_graph_) {
      const auto graph = device::Graph::record(stream_->get(), [this] { queue_all(); });
      for (int replay = 0; replay < replays; ++replay) {
        graph.launch(stream_->get());
        check_all(mine);
      }
    }
    return {.order = comm::first_text(communicator_, mine.order),
            .bytes = comm::first_text(communicator_, mine.bytes)};
  }

 private:
  void queue_all() {
    for (int exchange = 0; exchange < exchanges; ++exchange) queue(exchange);
  }

  void check_all(StreamFaults& faults) const {
    link::wait_for(communicator_, stream_->get());  // with a time limit, as others may be lost
    for (const StreamMessage& message : stream_messages_)
      for (int exchange = 0; exchange < exchanges; ++exchange)
        check_received(message, me(), exchange, faults);
  }

  int me() const { return communicator_.rank(); }

  void write(void* to, std::int64_t bytes, std::uint64_t seed) const {
    gpu::write_words(stream_->get(), to, bytes, {.first = seed, .step = proof::word_step});
  }

  /// The memory that the next exchange sends.
  void* out(std::size_t m) const {
    if (void* field = transport::in_place(messages_[m].send)) return field;
    const transport::Slots slots = channel_.send_slots(m);
    return (channel_.epoch() + 1) % 2 != 0 ? slots.odd : slots.even;
  }
  /// The memory that the last exchange received.
  void* in(std::size_t m) const {
    if (void* field = transport::in_place(messages_[m].receive)) return field;
    const transport::Slots slots = channel_.receive_slots(m);
    return channel_.epoch() % 2 != 0 ? slots.odd : slots.even;
  }

  void queue(int exchange) {
    // Neighbours alternate: if one writes late, the other reads late.
    const bool writes_late = (me() + exchange) % 2 == 0;
    const Stream stream = stream_->get();
    for (std::size_t m = 0; m < stream_messages_.size(); ++m)
      write(out(m), stream_messages_[m].sent, old(me(), stream_messages_[m].peer, exchange));
    if (writes_late) gpu::pass_time(stream, late);
    for (std::size_t m = 0; m < stream_messages_.size(); ++m) {
      const StreamMessage& message = stream_messages_[m];
      void* const field = message.field != nullptr ? message.field.get() : out(m);
      write(field, message.sent, due(me(), message.peer, exchange));
      if (message.field != nullptr) gpu::copy_by_kernel(stream, out(m), field, message.sent);
    }
    channel_.start(stream);
    channel_.finish(stream);
    if (!writes_late) gpu::pass_time(stream, late);
    for (std::size_t m = 0; m < stream_messages_.size(); ++m) {
      const StreamMessage& message = stream_messages_[m];
      gpu::copy_by_kernel(stream, message.seen[static_cast<std::size_t>(exchange)].get(), in(m),
                          message.received);
      write(in(m), message.received, empty(me()));
    }
  }

  const Communicator& communicator_;
  Channel& channel_;
  const std::vector<Message>& messages_;
  bool in_graph_;
  std::vector<StreamMessage> stream_messages_;
  std::optional<device::OwnedStream> stream_;
};

}  // namespace

StreamFaults prove_in_stream(const Communicator& communicator, Channel& channel,
                             const std::vector<Message>& messages, const StreamFields& fields) {
  return Rehearsal(communicator, channel, messages, fields).run();
}

}  // namespace halocline::probe

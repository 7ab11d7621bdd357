#include "support/conversation.hpp"

#include <algorithm>

namespace halocline::test {
namespace {

using transport::Message;
using transport::Part;

constexpr std::size_t guard_bytes = 64;
constexpr std::byte guard{0xA5};

std::vector<Part> parts_of(const std::vector<std::int64_t>& sizes) {
  std::vector<Part> parts;
  for (const std::int64_t bytes : sizes) parts.push_back({nullptr, bytes});
  return parts;
}

std::vector<Message> messages_for(const Communicator& communicator,
                                  const transport::Transport& transport, const Pattern& pattern) {
  const int me = communicator.rank(), ranks = communicator.size();
  std::vector<Message> messages;
  for (int peer = 0; peer < ranks; ++peer) {
    if (transport.unavailable(transport::pair_of(communicator, peer), halocline::Memory::host))
      continue;
    const auto said = pattern.parts(me, peer, ranks), heard = pattern.parts(peer, me, ranks);
    if (!said && !heard) continue;
    messages.push_back({.peer = peer,
                        .send = parts_of(said.value_or(std::vector<std::int64_t>{})),
                        .receive = parts_of(heard.value_or(std::vector<std::int64_t>{})),
                        .label = "a test's words"});
  }
  return messages;
}

}  // namespace

Conversation::Conversation(const Communicator& communicator, const transport::Transport& transport,
                           const Pattern& pattern, Placement placement)
    : rank_(communicator.rank()),
      messages_(messages_for(communicator, transport, pattern)),
      own_(messages_.size()) {
  if (placement == Placement::in_place) place_own_memory();
  channel_ = transport.open(communicator, messages_, halocline::Memory::host);
}

void Conversation::place_own_memory() {
  const auto place = [](std::vector<Part>& parts, Memory& memory) {
    if (parts.size() != 1) return;
    memory.assign(static_cast<std::size_t>(parts[0].bytes) + 2 * guard_bytes, guard);
    parts[0].in_place = memory.data() + guard_bytes;
  };
  for (std::size_t m = 0; m < messages_.size(); ++m) {
    place(messages_[m].send, own_[m].send);
    place(messages_[m].receive, own_[m].receive);
  }
}

std::byte* Conversation::outgoing(std::size_t message) {
  if (!own_[message].send.empty()) return own_[message].send.data() + guard_bytes;
  const transport::Slots slots = channel_->send_slots(message);
  const device::DevicePort* port = channel_->port();
  return port != nullptr && (*port->epoch + 1) % 2 != 0 ? slots.odd : slots.even;
}

std::byte* Conversation::incoming(std::size_t message) {
  if (!own_[message].receive.empty()) return own_[message].receive.data() + guard_bytes;
  const transport::Slots slots = channel_->receive_slots(message);
  const device::DevicePort* port = channel_->port();
  return port != nullptr && *port->epoch % 2 != 0 ? slots.odd : slots.even;
}

void Conversation::start() {
  ++epoch_;
  for (std::size_t m = 0; m < messages_.size(); ++m) {
    std::byte* at = outgoing(m);
    for (std::size_t part = 0; part < messages_[m].send.size(); ++part) {
      const auto bytes = static_cast<std::size_t>(messages_[m].send[part].bytes);
      write_payload({at, bytes}, {rank_, messages_[m].peer, part, epoch_});
      at += bytes;
    }
  }
  channel_->start(Stream::host());
}

void Conversation::finish() {
  channel_->finish(Stream::host());
  for (std::size_t m = 0; m < messages_.size(); ++m) {
    const std::byte* at = incoming(m);
    for (std::size_t part = 0; part < messages_[m].receive.size(); ++part) {
      const auto bytes = static_cast<std::size_t>(messages_[m].receive[part].bytes);
      EXPECT_TRUE(holds_payload({at, bytes}, {messages_[m].peer, rank_, part, epoch_}));
      at += bytes;
    }
  }
  expect_guards_untouched();
}

void Conversation::run() {
  start();
  finish();
}

void Conversation::expect_guards_untouched() const {
  const auto untouched = [](const Memory& memory) {
    const auto is_guard = [](std::byte byte) { return byte == guard; };
    return memory.empty() || (std::all_of(memory.begin(), memory.begin() + guard_bytes, is_guard) &&
                              std::all_of(memory.end() - guard_bytes, memory.end(), is_guard));
  };
  for (std::size_t m = 0; m < messages_.size(); ++m) {
    EXPECT_TRUE(untouched(own_[m].send)) << "around what is sent to rank " << messages_[m].peer;
    EXPECT_TRUE(untouched(own_[m].receive)) << "around what comes from " << messages_[m].peer;
  }
}

}  // namespace halocline::test

// SPDX-License-Identifier: Apache-2.0
#include "support/conversation.hpp"

#include <algorithm>

#include <halocline/error.hpp>

#include "device/buffer.hpp"

namespace halocline::test {
namespace {

using transport::Message;
using transport::Part;

constexpr std::int64_t guard_bytes = 64;
constexpr std::byte guard{0xA5};

std::vector<Part> parts_of(const std::vector<std::int64_t>& sizes) {
  std::vector<Part> parts;
  for (const std::int64_t bytes : sizes) parts.push_back({nullptr, bytes});
  return parts;
}

std::vector<Message> messages_for(const Communicator& communicator, const Path& path,
                                  const Pattern& pattern) {
  const int me = communicator.rank(), ranks = communicator.size();
  std::vector<Message> messages;
  for (int peer = 0; peer < ranks; ++peer) {
    if (path.transport->unavailable(transport::pair_of(communicator, peer), path.memory)) continue;
    const auto said = pattern.parts(me, peer, ranks), heard = pattern.parts(peer, me, ranks);
    if (!said && !heard) continue;
    messages.push_back({.peer = peer,
                        .send = parts_of(said.value_or(std::vector<std::int64_t>{})),
                        .receive = parts_of(heard.value_or(std::vector<std::int64_t>{})),
                        .label = "a test's words"});
  }
  return messages;
}

/// The bytes of any memory, where the host reads them. They must not be in use.
std::vector<std::byte> read(const std::byte* from, std::int64_t bytes) {
  std::vector<std::byte> copy(static_cast<std::size_t>(bytes));
  device::copy(copy.data(), from, bytes, Stream::host());
  return copy;
}

}  // namespace

Conversation::Conversation(const Communicator& communicator, const Path& path,
                           const Pattern& pattern, MessagePlacement placement)
    : rank_(communicator.rank()),
      memory_(path.memory),
      stream_(path.memory),
      messages_(messages_for(communicator, path, pattern)),
      own_(messages_.size()) {
  if (placement == MessagePlacement::in_place) place_own_memory();
  // Copies from the host's memory would not be queued but done.
  const Memory copies = on_gpu() ? Memory::device : Memory::host;
  for (Epoch& epoch : epochs_)
    for (const Message& message : messages_) {
      epoch.said.push_back(allocate(copies, transport::bytes_of(message.send)));
      epoch.heard.push_back(allocate(copies, transport::bytes_of(message.receive)));
    }
  channel_ = path.transport->open(communicator, messages_, path.memory);
  if (channel_->takes_in_place()) return;
  messages_ = transport::not_in_place(std::move(messages_));
  for (Own& one : own_) one = {};
}

Conversation::~Conversation() {
  if (channel_ == nullptr || in_flight_) return;  // no channel: moved from
  try {
    look();
  } catch (const Error& error) {
    ADD_FAILURE() << error.what();
  }
}

Conversation::Bytes Conversation::allocate(Memory memory, std::int64_t bytes) const {
  const auto owned = device::allocate(memory, bytes);
  return {owned, static_cast<std::byte*>(owned.get())};
}

void Conversation::place_own_memory() {
  const auto place = [this](std::vector<Part>& parts, Bytes& memory) {
    if (parts.size() != 1) return;
    const std::vector<std::byte> guards(static_cast<std::size_t>(parts[0].bytes + 2 * guard_bytes),
                                        guard);
    const auto bytes = static_cast<std::int64_t>(guards.size());
    memory = allocate(memory_, bytes);
    device::copy(memory.get(), guards.data(), bytes, Stream::host());
    parts[0].in_place = memory.get() + guard_bytes;
  };
  for (std::size_t m = 0; m < messages_.size(); ++m) {
    place(messages_[m].send, own_[m].send);
    place(messages_[m].receive, own_[m].receive);
  }
}

std::byte* Conversation::outgoing(std::size_t message) {
  if (own_[message].send != nullptr) return own_[message].send.get() + guard_bytes;
  const transport::Slots slots = channel_->send_slots(message);
  return (channel_->epoch() + 1) % 2 != 0 ? slots.odd : slots.even;
}

std::byte* Conversation::incoming(std::size_t message) {
  if (own_[message].receive != nullptr) return own_[message].receive.get() + guard_bytes;
  const transport::Slots slots = channel_->receive_slots(message);
  return channel_->epoch() % 2 != 0 ? slots.odd : slots.even;
}

void Conversation::start() {
  ++epoch_;
  for (std::size_t m = 0; m < messages_.size(); ++m) {
    std::vector<std::byte> words;
    for (std::size_t part = 0; part < messages_[m].send.size(); ++part) {
      const auto at = words.size();
      words.resize(at + static_cast<std::size_t>(messages_[m].send[part].bytes));
      write_payload(std::span(words).subspan(at), {rank_, messages_[m].peer, part, epoch_});
    }
    const auto bytes = static_cast<std::int64_t>(words.size());
    std::byte* const said = current().said[m].get();
    device::copy(said, words.data(), bytes, Stream::host());
    device::copy(outgoing(m), said, bytes, stream_.get());
  }
  channel_->start(stream_.get());
  in_flight_ = true;
}

void Conversation::finish() {
  channel_->finish(stream_.get());
  in_flight_ = false;
  for (std::size_t m = 0; m < messages_.size(); ++m)
    device::copy(current().heard[m].get(), incoming(m), transport::bytes_of(messages_[m].receive),
                 stream_.get());
  not_looked_at_.push_back(epoch_);
  if (!on_gpu() || not_looked_at_.size() == epochs_until_look) look();
}

void Conversation::run() {
  start();
  finish();
}

void Conversation::look() {
  device::synchronize(stream_.get());
  for (const std::uint64_t epoch : not_looked_at_) look_at(epoch);
  not_looked_at_.clear();
  expect_guards_untouched();
}

void Conversation::look_at(std::uint64_t epoch) {
  for (std::size_t m = 0; m < messages_.size(); ++m) {
    const std::vector<std::byte> words = read(epochs_[epoch % epochs_until_look].heard[m].get(),
                                              transport::bytes_of(messages_[m].receive));
    std::size_t at = 0;
    for (std::size_t part = 0; part < messages_[m].receive.size(); ++part) {
      const auto bytes = static_cast<std::size_t>(messages_[m].receive[part].bytes);
      EXPECT_TRUE(holds_payload(std::span(words).subspan(at, bytes),
                                {messages_[m].peer, rank_, part, epoch}));
      at += bytes;
    }
  }
}

void Conversation::expect_guards_untouched() const {
  const auto untouched = [](const Bytes& memory, const std::vector<Part>& parts) {
    if (memory == nullptr) return true;
    const auto is_guard = [](std::byte byte) { return byte == guard; };
    const std::int64_t bytes = transport::bytes_of(parts);
    const auto before = read(memory.get(), guard_bytes),
               after = read(memory.get() + guard_bytes + bytes, guard_bytes);
    return std::all_of(before.begin(), before.end(), is_guard) &&
           std::all_of(after.begin(), after.end(), is_guard);
  };
  for (std::size_t m = 0; m < messages_.size(); ++m) {
    EXPECT_TRUE(untouched(own_[m].send, messages_[m].send))
        << "around what is sent to rank " << messages_[m].peer;
    EXPECT_TRUE(untouched(own_[m].receive, messages_[m].receive))
        << "around what comes from " << messages_[m].peer;
  }
}

}  // namespace halocline::test

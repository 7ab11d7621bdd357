// SPDX-License-Identifier: Apache-2.0
// The proof of a channel, shown to channels that do and do not work.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/communicator.hpp>

#include "device/queue.hpp"
#include "proof/in_job.hpp"
#include "support/communicators.hpp"
#include "support/memories.hpp"
#include "support/ranks.hpp"
#include "transport/transport.hpp"

namespace halocline::test {
namespace {

using testing::HasSubstr;
using transport::Channel;
using transport::Message;
using transport::Slots;

/// A channel that does something to what it received.
class Tampered final : public Channel {
 public:
  Tampered(std::unique_ptr<Channel> channel, std::function<void(Channel&)> tamper)
      : channel_(std::move(channel)), tamper_(std::move(tamper)) {}

  Slots send_slots(std::size_t message) override { return channel_->send_slots(message); }
  Slots receive_slots(std::size_t message) override { return channel_->receive_slots(message); }
  void start(Stream stream) override { channel_->start(stream); }
  bool progress() override { return channel_->progress(); }
  void finish(Stream stream) override {
    channel_->finish(stream);
    tamper_(*channel_);
  }
  std::uint64_t epoch() const override { return channel_->epoch(); }
  const device::DevicePort* port() const override { return channel_->port(); }
  bool kernels_signal() const override { return channel_->kernels_signal(); }

 private:
  std::unique_ptr<Channel> channel_;
  std::function<void(Channel&)> tamper_;
};

/// What is proved: messages of a small or a large size.
struct ProofCase {
  const char* transport;
  Memory memory;
  std::int64_t bytes_up;  ///< to higher ranks; to lower ones 10
};

/// Every other rank, in two parts.
std::vector<Message> messages_between_all(std::int64_t bytes_up) {
  const auto bytes = [&](int from, int to) { return from < to ? bytes_up : 10; };
  std::vector<Message> messages;
  for (int peer = 0; peer < ranks(); ++peer)
    if (peer != rank())
      messages.push_back({.peer = peer,
                          .send = {{nullptr, bytes(rank(), peer) - 3}, {nullptr, 3}},
                          .receive = {{nullptr, bytes(peer, rank()) - 3}, {nullptr, 3}},
                          .label = "a test's words"});
  return messages;
}

/// What the proof says of a channel, tampered with on this rank.
std::optional<std::string> verdict(const ProofCase& c, std::function<void(Channel&)> tamper) {
  const Communicator& communicator = communicator_with();
  const std::vector<Message> messages = messages_between_all(c.bytes_up);
  Tampered channel(transport::find_transport(c.transport).open(communicator, messages, c.memory),
                   std::move(tamper));
  return proof::prove(communicator, channel, messages, c.memory);
}

/// Changes a bit of what came with the first message, in either slot.
void change(Channel& channel, std::int64_t at) {
  const Slots slots = channel.receive_slots(0);
  const auto change_in = [&](std::byte* slot) {
    std::byte value{};
    device::copy(&value, slot + at, 1, Stream::host());
    value ^= std::byte{1};
    device::copy(slot + at, &value, 1, Stream::host());
  };
  change_in(slots.even);
  if (slots.odd != slots.even) change_in(slots.odd);
}

class Proof : public testing::TestWithParam<ProofCase> {};

TEST_P(Proof, FindsNothingWrongWithAGoodChannel) {
  EXPECT_EQ(verdict(GetParam(), [](Channel&) {}), std::nullopt);
}

TEST_P(Proof, NamesAByteThatDidNotArrive) {
  if (ranks() < 2) GTEST_SKIP() << "one rank has nobody to hear from";
  const auto wrong = verdict(GetParam(), [](Channel& channel) {
    if (rank() == 1) change(channel, 17);  // from rank 0
  });
  EXPECT_EQ(wrong.has_value(), rank() == 1);
  EXPECT_EQ(wrong.value_or(""), rank() == 1 ? "byte 17 of " + std::to_string(GetParam().bytes_up) +
                                                  " from rank 0 to rank 1 did not arrive as sent"
                                            : "");
}

TEST_P(Proof, LooksAtTheSecondSlotToo) {
  if (ranks() < 2) GTEST_SKIP() << "one rank has nobody to hear from";
  int times = 0;
  const auto wrong = verdict(GetParam(), [&times](Channel& channel) {
    if (++times == 2) change(channel, 0);
  });
  EXPECT_EQ(times, 2);
  EXPECT_THAT(wrong.value_or("nothing wrong"), HasSubstr("byte 0 of "));
}

/// What can be proved here; test_transports.cpp says why some may be missing.
std::vector<ProofCase> proof_cases() {
  const ProofCase all[] = {{"mpi", Memory::host, 50},
                           {"shared", Memory::host, 50},
                           {"mpi", Memory::pinned, 50},
                           {"staged", Memory::device, 50},
                           {"staged", Memory::device, 600'000},
                           {"staged", Memory::managed, 50},
                           {"staged", Memory::managed, 600'000},
                           {"peer", Memory::device, 50},
                           {"peer", Memory::device, 600'000}};
  std::vector<ProofCase> here;
  for (const ProofCase& c : all)
    if (!no_memory(c.memory)) here.push_back(c);
  return here;
}

INSTANTIATE_TEST_SUITE_P(Transports, Proof, testing::ValuesIn(proof_cases()),
                         [](const testing::TestParamInfo<ProofCase>& instance) {
                           const ProofCase& c = instance.param;
                           return std::string(c.transport) + "Over" +
                                  std::string(name_of(c.memory)) + std::to_string(c.bytes_up);
                         });

}  // namespace
}  // namespace halocline::test

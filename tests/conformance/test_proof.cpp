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

#include "proof/in_job.hpp"
#include "support/communicators.hpp"
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
  const device::DevicePort* port() const override { return channel_->port(); }

 private:
  std::unique_ptr<Channel> channel_;
  std::function<void(Channel&)> tamper_;
};

/// Every other rank, with 10 bytes to a lower and 50 to a higher one, in two parts.
std::vector<Message> messages_between_all() {
  const auto bytes = [](int from, int to) { return std::int64_t{from < to ? 50 : 10}; };
  std::vector<Message> messages;
  for (int peer = 0; peer < ranks(); ++peer)
    if (peer != rank())
      messages.push_back({.peer = peer,
                          .send = {{nullptr, bytes(rank(), peer) - 3}, {nullptr, 3}},
                          .receive = {{nullptr, bytes(peer, rank()) - 3}, {nullptr, 3}},
                          .label = "a test's words"});
  return messages;
}

/// What the proof says of a transport's channel, tampered with on this rank.
std::optional<std::string> verdict(const char* transport, std::function<void(Channel&)> tamper) {
  const Communicator& communicator = communicator_with();
  const std::vector<Message> messages = messages_between_all();
  Tampered channel(transport::find_transport(transport).open(communicator, messages, Memory::host),
                   std::move(tamper));
  return proof::prove(communicator, channel, messages, Memory::host);
}

class Proof : public testing::TestWithParam<const char*> {};

TEST_P(Proof, FindsNothingWrongWithAGoodChannel) {
  EXPECT_EQ(verdict(GetParam(), [](Channel&) {}), std::nullopt);
}

TEST_P(Proof, NamesAByteThatDidNotArrive) {
  if (ranks() < 2) GTEST_SKIP() << "one rank has nobody to hear from";
  const auto wrong = verdict(GetParam(), [](Channel& channel) {
    if (rank() != 1) return;
    const Slots slots = channel.receive_slots(0);  // from rank 0
    slots.even[17] ^= std::byte{1};
    if (slots.odd != slots.even) slots.odd[17] ^= std::byte{1};
  });
  EXPECT_EQ(wrong.has_value(), rank() == 1);
  EXPECT_EQ(wrong.value_or(""),
            rank() == 1 ? "byte 17 of 50 from rank 0 to rank 1 did not arrive as sent" : "");
}

TEST_P(Proof, LooksAtTheSecondSlotToo) {
  if (ranks() < 2) GTEST_SKIP() << "one rank has nobody to hear from";
  int times = 0;
  const auto wrong = verdict(GetParam(), [&times](Channel& channel) {
    if (++times < 2) return;
    const Slots slots = channel.receive_slots(0);
    slots.even[0] ^= std::byte{1};
    if (slots.odd != slots.even) slots.odd[0] ^= std::byte{1};
  });
  EXPECT_EQ(times, 2);
  EXPECT_THAT(wrong.value_or("nothing wrong"), HasSubstr("byte 0 of "));
}

INSTANTIATE_TEST_SUITE_P(Transports, Proof, testing::Values("mpi", "shared"),
                         [](const testing::TestParamInfo<const char*>& instance) {
                           return std::string(instance.param);
                         });

}  // namespace
}  // namespace halocline::test

// SPDX-License-Identifier: Apache-2.0
// The probe, over transports that do and do not work; host memory stands for a GPU's.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/gpu.hpp"
#include "probe/probe.hpp"
#include "probe/probe_report.hpp"
#include "support/caught.hpp"
#include "support/communicators.hpp"
#include "support/ranks.hpp"

namespace halocline::test {
namespace {

using proof::GpuPair;
using proof::ProbeEnd;
using proof::Step;
using State = Step::State;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using transport::Channel;
using transport::Message;

/// What goes wrong with a message that has arrived.
using Fault = std::function<void(std::byte* received, std::int64_t bytes)>;

class FaultyChannel final : public Channel {
 public:
  FaultyChannel(std::unique_ptr<Channel> channel, std::vector<Message> messages, Fault fault)
      : channel_(std::move(channel)), messages_(std::move(messages)), fault_(std::move(fault)) {}
  transport::Slots send_slots(std::size_t m) override { return channel_->send_slots(m); }
  transport::Slots receive_slots(std::size_t m) override { return channel_->receive_slots(m); }
  void start(Stream stream) override { channel_->start(stream); }
  bool progress() override { return channel_->progress(); }
  void finish(Stream stream) override {
    channel_->finish(stream);
    for (const Message& message : messages_)
      fault_(static_cast<std::byte*>(transport::in_place(message.receive)),
             transport::bytes_of(message.receive));
  }

 private:
  std::unique_ptr<Channel> channel_;
  std::vector<Message> messages_;
  Fault fault_;
};

class FaultyTransport final : public transport::Transport {
 public:
  explicit FaultyTransport(Fault fault) : fault_(std::move(fault)) {}
  std::string_view name() const override { return "faulty"; }
  std::optional<std::string> unavailable(transport::Pair, Memory) const override {
    return std::nullopt;
  }
  transport::Capabilities capabilities() const override { return mpi_.capabilities(); }
  std::unique_ptr<Channel> open(const Communicator& communicator, std::vector<Message> messages,
                                Memory memory) const override {
    return std::make_unique<FaultyChannel>(mpi_.open(communicator, messages, memory), messages,
                                           fault_);
  }

 private:
  const transport::Transport& mpi_ = transport::find_transport("mpi");
  Fault fault_;
};

class Probe : public testing::Test {
 protected:
  void SetUp() override {
    if (ranks() < 2) GTEST_SKIP() << "one rank has nobody to send to";
  }

  ProbeEnd probe(const transport::Transport& transport, std::vector<std::int64_t> bytes,
                 std::vector<Memory> memories = {Memory::host}) {
    said_.clear();
    const ProbeEnd end = proof::probe(
        communicator_with(), {.transport = transport,
                              .memories = std::move(memories),
                              .bytes = std::move(bytes),
                              .say = [this](const std::string& line) { said_ += line + '\n'; }});
    report_ = proof::read_probe(said_);
    EXPECT_EQ(report_.began, rank() == 0);
    EXPECT_EQ(report_.ended, rank() == 0);
    return end;
  }

  std::string said_;
  proof::ProbeReport report_;
};

TEST_F(Probe, ProvesATransportThatWorks) {
  const auto& mpi = transport::find_transport("mpi");
  EXPECT_EQ(probe(mpi, {8, 4096, 300'001}), ProbeEnd::all_proved);
  if (rank() != 0) {
    EXPECT_EQ(said_, "") << "rank 0 speaks for all";
    return;
  }
  EXPECT_THAT(report_.steps, ElementsAre(Step{Memory::host, 8, State::proved},
                                         Step{Memory::host, 4096, State::proved},
                                         Step{Memory::host, 300'001, State::proved}));
  EXPECT_THAT(report_.pairs, ElementsAre(GpuPair::same_node));
  EXPECT_THAT(report_.unavailable, IsEmpty());
}

TEST_F(Probe, SaysWhatItTriesBeforeItDoes) {
  std::string said_at_first;
  const FaultyTransport spy([&](std::byte*, std::int64_t) {
    if (said_at_first.empty()) said_at_first = said_;
  });
  probe(spy, {8, 64});
  if (rank() != 0) return;
  EXPECT_THAT(said_at_first, testing::EndsWith(proof::step_line({Memory::host, 8}) + "\n"));
}

TEST_F(Probe, FindsOneWrongByteOnOneRank) {
  const FaultyTransport transport([](std::byte* received, std::int64_t bytes) {
    if (rank() == ranks() - 1 && bytes == 64) received[17] ^= std::byte{1};
  });
  EXPECT_EQ(probe(transport, {8, 64, 4096}), ProbeEnd::something_wrong);
  if (rank() != 0) return;
  ASSERT_EQ(report_.steps.size(), 2U) << "larger messages are not tried";
  EXPECT_EQ(report_.steps[0].state, State::proved);
  EXPECT_EQ(report_.steps[1].state, State::wrong);
  EXPECT_THAT(report_.steps[1].text,
              testing::MatchesRegex("byte 17 of 64 from rank .* to rank " +
                                    std::to_string(ranks() - 1) + " did not arrive as sent"));
}

TEST_F(Probe, FindsBytesThatStayAsTheyWere) {
  // A transport that delivers once, and then never again.
  std::vector<std::byte> first;
  const FaultyTransport transport([&](std::byte* received, std::int64_t bytes) {
    if (first.empty()) first.assign(received, received + bytes);
    std::copy(first.begin(), first.end(), received);
  });
  EXPECT_EQ(probe(transport, {64}), ProbeEnd::something_wrong);
}

TEST_F(Probe, SaysWhichMemoryIsNotThere) {
  if (!device::gpus().list.empty()) GTEST_SKIP() << "there is a GPU";
  const auto& mpi = transport::find_transport("mpi");
  EXPECT_EQ(probe(mpi, {8}, {Memory::device, Memory::managed}), ProbeEnd::unavailable);
  if (rank() != 0) return;
  ASSERT_EQ(report_.unavailable.size(), 2U);
  EXPECT_EQ(report_.unavailable[1].first, Memory::managed);
  EXPECT_NE(report_.unavailable[1].second, "");
  EXPECT_THAT(report_.steps, IsEmpty());
}

TEST_F(Probe, NeedsATransportThatTakesMemoryAsItIs) {
  const Caught error = caught([&] { probe(transport::find_transport("shared"), {8}); });
  EXPECT_EQ(error.kind, ErrorKind::usage);
  EXPECT_THAT(error.text, HasSubstr("shared"));
}

TEST(ProbeAlone, NeedsASecondRank) {
  if (ranks() > 1) GTEST_SKIP() << "there is one";
  const Caught error = caught([] {
    proof::probe(communicator_with(), {.transport = transport::find_transport("mpi"),
                                       .memories = {Memory::host},
                                       .say = [](const std::string&) {}});
  });
  EXPECT_EQ(error.kind, ErrorKind::usage);
  EXPECT_THAT(error.text, HasSubstr("mpirun -n 2"));
}

}  // namespace
}  // namespace halocline::test

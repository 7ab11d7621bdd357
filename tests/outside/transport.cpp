// SPDX-License-Identifier: Apache-2.0
// Transports that Halocline does not know of: added to its table by another program, they pass the
// suite that all transports pass, and auto times them with the others.

#include "transport/transport.hpp"

#include <mpi.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/exchange.hpp>

#include "base/process/environment.hpp"
#include "comm/collectives.hpp"
#include "comm/gate.hpp"
#include "device/buffer.hpp"
#include "support/communicators.hpp"
#include "support/memories.hpp"
#include "support/ranks.hpp"
#include "transport/nvshmem/nvshmem.hpp"
#include "transport/nvshmem/put_channel.hpp"
#include "transport/peer/peer.hpp"

namespace halocline::test {
namespace {

using testing::Contains;
using testing::Field;
using transport::Message;
using transport::Slots;

/// A request for each piece of each message and exchange, in the host's memory.
class PlainChannel final : public transport::Channel {
 public:
  PlainChannel(const Communicator& communicator, std::vector<Message> messages)
      : communicator_(communicator),
        messages_(std::move(messages)),
        tag_(communicator.state().next_tag()) {
    for (const Message& message : messages_) {
      send_.push_back(device::allocate(Memory::host, bytes_of(message.send)));
      receive_.push_back(device::allocate(Memory::host, bytes_of(message.receive)));
    }
  }
  ~PlainChannel() override {
    bool open = false;
    for (std::size_t r = 0; r < requests_.size(); ++r) {
      if (requests_[r] == MPI_REQUEST_NULL) continue;
      open = true;
      if (r < receives_) MPI_Cancel(&requests_[r]);
      MPI_Request_free(&requests_[r]);
    }
    if (!open) return;
    // What is not sent yet is still to be read.
    comm::keep_for_mpi(std::make_shared<Memories>(std::move(send_)));
    comm::keep_for_mpi(std::make_shared<Memories>(std::move(receive_)));
  }

  Slots send_slots(std::size_t message) override { return slots(send_[message]); }
  Slots receive_slots(std::size_t message) override { return slots(receive_[message]); }

  void start(Stream) override {
    requests_.clear();
    for (std::size_t m = 0; m < messages_.size(); ++m)
      post(receive_[m], bytes_of(messages_[m].receive), messages_[m].peer, MPI_Irecv);
    receives_ = requests_.size();
    for (std::size_t m = 0; m < messages_.size(); ++m)
      post(send_[m], bytes_of(messages_[m].send), messages_[m].peer, MPI_Isend);
  }
  bool progress() override {
    int done = 0;
    MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE);
    return done != 0;
  }
  void finish(Stream) override {
    comm::wait_all(communicator_.state(), requests_,
                   {.site = "exchange, wait (plain)", .missing = [] { return "its peers"; }});
  }

 private:
  using Memories = std::vector<std::shared_ptr<void>>;
  static Slots slots(const std::shared_ptr<void>& memory) {
    auto* const bytes = static_cast<std::byte*>(memory.get());
    return {bytes, bytes};
  }
  template <class Post>
  void post(const std::shared_ptr<void>& memory, std::int64_t bytes, int peer, Post call) {
    const std::int64_t piece = communicator_.state().settings().piece_bytes;
    for (std::int64_t at = 0; at == 0 || at < bytes; at += piece)
      call(static_cast<std::byte*>(memory.get()) + at,
           static_cast<int>(std::min(piece, bytes - at)), MPI_BYTE, peer, tag_,
           communicator_.state().all(), &requests_.emplace_back(MPI_REQUEST_NULL));
  }

  Communicator communicator_;
  std::vector<Message> messages_;
  int tag_;
  Memories send_, receive_;
  std::vector<MPI_Request> requests_;
  std::size_t receives_ = 0;
};

class PlainTransport final : public transport::Transport {
 public:
  std::string_view name() const override { return "plain"; }
  std::optional<std::string> unavailable(transport::Pair, Memory fields) const override {
    if (fields == Memory::host) return std::nullopt;
    return "it is for the host's memory";
  }
  transport::Capabilities capabilities() const override {
    return {.carrier = transport::Carrier::host, .needs_progress = true};
  }
  std::unique_ptr<transport::Channel> open(const Communicator& communicator,
                                           std::vector<Message> messages, Memory) const override {
    return std::make_unique<PlainChannel>(communicator, std::move(messages));
  }
};

/// `peer` under another name: a second transport whose exchanges are work on a stream.
class SecondPeerTransport final : public transport::Transport {
 public:
  std::string_view name() const override { return "second_peer"; }
  std::optional<std::string> missing_here() const override { return peer_.missing_here(); }
  std::optional<std::string> unavailable(transport::Pair pair, Memory fields) const override {
    return peer_.unavailable(pair, fields);
  }
  bool is_for_auto(Memory fields) const override { return peer_.is_for_auto(fields); }
  transport::Capabilities capabilities() const override { return peer_.capabilities(); }
  std::unique_ptr<transport::Channel> open(const Communicator& communicator,
                                           std::vector<Message> messages,
                                           Memory fields) const override {
    return peer_.open(communicator, std::move(messages), fields);
  }

 private:
  transport::PeerTransport peer_;
};

/// `nvshmem` as it is where kernels do not reach other ranks.
class PutTransport final : public transport::Transport {
 public:
  std::string_view name() const override { return "put"; }
  std::optional<std::string> missing_here() const override { return nvshmem_.missing_here(); }
  std::optional<std::string> unavailable(transport::Pair pair, Memory fields) const override {
    return nvshmem_.unavailable(pair, fields);
  }
  bool is_for_auto(Memory fields) const override { return nvshmem_.is_for_auto(fields); }
  transport::Capabilities capabilities() const override { return nvshmem_.capabilities(); }
  std::unique_ptr<transport::Channel> open(const Communicator& communicator,
                                           std::vector<Message> messages,
                                           Memory fields) const override {
    return transport::nvshmem::open_put_channel(communicator, std::move(messages), fields);
  }

 private:
  transport::NvshmemTransport nvshmem_;
};

// Before the suite in test_transports.cpp asks for the table.
const bool transports_are_added = [] {
  static const PlainTransport plain;
  static const SecondPeerTransport second_peer;
  transport::add_transport(plain);
  transport::add_transport(second_peer);
  static const PutTransport put;
  transport::add_transport(put);
  return true;
}();

/// What auto timed and took for slabs of such fields, of 256 KiB in each halo.
ExchangeInfo exchange_by_auto(Memory memory) {
  const Communicator& world = communicator_with();
  const Grid grid(world, {.cells = {32768, 8 * ranks()}, .process_grid = {1, ranks()}});
  const halocline::Field<double> field(grid, {.name = "u", .halo = 1, .memory = memory});
  Exchange exchange(world, grid, {field});
  exchange.run();
  return exchange.info();
}

TEST(OutsideTransport, PutsAreNotDoneBeforeThoseOfTheOtherRankHaveCome) {
  NEED_GPU();
  if (ranks() != 2) GTEST_SKIP() << "this is for 2 ranks";
  if (const std::string order = environment("CUDA_ON_CPU_ORDER").value_or("");
      !order.empty() && order != "thread")
    GTEST_SKIP() << "the emulated GPU waits inside a call of the host";
  const Communicator& world = communicator_with({.wait_limit = wait_limit});
  const PutTransport put;
  if (const auto why = put.missing_here()) GTEST_SKIP() << *why;
  const std::unique_ptr<transport::Channel> channel = put.open(world,
                                                               {{.peer = 1 - rank(),
                                                                 .send = {{nullptr, 64}},
                                                                 .receive = {{nullptr, 64}},
                                                                 .label = "64 bytes"}},
                                                               Memory::device);
  for (int epoch = 0; epoch < 2; ++epoch) {
    if (rank() == 0) {
      channel->start(Stream::host());
      EXPECT_FALSE(channel->progress()) << "rank 1 has not begun";
    }
    comm::barrier(world);
    if (rank() == 1) channel->start(Stream::host());
    channel->finish(Stream::host());
    EXPECT_TRUE(channel->progress());
    comm::barrier(world);
  }
}

TEST(OutsideTransport, IsTimedByAutoOnTheHost) {
  ASSERT_TRUE(transports_are_added);
  if (ranks() == 1) GTEST_SKIP() << "there is no message with one rank";
  const ExchangeInfo info = exchange_by_auto(Memory::host);
  // Ranks that share cores are not timed.
  if (info.races.empty()) GTEST_SKIP() << "ranks share cores";
  EXPECT_THAT(info.races, Contains(Field(&ExchangeInfo::Race::transport, "plain")));
}

TEST(OutsideTransport, IsTimedByAutoOnAStream) {
  NEED_GPU();
  if (ranks() == 1) GTEST_SKIP() << "there is no message with one rank";
  const ExchangeInfo info = exchange_by_auto(Memory::device);
  if (info.races.empty()) GTEST_SKIP() << "ranks share a GPU, where auto leaves kernels out";
  std::vector<std::string> timed;
  for (const ExchangeInfo::Race& race : info.races) {
    EXPECT_GT(race.microseconds, 0);
    timed.push_back(race.transport);
  }
  // Those that keep the host in every exchange are not in this race.
  EXPECT_THAT(timed, testing::ElementsAre("peer", "second_peer"));
}

}  // namespace
}  // namespace halocline::test

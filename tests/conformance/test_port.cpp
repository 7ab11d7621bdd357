// SPDX-License-Identifier: Apache-2.0
// The device port as a kernel uses it: stores into the neighbour's window, raises its flag, waits
// for its own. Over the transport whose memory the host can reach.

#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <halocline/communicator.hpp>

#include "comm/collectives.hpp"
#include "device/port.hpp"
#include "support/communicators.hpp"
#include "support/payload.hpp"
#include "support/port_kernel.hpp"
#include "support/ranks.hpp"
#include "transport/transport.hpp"

namespace halocline::test {
namespace {

using transport::Channel;
using transport::Message;

/// Every other rank of the node, with a size that only this pair has.
std::vector<Message> all_to_all(int me, int ranks) {
  const auto bytes = [](int from, int to) { return std::int64_t{8} + 61 * from + 13 * to; };
  std::vector<Message> messages;
  for (int peer = 0; peer < ranks; ++peer)
    if (peer != me)
      messages.push_back({.peer = peer,
                          .send = {{nullptr, bytes(me, peer)}},
                          .receive = {{nullptr, bytes(peer, me)}},
                          .label = "a test's words"});
  return messages;
}

class Port : public testing::Test {
 protected:
  Port()
      : messages_(all_to_all(rank(), ranks())),
        channel_(transport::find_transport("shared").open(communicator_, messages_, Memory::host)),
        kernel_(rank(), *channel_, messages_) {}

  const Communicator& communicator_ = communicator_with();
  const std::vector<Message> messages_;
  const std::unique_ptr<Channel> channel_;
  PortKernel kernel_;
};

TEST_F(Port, HasOnePeerPerMessage) {
  const device::DevicePort* port = channel_->port();
  ASSERT_NE(port, nullptr);
  ASSERT_EQ(port->peer_count, ranks() - 1);
  EXPECT_EQ(*port->epoch, 0u);
  for (int p = 0; p < port->peer_count; ++p) {
    const auto m = static_cast<std::size_t>(p);
    const transport::Slots send = channel_->send_slots(m), receive = channel_->receive_slots(m);
    EXPECT_EQ(port->peers[p].window[0], send.even);
    EXPECT_EQ(port->peers[p].window[1], send.odd);
    EXPECT_NE(send.even, send.odd);
    EXPECT_NE(receive.even, receive.odd);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(port->peers[p].raise) % 8, 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(port->peers[p].raised) % 8, 0u);
    EXPECT_EQ(*port->peers[p].raised, 0u);
  }
}

TEST_F(Port, BearsSkewedRanks) {
  for (int epoch = 0; epoch < 24; ++epoch) {
    const bool mine = epoch / 2 % ranks() == rank();
    if (mine && epoch % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    kernel_.push();
    if (mine && epoch % 2 != 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    kernel_.pull();
  }
}

// A kernel that is one epoch ahead must not disturb what its slower neighbour still reads.
TEST_F(Port, LeavesTheLastEpochReadableWhileTheNextIsWritten) {
  for (int epoch = 0; epoch < 50; ++epoch) {
    kernel_.push();
    comm::barrier(communicator_);
    EXPECT_TRUE(kernel_.pull());
    EXPECT_TRUE(kernel_.pull()) << "looked at again";
    comm::barrier(communicator_);
  }
}

TEST_F(Port, SharesItsEpochWithTheHost) {
  for (int round = 0; round < 20; ++round) {
    kernel_.push();
    kernel_.pull();
    // The channel's own start and finish go on where the kernel stopped.
    for (std::size_t m = 0; m < messages_.size(); ++m) {
      const std::uint64_t next = *channel_->port()->epoch + 1;
      const transport::Slots slots = channel_->send_slots(m);
      const auto bytes = static_cast<std::size_t>(transport::bytes_of(messages_[m].send));
      write_payload({next % 2 == 0 ? slots.even : slots.odd, bytes},
                    {rank(), messages_[m].peer, 0, next});
    }
    channel_->start(Stream::host());
    channel_->finish(Stream::host());
    EXPECT_TRUE(kernel_.pull());
  }
  EXPECT_EQ(*channel_->port()->epoch, 40u);
}

}  // namespace
}  // namespace halocline::test

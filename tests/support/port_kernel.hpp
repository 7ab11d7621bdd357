// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a kernel does with a channel's port, on the host.

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "device/port.hpp"
#include "support/payload.hpp"
#include "transport/transport.hpp"

namespace halocline::test {

/// Runs epochs with nothing but the port's plain data and this rank's receive slots.
class PortKernel {
 public:
  PortKernel(int rank, transport::Channel& channel, std::vector<transport::Message> messages)
      : rank_(rank), channel_(channel), port_(*channel.port()), messages_(std::move(messages)) {}

  /// Stores into every neighbour's window and tells it.
  void push() {
    const std::uint64_t epoch = ++*port_.epoch;
    for (std::size_t m = 0; m < messages_.size(); ++m) {
      const device::PortPeer& peer = port_.peers[m];
      const auto bytes = static_cast<std::size_t>(transport::bytes_of(messages_[m].send));
      write_payload({peer.window[epoch % 2], bytes}, {rank_, messages_[m].peer, 0, epoch});
      device::raise(peer.raise, epoch);
    }
  }

  /// Waits for every neighbour and looks at what it stored; false if that is wrong.
  bool pull() const {
    const std::uint64_t epoch = *port_.epoch;
    bool right = true;
    for (std::size_t m = 0; m < messages_.size(); ++m) {
      for (int turn = 1; !device::reached(port_.peers[m].raised, epoch); ++turn) give_way(turn);
      const transport::Slots slots = channel_.receive_slots(m);
      const auto bytes = static_cast<std::size_t>(transport::bytes_of(messages_[m].receive));
      const auto held = holds_payload({epoch % 2 == 0 ? slots.even : slots.odd, bytes},
                                      {messages_[m].peer, rank_, 0, epoch});
      EXPECT_TRUE(held);
      right &= static_cast<bool>(held);
    }
    return right;
  }

 private:
  /// Ranks may outnumber cores, and a yield alone does not always serve other processes.
  static void give_way(int turn) {
    if (turn % 100 == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(1));
    else
      std::this_thread::yield();
  }

  int rank_;
  transport::Channel& channel_;
  const device::DevicePort& port_;
  std::vector<transport::Message> messages_;
};

}  // namespace halocline::test

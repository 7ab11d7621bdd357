// SPDX-License-Identifier: Apache-2.0
// The protocol of device/port.hpp between threads, on plain memory: the order of its stores is
// right or a thread sanitizer says what is not.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>

#include <gtest/gtest.h>

#include "device/port.hpp"

namespace halocline::test {
namespace {

// Whole words, since a thread sanitizer remembers too few accesses to single bytes of one word to
// see that two threads race for it.
using Word = std::uint64_t;
using Window = std::array<Word, 4>;

Word word_from(int sender, std::uint64_t epoch, std::size_t index) {
  return epoch * 0x9E3779B97F4A7C15u + 2 * index + static_cast<Word>(sender);
}

/// What a rank lets its neighbour store into.
struct Mailbox {
  std::array<Window, 2> windows{};
  alignas(64) std::uint64_t flag = 0;
};

struct Side {
  int rank;
  device::PortPeer peer;
  const Mailbox* own;
  std::uint64_t epoch = 0;
  std::uint64_t wrong_words = 0;
};

Side side_of(int rank, Mailbox& own, Mailbox& others) {
  return {.rank = rank,
          .peer = {.window = {reinterpret_cast<std::byte*>(&others.windows[0]),
                              reinterpret_cast<std::byte*>(&others.windows[1])},
                   .raise = &others.flag,
                   .raised = &own.flag},
          .own = &own};
}

void give_way(int turn) {
  if (turn % 100 == 0)
    std::this_thread::sleep_for(std::chrono::microseconds(1));
  else
    std::this_thread::yield();
}

void run_epoch(Side& side) {
  const std::uint64_t epoch = ++side.epoch;
  auto& theirs = *reinterpret_cast<Window*>(side.peer.window[epoch % 2]);
  for (std::size_t i = 0; i < theirs.size(); ++i) theirs[i] = word_from(side.rank, epoch, i);
  device::raise(side.peer.raise, epoch);

  for (int turn = 1; !device::reached(side.peer.raised, epoch); ++turn) give_way(turn);
  const Window& mine = side.own->windows[epoch % 2];
  for (std::size_t i = 0; i < mine.size(); ++i)
    side.wrong_words += mine[i] == word_from(1 - side.rank, epoch, i) ? 0 : 1;
}

void run_epochs(Side& side, std::uint64_t count) {
  while (side.epoch < count) run_epoch(side);
}

TEST(PortThreads, CarryAHundredThousandEpochs) {
  constexpr std::uint64_t epochs = 100'000;
  std::array<Mailbox, 2> mailboxes;
  Side here = side_of(0, mailboxes[0], mailboxes[1]);
  Side there = side_of(1, mailboxes[1], mailboxes[0]);
  std::thread neighbour([&] { run_epochs(there, epochs); });
  run_epochs(here, epochs);
  neighbour.join();
  EXPECT_EQ(here.wrong_words, 0u);
  EXPECT_EQ(there.wrong_words, 0u);
  EXPECT_EQ(mailboxes[0].flag, epochs);
  EXPECT_EQ(mailboxes[1].flag, epochs);
}

TEST(PortThreads, SeeAFlagThatIsAheadAsReached) {
  std::uint64_t flag = 0;
  EXPECT_TRUE(device::reached(&flag, 0));
  EXPECT_FALSE(device::reached(&flag, 1));
  device::raise(&flag, 5);
  EXPECT_TRUE(device::reached(&flag, 4));
  EXPECT_TRUE(device::reached(&flag, 5));
  EXPECT_FALSE(device::reached(&flag, 6));
}

}  // namespace
}  // namespace halocline::test

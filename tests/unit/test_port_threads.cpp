// The protocol of device/port.hpp between threads, on plain memory: the order of its stores is
// right or a thread sanitizer says what is not.

#include <array>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "device/port.hpp"
#include "support/payload.hpp"

namespace halocline::test {
namespace {

constexpr std::size_t window_bytes = 24;

/// What a rank lets its neighbour store into.
struct Mailbox {
  std::array<std::array<std::byte, window_bytes>, 2> windows{};
  alignas(64) std::uint64_t flag = 0;
};

struct Side {
  int rank;
  device::PortPeer peer;
  const Mailbox* own;
  std::uint64_t epoch = 0;
  std::uint64_t wrong_epochs = 0;
};

void give_way(int turn) {
  if (turn % 100 == 0)
    std::this_thread::sleep_for(std::chrono::microseconds(1));
  else
    std::this_thread::yield();
}

void run_epochs(Side& side, std::uint64_t count) {
  const int other = 1 - side.rank;
  while (side.epoch < count) {
    const std::uint64_t epoch = ++side.epoch;
    write_payload({side.peer.window[epoch % 2], window_bytes}, {side.rank, other, 0, epoch});
    device::raise(side.peer.raise, epoch);
    for (int turn = 1; !device::reached(side.peer.raised, epoch); ++turn) give_way(turn);
    if (!is_payload(side.own->windows[epoch % 2], {other, side.rank, 0, epoch}))
      ++side.wrong_epochs;
  }
}

Side side_of(int rank, Mailbox& own, Mailbox& others) {
  return {.rank = rank,
          .peer = {.window = {others.windows[0].data(), others.windows[1].data()},
                   .raise = &others.flag,
                   .raised = &own.flag},
          .own = &own};
}

TEST(PortThreads, CarryAHundredThousandEpochs) {
  constexpr std::uint64_t epochs = 100'000;
  std::array<Mailbox, 2> mailboxes;
  Side here = side_of(0, mailboxes[0], mailboxes[1]);
  Side there = side_of(1, mailboxes[1], mailboxes[0]);
  std::thread neighbour([&] { run_epochs(there, epochs); });
  run_epochs(here, epochs);
  neighbour.join();
  EXPECT_EQ(here.wrong_epochs, 0u);
  EXPECT_EQ(there.wrong_epochs, 0u);
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

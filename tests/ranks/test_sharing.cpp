// SPDX-License-Identifier: Apache-2.0
// GPUs' memory shared between ranks, by CUDA's handles or by file descriptors.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/error.hpp>
#include <halocline/exchange.hpp>
#include <halocline/solver.hpp>

#include "comm/collectives.hpp"
#include "device/buffer.hpp"
#include "device/queue.hpp"
#include "device/sharing.hpp"
#include "link/window.hpp"
#include "support/caught.hpp"
#include "support/communicators.hpp"
#include "support/exchange_case.hpp"
#include "support/exchange_cases.hpp"
#include "support/memories.hpp"
#include "support/ranks.hpp"

namespace halocline::test {
namespace {

using link::Window;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// How memory is shared in a test; afterwards as before.
class Sharing : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (not_testable(transport::find_transport("peer"), Memory::device)) need_gpu();
    if (const auto why = not_testable(transport::find_transport("peer"), Memory::device); why)
      GTEST_SKIP() << *why;
    if (by_descriptors()) device::share_by_descriptors("a test wants it so");
  }
  void TearDown() override {
    if (by_descriptors()) device::share_by_handles();
  }
  bool by_descriptors() const { return GetParam() == std::string("Descriptors"); }
  /// All ranks but this one.
  static std::vector<int> others() {
    std::vector<int> list;
    for (int other = 0; other < ranks(); ++other)
      if (other != rank()) list.push_back(other);
    return list;
  }
};

INSTANTIATE_TEST_SUITE_P(By, Sharing, testing::Values("Handles", "Descriptors"),
                         [](const testing::TestParamInfo<const char*>& instance) {
                           return std::string(instance.param);
                         });

std::vector<int> numbers(int from, int to) {
  std::vector<int> list;
  for (int i = 0; i < 100; ++i) list.push_back(10'000 * from + 100 * to + i);
  return list;
}

/// Every rank stores into every other's window, and finds there what all others stored.
void expect_reach(Window& window, const std::vector<int>& peers) {
  constexpr auto bytes = static_cast<std::int64_t>(100 * sizeof(int));
  for (std::size_t p = 0; p < peers.size(); ++p)
    device::copy(window.of(p) + window.offsets_of(p)[0], numbers(rank(), peers[p]).data(), bytes,
                 Stream::host());
  comm::barrier(communicator_with());
  std::vector<int> found(100);
  for (std::size_t p = 0; p < peers.size(); ++p) {
    device::copy(found.data(), window.mine() + static_cast<std::int64_t>(p) * bytes, bytes,
                 Stream::host());
    EXPECT_EQ(found, numbers(peers[p], rank()));
  }
}

std::vector<Window::Offsets> offsets_for(std::size_t peers) {
  std::vector<Window::Offsets> offsets;
  for (std::size_t p = 0; p < peers; ++p)
    offsets.push_back({static_cast<std::int64_t>(p * 100 * sizeof(int)), 0, 0});
  return offsets;
}

TEST_P(Sharing, LetsEveryRankStoreIntoEveryOthersWindow) {
  const std::vector<int> peers = others();
  for (int time = 0; time < 3; ++time) {
    Window window(communicator_with(),
                  static_cast<std::int64_t>((peers.size() + 1) * 100 * sizeof(int)), peers,
                  offsets_for(peers.size()));
    expect_reach(window, peers);
  }
  EXPECT_TRUE(all_well());
}

TEST_P(Sharing, TakesMemoryThatIsThere) {
  const std::vector<int> peers = others();
  const auto memory = device::allocate_to_share(
      Memory::device, static_cast<std::int64_t>((peers.size() + 1) * 100 * sizeof(int)));
  Window window(communicator_with(), memory, peers, offsets_for(peers.size()));
  expect_reach(window, peers);
  EXPECT_TRUE(all_well());
}

/// GPUs of ranks that have not seen the error yet may still store to it.
TEST_P(Sharing, HoldsMemoryThatIsThereWhileAnErrorUnwindsTheStack) {
  const std::vector<int> peers = others();
  const auto forgotten_after = [&](bool with_error) {
    auto memory = device::allocate_to_share(
        Memory::device, static_cast<std::int64_t>((peers.size() + 1) * 100 * sizeof(int)));
    const std::weak_ptr<void> watched = memory;
    try {
      const Window window(communicator_with(), std::move(memory), peers, offsets_for(peers.size()));
      if (with_error) throw Error(ErrorKind::resource, "a disk is full");
    } catch (const Error&) {
    }
    return watched.expired();
  };
  EXPECT_TRUE(forgotten_after(false));
  EXPECT_FALSE(forgotten_after(true));
  EXPECT_TRUE(all_well());
}

TEST_P(Sharing, IsSettledBeforeMemoryIsMade) {
  link::agree_on_sharing(communicator_with());
  EXPECT_EQ(device::descriptors_because().empty(), !by_descriptors());
}

TEST_P(Sharing, TellsARankWithoutMemoryToAll) {
  const std::int64_t bytes = std::int64_t{1} << (rank() == ranks() - 1 ? 50 : 10);
  const Caught error =
      caught([&] { Window(communicator_with(), bytes, others(), offsets_for(others().size())); });
  EXPECT_THAT(error, says(ErrorKind::resource, "could not allocate ", "of device memory"));
  // And all go on.
  Window window(communicator_with(), std::int64_t{4096}, others(), offsets_for(others().size()));
  EXPECT_EQ(device::descriptors_because().empty(), !by_descriptors());
}

TEST_P(Sharing, TellsMemoryThatCannotBeSharedToAll) {
  if (ranks() == 1) GTEST_SKIP() << "nobody to share with";
  const auto memory = device::allocate(rank() == 1 ? Memory::pinned : Memory::device, 4096);
  EXPECT_THAT(
      caught([&] { Window(communicator_with(), memory, others(), offsets_for(others().size())); }),
      says(ErrorKind::unavailable, "rank 1 cannot share its GPU's memory",
           "use transport staged, or auto"));
}

TEST_P(Sharing, CarriesExchanges) {
  for (const int axes : {1, 3}) {
    ExchangeCase c = case_along_last_axis(axes);
    c.memory = Memory::device;
    c.exchange.transport = ranks() == 1 ? "auto" : "peer";
    if (!run(c)) return;
    const Grid grid(rank(), ranks(), c.grid);
    const std::vector<CheckedField> fields = make_fields(grid, c);
    const Exchange exchange(communicator_with(), grid, list_of(fields), c.exchange);
    const auto says_descriptors = Contains(
        "the GPUs' memory is shared by file descriptors, not by CUDA's handles: a test wants it "
        "so");
    if (by_descriptors() && ranks() > 1)
      EXPECT_THAT(exchange.info().notes, says_descriptors);
    else
      EXPECT_THAT(exchange.info().notes, testing::IsEmpty());
  }
}

TEST_P(Sharing, LetsSweepsStoreIntoNeighboursLevels) {
  if (ranks() == 1) GTEST_SKIP() << "one rank has no neighbours";
  SolveOptions options;
  options.problem = "laplace";
  options.cells = {{64, 96}};
  options.sweeps = 40;
  options.tolerance = 0;
  options.backend = "cpu";
  const std::uint64_t expected = solve(communicator_with(), options).checksum;
  options.backend = "cuda";
  options.transport = "peer";
  // Fused, where every rank has a GPU of its own.
  for (const char* schedule : {"auto", "sequential"}) {
    options.schedule = schedule;
    const SolveResult result = solve(communicator_with(), options);
    EXPECT_EQ(result.checksum, expected) << result.schedule;
    const auto says_descriptors = Contains(HasSubstr("shared by file descriptors"));
    if (by_descriptors())
      EXPECT_THAT(result.notes, says_descriptors);
    else
      EXPECT_THAT(result.notes, Not(says_descriptors));
  }
}

}  // namespace
}  // namespace halocline::test

// SPDX-License-Identifier: Apache-2.0
// Exchanges between GPUs of one node whose kernels store into each other's memory: ranks of
// different speed, several plans at once, graphs; and GPUs that wait in vain.

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/error.hpp>
#include <halocline/exchange.hpp>

#include "base/process/environment.hpp"
#include "device/gpu.hpp"
#include "device/graph.hpp"
#include "support/caught.hpp"
#include "support/communicators.hpp"
#include "support/exchange_case.hpp"
#include "support/exchange_cases.hpp"
#include "support/memories.hpp"
#include "support/random.hpp"
#include "support/ranks.hpp"

namespace halocline::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// HALOCLINE_EPOCHS; or more than 2^16, but where GPUs are emulated as many as take some seconds.
std::int64_t many_epochs() {
  if (const auto text = environment("HALOCLINE_EPOCHS")) return std::stoll(*text);
  return device::gpus().list.front().name == "CUDA on CPU" ? 300 : 70'000;
}

/// Nothing most of the time; another one on each rank, the same again with the same seed.
class Delays {
 public:
  explicit Delays(std::uint64_t number) : random_(100 * number + static_cast<unsigned>(rank())) {}
  void delay() {
    if (random_.once_in(5))
      std::this_thread::sleep_for(std::chrono::microseconds(random_.between(1, 2'000)));
  }

 private:
  Random random_;
};

/// Parts along the last axis, with messages of several chunks.
ExchangeCase case_with_chunks(const HaloWidths& halo, bool periodic) {
  ExchangeCase c;
  c.grid = {.cells = {33, 31, 3 * ranks() + 1},
            .periodic = {false, false, periodic},
            .process_grid = {1, 1, ranks()}};
  c.fields = {{.halo = halo}, {.element = Element::i8, .halo = halo}};
  c.memory = Memory::device;
  c.exchange.transport = "peer";
  return c;
}

HaloWidths lower_only() {
  HaloWidths halo = 0;
  halo.lower[2] = 2;
  return halo;
}

class Peer : public testing::Test {
 protected:
  void SetUp() override { need_gpu(); }
};

// Steps queued one after another, at once and in two halves, by hosts that are late at random. A
// fast rank must neither pass a slow one nor write what it still reads.
TEST_F(Peer, BearsRanksOfDifferentSpeed) {
  for (const bool periodic : {false, true})
    for (const HaloWidths& halo : {HaloWidths(1), lower_only()}) {
      ExchangeCase c = case_with_chunks(halo, periodic);
      SCOPED_TRACE(describe(c) + "; " + how_to_repeat(periodic));
      Delays delays(periodic);
      const Grid grid(rank(), ranks(), c.grid);
      std::vector<CheckedField> fields = make_fields(grid, c);
      Exchange exchange(communicator_with(), grid, list_of(fields), c.exchange);
      const device::OwnedStream stream;
      for (int round = 0; round < 3; ++round) {
        for (int step = 0; step < 8; ++step) {
          for (CheckedField& field : fields) field.fill(step, stream.get());
          delays.delay();
          if ((step + round) % 3 == 0) {
            exchange.run(stream.get());
          } else {
            exchange.start(stream.get());
            delays.delay();
            exchange.finish(stream.get());
          }
          for (CheckedField& field : fields) field.note(stream.get());
          if (step == 3) delays.delay();
        }
        device::synchronize(stream.get());
        for (CheckedField& field : fields) EXPECT_TRUE(field.noted_are_exchanged(c.exchange));
      }
      if (!all_well()) return;
    }
}

TEST_F(Peer, KeepsPlansApartThatFinishInAnyOrder) {
  ExchangeCase c = case_with_chunks(2, true);
  c.fields = {{}, {.halo = lower_only()}, {.element = Element::f32, .components = 2}};
  SCOPED_TRACE(how_to_repeat(7));
  const Grid grid(rank(), ranks(), c.grid);
  std::vector<CheckedField> fields = make_fields(grid, c);
  const std::size_t count = fields.size();
  std::vector<Exchange> exchanges;
  for (const CheckedField& field : fields)
    exchanges.emplace_back(communicator_with(), grid, FieldList{field.storage()}, c.exchange);
  const device::OwnedStream stream;
  Random random(static_cast<std::uint64_t>(rank()));
  Delays delays(7);
  for (int step = 0; step < 8; ++step) {
    const auto first = static_cast<std::size_t>(random.between(0, 2)),
               last = static_cast<std::size_t>(random.between(0, 2));
    for (std::size_t i = 0; i < count; ++i) {
      fields[(first + i) % count].fill(step, stream.get());
      exchanges[(first + i) % count].start(stream.get());
    }
    delays.delay();
    for (std::size_t i = 0; i < count; ++i) {
      exchanges[(last + 2 * i) % count].finish(stream.get());
      fields[(last + 2 * i) % count].note(stream.get());
    }
  }
  device::synchronize(stream.get());
  for (CheckedField& field : fields) EXPECT_TRUE(field.noted_are_exchanged(c.exchange));
}

// Three exchanges in a graph, so that data of each kind goes through both slots; epochs are
// counted on, whoever replays.
TEST_F(Peer, IsReplayedFromAGraph) {
  constexpr int steps = 3, replays_until_look = 50;
  ExchangeCase c = case_along_last_axis(2);
  c.exchange.transport = ranks() > 1 ? "peer" : "auto";
  c.memory = Memory::device;
  const Grid grid(rank(), ranks(), c.grid);
  std::vector<CheckedField> fields = make_fields(grid, c);
  CheckedField& field = fields[0];
  const std::int64_t bytes = field.storage().allocated_bytes();
  Exchange exchange(communicator_with(), grid, list_of(fields), c.exchange);
  const device::OwnedStream stream;
  std::vector<Block> filled, seen;
  for (int step = 0; step < steps; ++step) {
    field.fill(step);
    for (auto* blocks : {&filled, &seen}) blocks->emplace_back(Memory::device, bytes);
    device::copy(filled.back().data(), field.storage().bytes(), bytes, stream.get());
    device::synchronize(stream.get());
  }
  const auto exchange_once = [&](std::size_t step) {
    device::copy(field.storage().bytes(), filled[step].data(), bytes, stream.get());
    exchange.run(stream.get());
    device::copy(seen[step].data(), field.storage().bytes(), bytes, stream.get());
  };
  const device::Graph graph = device::Graph::record(stream.get(), [&] {
    for (std::size_t step = 0; step < steps; ++step) exchange_once(step);
  });
  Delays delays(9);
  const std::int64_t replays = many_epochs() / steps;
  allow(std::chrono::seconds(60 + replays / 1'000));
  for (std::int64_t replay = 0; replay < replays; ++replay) {
    graph.launch(stream.get());
    if (replay % 7 == 3) exchange_once(0);  // between two, without the graph
    if (replay % replays_until_look != replays_until_look - 1) continue;
    delays.delay();
    device::synchronize(stream.get());
    for (int step = 0; step < steps; ++step) {
      field.fill(step);
      const Bytes content = seen[static_cast<std::size_t>(step)].content();
      device::copy(field.storage().bytes(), content.data(), bytes, Stream::host());
      EXPECT_TRUE(field.is_exchanged(c.exchange));
    }
    if (!all_well()) return;
  }
  device::synchronize(stream.get());
}

// GPUs that wait in vain.

constexpr std::chrono::duration<double> gpu_wait_limit{0.5};

class PeerWaiting : public Peer {
 protected:
  void SetUp() override {
    need_gpu();
    if (ranks() < 2) GTEST_SKIP() << "one rank waits for nobody";
  }
};

ExchangeCase case_in_a_row() {
  ExchangeCase c = case_along_last_axis(1);
  c.grid.periodic = {false, false, false};
  c.memory = Memory::device;
  c.exchange.transport = "peer";
  return c;
}

TEST_F(PeerWaiting, ForARankThatNeverStartsEndsWithItsName) {
  const Communicator communicator = Communicator::world({.wait_limit = gpu_wait_limit});
  const ExchangeCase c = case_in_a_row();
  const Grid grid(rank(), ranks(), c.grid);
  std::vector<CheckedField> fields = make_fields(grid, c);
  const device::OwnedStream stream;
  Exchange exchange(communicator, grid, list_of(fields), c.exchange);
  exchange.run(stream.get());
  device::synchronize(stream.get());
  agree(true);
  if (rank() != 0) {
    const auto since = std::chrono::steady_clock::now();
    const Caught error = caught([&] {
      exchange.run(stream.get());
      device::synchronize(stream.get());
      exchange.progress();
    });
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - since;
    if (rank() == 1) {
      EXPECT_EQ(error.kind, ErrorKind::communication);
      EXPECT_THAT(error.text, AllOf(HasSubstr("the GPU of rank 1 has waited 0.45 s"),
                                    HasSubstr(" for rank 0 (field 'a', direction -x)")));
      EXPECT_LT(time.count(), gpu_wait_limit.count() + 5);
    } else {
      EXPECT_EQ(error.text, "no error") << "its neighbours have started";
    }
    // Ended for good, not begun again.
    EXPECT_EQ(caught([&] { exchange.progress(); }).kind.has_value(), rank() == 1);
  }
  agree(true);
}

TEST_F(PeerWaiting, ForALateRankSucceedsWithinTheLimit) {
  const Communicator communicator = Communicator::world({.wait_limit = 4 * gpu_wait_limit});
  const ExchangeCase c = case_in_a_row();
  const Grid grid(rank(), ranks(), c.grid);
  std::vector<CheckedField> fields = make_fields(grid, c);
  Exchange exchange(communicator, grid, list_of(fields), c.exchange);
  const device::OwnedStream stream;
  fields[0].fill(1, stream.get());
  if (rank() == 0) std::this_thread::sleep_for(gpu_wait_limit);
  exchange.run(stream.get());
  device::synchronize(stream.get());
  EXPECT_TRUE(exchange.progress());
  EXPECT_TRUE(fields[0].is_exchanged(c.exchange));
}

}  // namespace
}  // namespace halocline::test

// SPDX-License-Identifier: Apache-2.0
// Exchanges of fields that a GPU reads, on a stream of it: the cases of test_exchange.cpp that
// have to do with memory, transports and order.

#include <chrono>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/error.hpp>
#include <halocline/exchange.hpp>

#include "device/graph.hpp"
#include "device/queue.hpp"
#include "support/block.hpp"
#include "support/caught.hpp"
#include "support/communicators.hpp"
#include "support/exchange_case.hpp"
#include "support/exchange_cases.hpp"
#include "support/memories.hpp"
#include "support/random.hpp"
#include "support/ranks.hpp"
#include "support/turns.hpp"

namespace halocline::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class GpuExchange : public testing::TestWithParam<Memory> {
 protected:
  Memory memory() const { return GetParam(); }

  /// Does `work` with each transport, in a small case and one with large messages, until one fails.
  template <class Work>
  void with_small_and_large(int axes, const Work& work);
};

/// Device memory, and by turns the others.
std::vector<Memory> tested_memories() {
  const std::vector<Memory> all = gpu_memories_here();
  std::vector<Memory> tested;
  for (std::size_t number = 0; number < all.size(); ++number)
    if (all[number] == Memory::device || has_turn(number)) tested.push_back(all[number]);
  return tested;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GpuExchange);
INSTANTIATE_TEST_SUITE_P(FieldsIn, GpuExchange, testing::ValuesIn(tested_memories()),
                         [](const testing::TestParamInfo<Memory>& instance) {
                           return std::string(name_of(instance.param));
                         });

TEST_P(GpuExchange, WorksOverEveryTransport) {
  for (const std::string& transport : transports_for(memory()))
    for (const int axes : {1, 2, 3}) {
      ExchangeCase c = case_along_last_axis(axes);
      c.memory = memory();
      c.fields.push_back({.element = Element::triple, .halo = 2});
      c.exchange.transport = transport;
      if (!run(c)) return;
    }
}

TEST_P(GpuExchange, MixesTransportsOverSeveralNodes) {
  for (const int ranks_per_node : {1, 2, 3})
    for (const std::string& transport : transports_for(memory())) {
      ExchangeCase c;
      c.grid = {.cells = {8, 9, 10}, .periodic = {true, true, false}};
      c.memory = memory();
      c.communicator.ranks_per_node = ranks_per_node;
      c.exchange.transport = transport;
      if (!run(c)) return;
    }
}

TEST_P(GpuExchange, TakesTheUsersMemoryInAnyOrder) {
  for (const char* order : {"xyzc", "cxyz", "zyxc", "yzxc"})
    for (const std::int64_t gap : {0, 2}) {
      ExchangeCase c = case_along_last_axis(3);
      c.memory = memory();
      c.fields = {
          {.element = Element::f32, .components = 2, .order_in_users_memory = order, .gap = gap},
          {.element = Element::i8, .order_in_users_memory = order, .gap = gap}};
      if (!run(c)) return;
    }
}

TEST_P(GpuExchange, SendsWhatIsContiguousFromItsPlace) {
  for (const std::string& transport : transports_for(memory()))
    for (const int axes : {1, 3}) {
      ExchangeCase c = case_along_last_axis(axes);
      HaloWidths halo = 0;
      halo.lower[axes - 1] = 2;
      halo.upper[axes - 1] = 1;
      c.memory = memory();
      c.fields[0] = {.components = 2, .halo = halo, .order_in_users_memory = "cxyz"};
      c.exchange.transport = transport;
      c.arrays = 3;
      if (!run(c)) return;
    }
}

TEST_P(GpuExchange, CutsMessagesIntoPieces) {
  for (const std::string& transport : transports_for(memory())) {
    ExchangeCase c;
    c.grid = {.cells = {8, 8, 8}, .periodic = {true, false, true}};
    c.memory = memory();
    c.fields = {{.element = Element::triple}, {.halo = {{0, 1, 2}, {2, 1, 0}}}};
    c.communicator.piece_bytes = 7;
    c.exchange.transport = transport;
    if (!run(c)) return;
  }
}

/// Messages that `staged` moves in several pieces, from and to slots in the GPU's memory.
ExchangeCase case_with_large_messages(Memory memory) {
  ExchangeCase c;
  c.grid = {.cells = {160, 150, 4 * ranks()},
            .periodic = {false, false, true},
            .process_grid = {1, 1, ranks()}};
  c.memory = memory;
  c.fields[0].halo = {{0, 0, 4}, {1, 1, 3}};
  c.communicator.piece_bytes = 300'000;
  c.steps = 2;
  return c;
}

template <class Work>
void GpuExchange::with_small_and_large(int axes, const Work& work) {
  for (const std::string& transport : transports_for(memory()))
    for (ExchangeCase c : {case_along_last_axis(axes), case_with_large_messages(memory())}) {
      const Communicator& communicator = communicator_with(c.communicator);
      c.memory = memory();
      c.exchange.transport = transport;
      SCOPED_TRACE(describe(c));
      const Grid grid(rank(), ranks(), c.grid);
      std::vector<CheckedField> fields = make_fields(grid, c);
      const auto make = [&] { return Exchange(communicator, grid, list_of(fields), c.exchange); };
      work(make, fields[0], c.exchange);
      if (!all_well()) return;
    }
}

TEST_P(GpuExchange, CarriesLargeMessages) {
  for (const std::string& transport : transports_for(memory())) {
    ExchangeCase c = case_with_large_messages(memory());
    c.arrays = 2;
    c.exchange.transport = transport;
    if (!run(c)) return;
  }
}

TEST_P(GpuExchange, IsTheHostsToPackWhereBothReach) {
  if (memory() == Memory::device) GTEST_SKIP() << "the host does not reach device memory";
  for (const std::string& transport : transports_for(memory()))
    for (ExchangeCase c : {case_along_last_axis(3), case_with_large_messages(memory())}) {
      c.memory = memory();
      c.by = ExchangeCase::By::host;
      c.exchange.transport = transport;
      if (!run(c)) return;
    }
}

/// The host writes fields, and reads their halos, between exchanges on a GPU's stream and on its
/// own: in device memory by copies, as a program does that has no stream to give.
TEST_P(GpuExchange, ServesHostAndGpuInTurn) {
  with_small_and_large(3, [](auto make, CheckedField& field, const ExchangeOptions& options) {
    Exchange exchange = make();
    const device::OwnedStream own_stream;
    for (int step = 0; step < 5; ++step) {
      const Stream stream = step % 3 == 1 ? own_stream.get() : Stream::host();
      field.fill(step, Stream::host());
      if (step < 3) {
        exchange.run(stream);
      } else {
        exchange.start(stream);
        exchange.progress();
        exchange.finish(stream);
      }
      device::synchronize(stream);
      EXPECT_TRUE(field.is_exchanged(options)) << "step " << step;
    }
  });
}

TEST_P(GpuExchange, FillsHalosInRandomCases) {
  for (std::uint64_t number = 0; number < (ranks() <= 4 ? 25 : 10); ++number) {
    const std::uint64_t own_number = 1000 * (1 + static_cast<std::uint64_t>(memory())) + number;
    SCOPED_TRACE(how_to_repeat(own_number));
    if (!run(random_case(own_number, memory()))) return;
  }
}

// Order.

/// Steps that follow each other in a stream, without a look between.
TEST_P(GpuExchange, IsOrderedByItsStream) {
  with_small_and_large(3, [](auto make, CheckedField& field, const ExchangeOptions& options) {
    Exchange exchange = make();
    const device::OwnedStream stream;
    for (int step = 0; step < 4; ++step) {
      field.fill(step, stream.get());
      exchange.start(stream.get());
      exchange.progress();
      exchange.finish(stream.get());
      field.note(stream.get());
    }
    device::synchronize(stream.get());
    EXPECT_TRUE(field.noted_are_exchanged(options));
  });
}

TEST_P(GpuExchange, MayBeInFlightWithOthersAndFinishInAnyOrder) {
  ExchangeCase c = case_with_large_messages(memory());
  const Communicator& communicator = communicator_with(c.communicator);
  c.fields = {{}, {.halo = 2}, {.element = Element::f32}, {.element = Element::i8}};
  const Grid grid(rank(), ranks(), c.grid);
  std::vector<CheckedField> fields = make_fields(grid, c);
  constexpr std::size_t count = 4;
  const std::vector<std::string> transports = transports_for(memory());
  std::vector<ExchangeOptions> options(count);
  std::vector<Exchange> exchanges;
  std::vector<device::OwnedStream> streams(count);
  for (std::size_t i = 0; i < count; ++i) {
    options[i].transport = transports[i % transports.size()];
    exchanges.emplace_back(communicator, grid, FieldList{fields[i].storage()}, options[i]);
  }
  for (std::size_t step = 0; step < 4; ++step) {
    const std::size_t shift = step + static_cast<std::size_t>(rank());
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t which = (i * 3 + shift) % count;
      fields[which].fill(static_cast<int>(step), streams[which].get());
      exchanges[which].start(streams[which].get());
    }
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t which = (i + shift / 2) % count;
      exchanges[which].finish(streams[which].get());
      fields[which].note(streams[which].get());
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    device::synchronize(streams[i].get());
    EXPECT_TRUE(fields[i].noted_are_exchanged(options[i]));
  }
}

TEST_P(GpuExchange, MayBeDestroyedInFlight) {
  with_small_and_large(2, [](auto make, CheckedField& field, const ExchangeOptions& options) {
    const device::OwnedStream stream;
    {
      Exchange exchange = make();
      field.fill(0, stream.get());
      exchange.start(stream.get());
    }
    device::synchronize(stream.get());
    field.fill(1, stream.get());
    make().run(stream.get());
    device::synchronize(stream.get());
    EXPECT_TRUE(field.is_exchanged(options));
  });
}

TEST_P(GpuExchange, GetsDoneByProgressAlone) {
  with_small_and_large(2, [](auto make, CheckedField& field, const ExchangeOptions& options) {
    Exchange exchange = make();
    const device::OwnedStream stream;
    field.fill(1, stream.get());
    exchange.start(stream.get());
    const auto end = std::chrono::steady_clock::now() + wait_limit;
    while (!exchange.progress() && std::chrono::steady_clock::now() < end) {
    }
    EXPECT_TRUE(exchange.progress());
    if (!all_well()) return;
    exchange.finish(stream.get());
    device::synchronize(stream.get());
    EXPECT_TRUE(field.is_exchanged(options));
  });
}

// Fields in memories of several kinds.

class GpuExchanges : public testing::Test {
 protected:
  void SetUp() override { need_gpu(); }
};

std::vector<CheckedField> fields_in(const Grid& grid, const std::vector<Memory>& memories) {
  std::vector<CheckedField> fields;
  for (const Memory memory : memories)
    fields.emplace_back(grid, FieldSpec{.memory = memory}, static_cast<int>(fields.size()));
  return fields;
}

TEST_F(GpuExchanges, TakeFieldsOfAllMemoriesThatOneSideReaches) {
  const Grid grid(rank(), ranks(), case_along_last_axis(3).grid);
  using enum Memory;
  const std::vector<std::vector<Memory>> mixtures[] = {
      {{device, pinned}, {managed, device}, {pinned, managed}, {pinned, device, managed}},
      {{host, pinned}, {managed, host}, {pinned, managed}}};
  for (const bool by_gpu : {true, false})
    for (const std::vector<Memory>& memories : mixtures[by_gpu ? 0 : 1]) {
      std::vector<CheckedField> fields = fields_in(grid, memories);
      const TestStream own_stream(by_gpu ? device : host);
      Exchange exchange(communicator_with(), grid, list_of(fields));
      for (int step = 0; step < 3; ++step) {
        for (CheckedField& field : fields) field.fill(step, own_stream.get());
        exchange.run(own_stream.get());
        device::synchronize(own_stream.get());
        for (const CheckedField& field : fields) EXPECT_TRUE(field.is_exchanged({}));
      }
      if (!all_well()) return;
    }
}

TEST_F(GpuExchanges, RefuseFieldsThatNobodyReachesTogether) {
  const Grid grid(rank(), ranks(), case_along_last_axis(3).grid);
  for (const std::vector<Memory>& memories :
       {std::vector{Memory::host, Memory::device},
        std::vector{Memory::device, Memory::pinned, Memory::host}}) {
    const std::vector<CheckedField> fields = fields_in(grid, memories);
    EXPECT_THAT(caught([&] { Exchange(communicator_with(), grid, list_of(fields)); }),
                says(ErrorKind::usage, "in host", "in device", "create one per kind of memory"));
  }
}

TEST_F(GpuExchanges, RefuseAStreamThatDoesNotReachTheFields) {
  const Grid grid(rank(), ranks(), case_along_last_axis(3).grid);
  const device::OwnedStream stream;
  std::vector<CheckedField> fields = fields_in(grid, {Memory::host});
  Exchange exchange(communicator_with(), grid, list_of(fields));
  EXPECT_THAT(caught([&] { exchange.start(stream.get()); }),
              says(ErrorKind::usage, "need the host's stream"));
  // It has not been started.
  fields[0].fill(0, Stream::host());
  exchange.run();
  EXPECT_TRUE(fields[0].is_exchanged({}));
}

TEST_F(GpuExchanges, RefuseArraysThatTheirWordsDoNotFit) {
  const Grid grid(rank(), ranks(), case_along_last_axis(3).grid);
  const device::OwnedStream stream;
  const Block memory(Memory::device, 1 << 16);
  const FieldOptions in_memory{.memory = Memory::device};
  const Field<double> like(grid, in_memory);
  auto* const first = reinterpret_cast<double*>(memory.data() + (1 << 15));
  const auto at = [&](std::int64_t doubles) {
    return Field<double>(grid, first + doubles, like.strides(), in_memory);
  };
  const Field<double> planned = at(0), apart = at(1), further = at(2);
  Exchange exchange(communicator_with(), grid, {planned});
  exchange.run({further}, stream.get());
  EXPECT_THAT(caught([&] { exchange.run({apart}, stream.get()); }),
              says(ErrorKind::usage, "8 bytes beyond a multiple of 16, the plan's field 0"));
  const std::vector<Field<double>> many(33, like);
  std::vector<Field<double>> own;
  for (std::size_t f = 0; f < many.size(); ++f) own.emplace_back(grid, in_memory);
  Exchange of_many(communicator_with(), grid, {own.begin(), own.end()});
  of_many.run(stream.get());
  EXPECT_THAT(caught([&] {
                of_many.run({many.begin(), many.end()}, stream.get());
              }),
              says(ErrorKind::usage, "33 fields", "32 at most"));
  device::synchronize(stream.get());
}

TEST_F(GpuExchanges, NameATransportThatCannotServeTheMemory) {
  if (ranks() < 2) GTEST_SKIP() << "one rank copies inside itself";
  const Grid grid(rank(), ranks(), case_along_last_axis(3).grid);
  const auto error_of = [&](Memory memory, const char* transport) {
    const std::vector<CheckedField> fields = fields_in(grid, {memory});
    return caught(
        [&] { Exchange(communicator_with(), grid, list_of(fields), {.transport = transport}); });
  };
  for (const auto& [memory, transport] :
       {std::pair{Memory::device, "mpi"}, std::pair{Memory::device, "shared"},
        std::pair{Memory::host, "staged"}, std::pair{Memory::pinned, "gpu_aware"}}) {
    const Caught error = error_of(memory, transport);
    EXPECT_THAT(error, says(ErrorKind::unavailable, std::string("transport ") + transport,
                            std::string("in ") + std::string(name_of(memory))));
  }
}

TEST_F(GpuExchanges, AreNotRecordedWhereTheHostHasAPart) {
  if (ranks() < 2) GTEST_SKIP() << "one rank copies inside itself";
  const Grid grid(rank(), ranks(), case_along_last_axis(3).grid);
  const std::vector<CheckedField> fields = fields_in(grid, {Memory::device});
  Exchange exchange(communicator_with(), grid, list_of(fields), {.transport = "staged"});
  const device::OwnedStream stream;
  EXPECT_THAT(
      caught([&] { device::Graph::record(stream.get(), [&] { exchange.run(stream.get()); }); }),
      says(ErrorKind::usage, "no CUDA graph can record", "same-node=staged", "'peer'"));
  exchange.run(stream.get());
  device::synchronize(stream.get());
}

TEST_F(GpuExchanges, LeaveOutKernelsThatTakeTurns) {
  if (ranks() < 2) GTEST_SKIP() << "one rank copies inside itself";
  const Grid grid(rank(), ranks(), case_along_last_axis(3).grid);
  const std::vector<CheckedField> fields = fields_in(grid, {Memory::device});
  if (not_testable(transport::find_transport("peer"), Memory::device))
    GTEST_SKIP() << "kernels do not reach other ranks' memory here";
  const auto info_with = [&](const char* transport) {
    return Exchange(communicator_with(), grid, list_of(fields), {.transport = transport}).info();
  };
  const char* const before = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  const std::string mps = before != nullptr ? before : "";
  ::setenv("CUDA_MPS_PIPE_DIRECTORY", "/there/is/no/mps", 1);
  const ExchangeInfo left = info_with("auto"), asked_for = info_with("same-node=peer");
  if (before != nullptr)
    ::setenv("CUDA_MPS_PIPE_DIRECTORY", mps.c_str(), 1);
  else
    ::unsetenv("CUDA_MPS_PIPE_DIRECTORY");
  EXPECT_THAT(asked_for.transport(), HasSubstr("same-node=peer"));
  if (each_has_a_gpu()) {
    EXPECT_THAT(left.transport(), HasSubstr("same-node=peer"));
  } else {
    EXPECT_THAT(left.transport(), Not(HasSubstr("same-node=peer")));
    EXPECT_THAT(left.notes, Contains(HasSubstr("share a GPU without MPS")));
  }
}

}  // namespace
}  // namespace halocline::test

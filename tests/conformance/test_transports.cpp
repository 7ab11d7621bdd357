// SPDX-License-Identifier: Apache-2.0
// What every transport promises, tested with no grid at all: one suite over all of transports().

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include <halocline/communicator.hpp>
#include <halocline/error.hpp>

#include "support/caught.hpp"
#include "support/communicators.hpp"
#include "support/conversation.hpp"
#include "support/memories.hpp"
#include "support/ranks.hpp"
#include "transport/transport.hpp"

namespace halocline::test {
namespace {

using transport::Pair;
using transport::Transport;
using Sizes = std::optional<std::vector<std::int64_t>>;

bool are_next_to_each_other(int from, int to, int ranks) {
  return (from + 1) % ranks == to || (to + 1) % ranks == from;
}

const Pattern one_byte{"OneByte", [](int, int, int) { return Sizes{{1}}; }};
const Pattern odd_sizes{"OddSizes", [](int, int, int) { return Sizes{{1, 3, 7, 64, 4097}}; }};
const Pattern of_all_sizes{"OfAllSizes", [](int from, int to, int) {
                             return Sizes{{from * 7 + to * 3 + 1, 0, 65 + to * 100, from}};
                           }};
const Pattern single_part{
    "SinglePart", [](int from, int to, int) { return Sizes{{101 + 1000 * from + 10 * to}}; }};
const Pattern one_way{"OneWay", [](int from, int to, int) {
                        return from <= to ? Sizes{{100, 29}} : Sizes{};
                      }};
const Pattern signals{"Signals", [](int, int, int) { return Sizes{std::vector<std::int64_t>{}}; }};
const Pattern zero_bytes{"ZeroBytes", [](int, int, int) { return Sizes{{0, 0}}; }};
const Pattern ring{"Ring", [](int from, int to, int ranks) {
                     return (from + 1) % ranks == to ? Sizes{{33, 5}} : Sizes{};
                   }};
const Pattern last_is_silent{"LastIsSilent", [](int from, int to, int ranks) {
                               return std::max(from, to) < ranks - 1 ? Sizes{{17}} : Sizes{};
                             }};
const Pattern silence{"Silence", [](int, int, int) { return Sizes{}; }};
// Beyond what any MPI sends eagerly.
const Pattern large{
    "Large", [](int from, int to, int ranks) {
      return are_next_to_each_other(from, to, ranks) ? Sizes{{300'001, 2}} : Sizes{};
    }};

// Beyond what `staged` leaves to the packing kernel: one piece of its pipeline, and several.
const Pattern larger{
    "Larger", [](int from, int to, int ranks) {
      return are_next_to_each_other(from, to, ranks) ? Sizes{{700'001, 5}} : Sizes{};
    }};
const Pattern largest{"Largest", [](int from, int to, int ranks) {
                        return are_next_to_each_other(from, to, ranks) ? Sizes{{2'100'003 + from}}
                                                                       : Sizes{};
                      }};

const Pattern patterns[] = {one_byte, odd_sizes, of_all_sizes, single_part,    one_way,
                            signals,  ring,      zero_bytes,   last_is_silent, silence,
                            large,    larger,    largest};

/// What can be tested here. Asked for after MPI has been started.
std::vector<Path> paths() {
  std::vector<Path> all;
  for (const Memory memory : all_memories)
    for (const Transport* transport : transport::transports())
      if (!not_testable(*transport, memory)) all.push_back({transport, memory});
  return all;
}

std::string name_of(const Path& path) {
  std::string memory(halocline::name_of(path.memory));
  memory[0] = static_cast<char>(memory[0] - 'a' + 'A');
  std::string transport(path.transport->name());
  std::erase(transport, '_');
  return transport + "Over" + memory;
}

bool is_on_host(const Path& path) { return path.memory == Memory::host; }

void sleep_for_milliseconds(int count) {
  std::this_thread::sleep_for(std::chrono::milliseconds(count));
}

class EveryPattern : public testing::TestWithParam<std::tuple<Path, Pattern>> {
 protected:
  const Path& path() const { return std::get<0>(GetParam()); }
  const Pattern& pattern() const { return std::get<1>(GetParam()); }
  /// So many that a GPU's work of several epochs is under way at once.
  int epochs() const { return pattern().name.starts_with("Large") ? 4 : 7; }
};

std::string name_of_pattern_test(const testing::TestParamInfo<EveryPattern::ParamType>& info) {
  return name_of(std::get<0>(info.param)) + std::get<1>(info.param).name;
}

TEST_P(EveryPattern, ArrivesAsSent) {
  const Communicator& communicator = communicator_with();
  Conversation conversation(communicator, path(), pattern());
  for (int epoch = 0; epoch < epochs(); ++epoch) conversation.run();
}

TEST_P(EveryPattern, ArrivesInPlace) {
  if (!path().transport->capabilities().in_place) return;  // it sends from its own memory only
  const Communicator& communicator = communicator_with();
  Conversation conversation(communicator, path(), pattern(), MessagePlacement::in_place);
  for (int epoch = 0; epoch < epochs(); ++epoch) conversation.run();
}

INSTANTIATE_TEST_SUITE_P(Transports, EveryPattern,
                         testing::Combine(testing::ValuesIn(paths()), testing::ValuesIn(patterns)),
                         name_of_pattern_test);

class EveryTransport : public testing::TestWithParam<Path> {
 protected:
  const Path& path() const { return GetParam(); }
  MessagePlacement in_place_if_possible() const {
    return path().transport->capabilities().in_place ? MessagePlacement::in_place
                                                     : MessagePlacement::slots;
  }
};

std::string name_of_transport_test(const testing::TestParamInfo<Path>& info) {
  return name_of(info.param);
}

TEST_P(EveryTransport, CutsMessagesIntoPieces) {
  const Communicator& communicator = communicator_with({.piece_bytes = 7});
  for (const Pattern& pattern : {odd_sizes, one_way, of_all_sizes, zero_bytes, single_part}) {
    Conversation conversation(communicator, path(), pattern, in_place_if_possible());
    for (int epoch = 0; epoch < 3; ++epoch) conversation.run();
  }
}

TEST_P(EveryTransport, CutsLargeMessagesIntoPieces) {
  const Communicator& communicator = communicator_with({.piece_bytes = 100'000});
  for (const Pattern& pattern : {large, larger}) {
    Conversation conversation(communicator, path(), pattern);
    for (int epoch = 0; epoch < 2; ++epoch) conversation.run();
  }
}

TEST_P(EveryTransport, CarriesManyEpochs) {
  const Communicator& communicator = communicator_with();
  Conversation conversation(communicator, path(), of_all_sizes);
  for (int epoch = 0; epoch < (is_on_host(path()) ? 1000 : 100); ++epoch) conversation.run();
}

TEST_P(EveryTransport, BearsRanksThatStartLate) {
  const Communicator& communicator = communicator_with();
  Conversation conversation(communicator, path(), odd_sizes);
  for (int epoch = 0; epoch < 8; ++epoch) {
    if (epoch % communicator.size() == communicator.rank()) sleep_for_milliseconds(15);
    conversation.run();
  }
}

TEST_P(EveryTransport, BearsRanksThatFinishLate) {
  const Communicator& communicator = communicator_with();
  Conversation conversation(communicator, path(), odd_sizes);
  for (int epoch = 0; epoch < 8; ++epoch) {
    conversation.start();
    if (epoch % communicator.size() == communicator.rank()) sleep_for_milliseconds(15);
    conversation.finish();
  }
}

TEST_P(EveryTransport, GetsDoneByProgressAlone) {
  const Communicator& communicator = communicator_with();
  for (const Pattern& pattern : {odd_sizes, large}) {
    Conversation conversation(communicator, path(), pattern);
    for (int epoch = 0; epoch < 5; ++epoch) {
      conversation.start();
      const auto end = std::chrono::steady_clock::now() + wait_limit;
      while (!conversation.channel().progress() && std::chrono::steady_clock::now() < end)
        std::this_thread::yield();
      EXPECT_TRUE(conversation.channel().progress());
      // Nobody helps the others from inside finish().
      agree(true);
      conversation.finish();
    }
  }
}

TEST_P(EveryTransport, KeepsChannelsInFlightApart) {
  const Communicator& communicator = communicator_with();
  std::vector<Conversation> conversations;
  for (const Pattern& pattern : {odd_sizes, single_part, larger, of_all_sizes})
    conversations.emplace_back(communicator, path(), pattern);
  const std::size_t count = conversations.size();
  for (std::size_t epoch = 0; epoch < (is_on_host(path()) ? 8u : 4u); ++epoch) {
    const bool in_order = path().transport->capabilities().needs_order;
    const std::size_t shift =
        epoch + (in_order ? 0 : static_cast<std::size_t>(communicator.rank()));
    for (std::size_t i = 0; i < count; ++i) conversations[(i * 3 + shift) % count].start();
    for (std::size_t i = 0; i < count; ++i) conversations[(i + shift / 2) % count].finish();
  }
}

TEST_P(EveryTransport, KeepsChannelsApartThatRunAtTheirOwnPace) {
  const Communicator& communicator = communicator_with();
  Conversation slow(communicator, path(), odd_sizes);
  Conversation quick(communicator, path(), of_all_sizes);
  for (int epoch = 0; epoch < 10; ++epoch) {
    slow.start();
    for (int i = 0; i < 3; ++i) quick.run();
    slow.finish();
  }
}

TEST_P(EveryTransport, ServesThePairsOfSeveralNodes) {
  for (const int ranks_per_node : {1, 2, 3}) {
    const Communicator& communicator = communicator_with({.ranks_per_node = ranks_per_node});
    EXPECT_EQ(communicator.node_of(communicator.rank()), communicator.rank() / ranks_per_node);
    Conversation conversation(communicator, path(), of_all_sizes);
    for (int epoch = 0; epoch < 4; ++epoch) conversation.run();
  }
}

TEST_P(EveryTransport, IsOpenedAndClosedWithoutUse) {
  const Communicator& communicator = communicator_with();
  for (int time = 0; time < 5; ++time) Conversation(communicator, path(), odd_sizes);
  Conversation conversation(communicator, path(), odd_sizes);
  conversation.run();
}

TEST_P(EveryTransport, HasNothingToWaitForBeforeItsStart) {
  const Communicator& communicator = communicator_with();
  Conversation conversation(communicator, path(), odd_sizes);
  EXPECT_TRUE(conversation.channel().progress());
  conversation.run();
  EXPECT_TRUE(conversation.channel().progress());
}

/// Rank 0 waits for the first, which rank 1 begins only when it is done with the second.
void wait_crosswise(const Communicator& communicator, Conversation& first, Conversation& second) {
  if (communicator.rank() % 2 == 0) {
    first.start();
    second.start();
    first.finish();
    second.finish();
  } else {
    second.run();
    first.run();
  }
}

TEST_P(EveryTransport, MovesOnWhileTheHostWaitsForAnother) {
  if (path().transport->capabilities().needs_order) return;  // ranks begin in different orders
  const Communicator& communicator = communicator_with();
  // Rank 0 waits for what rank 1 begins only when it has got rank 0's second message, which a
  // GPU's stream may not have come to yet when it is started.
  for (const Pattern& second_pattern : {odd_sizes, larger}) {
    Conversation first(communicator, path(), one_byte),
        second(communicator, path(), second_pattern);
    for (int epoch = 0; epoch < 2; ++epoch) wait_crosswise(communicator, first, second);
  }
}

TEST_P(EveryTransport, IsDestroyedInFlight) {
  const Communicator& communicator = communicator_with();
  for (int time = 0; time < 4; ++time) {
    Conversation conversation(communicator, path(), odd_sizes);
    if (time % 2 != 0) conversation.run();
    conversation.start();
    if (time >= 2) conversation.channel().progress();
  }
  Conversation conversation(communicator, path(), odd_sizes);
  conversation.run();
}

INSTANTIATE_TEST_SUITE_P(Transports, EveryTransport, testing::ValuesIn(paths()),
                         name_of_transport_test);

// The tests above leave out what is not here; this one says why.
class MemoryKind : public testing::TestWithParam<Memory> {};

TEST_P(MemoryKind, IsTested) {
  const Memory memory = GetParam();
  if (gpu_reads(memory)) need_gpu();
  if (IsSkipped() || HasFatalFailure()) return;
  if (const auto why = no_memory(memory)) GTEST_SKIP() << *why;
  for (const Transport* transport : transport::transports()) {
    const auto why = not_testable(*transport, memory);
    if (why && transport->capabilities().needs_proof &&
        (memory == Memory::device || memory == Memory::managed))
      GTEST_SKIP() << transport->name() << ": " << *why;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, MemoryKind, testing::ValuesIn(all_memories),
                         [](const testing::TestParamInfo<Memory>& instance) {
                           return std::string(halocline::name_of(instance.param));
                         });

// A rank that waits for one channel still moves on the others: here rank 0 waits for what rank 1
// begins only when it has got rank 0's large message.
TEST(Transports, MoveOnWhileTheHostWaitsForAnother) {
  const Communicator& communicator = communicator_with();
  for (const char* waited_for : {"shared", "mpi"}) {
    Conversation first(communicator, {&transport::find_transport(waited_for)}, one_byte);
    Conversation second(communicator, {&transport::find_transport("mpi")}, large);
    wait_crosswise(communicator, first, second);
  }
}

/// What each transport serves, by its name.
bool serves(const std::string& name, Pair pair, Memory memory) {
  if (name == "self") return pair == Pair::self;
  if (name == "shared") return pair == Pair::same_node && memory == Memory::host;
  if (name == "peer") return pair == Pair::same_node && memory != Memory::host;
  if (name == "mpi") return memory != Memory::device;
  if (name == "nccl" || name == "nvshmem") return pair != Pair::self && memory == Memory::device;
  return pair != Pair::self && (memory == Memory::device || memory == Memory::managed);
}

TEST(Transports, SayWhichPairsAndMemoryTheyServe) {
  for (const Transport* transport : transport::transports()) {
    const std::string name(transport->name());
    EXPECT_EQ(&transport::find_transport(name), transport);
    for (const Memory memory : all_memories)
      for (const Pair pair : transport::pairs)
        EXPECT_EQ(!transport->unavailable(pair, memory), serves(name, pair, memory))
            << name << ", " << transport::name_of(pair) << ", " << halocline::name_of(memory);
  }
}

TEST(Transports, AreFoundByNameOnly) {
  const Caught error = caught([] { transport::find_transport("telepathy"); });
  EXPECT_EQ(error.kind, ErrorKind::usage);
  EXPECT_EQ(error.text,
            "there is no transport 'telepathy'; there are: auto, self, shared, peer, nccl, "
            "nvshmem, gpu_aware, "
            "staged, mpi");
}

TEST(Transports, RefuseMessagesOfSeveralPartsInPlace) {
  int memory = 0;
  const Caught error = caught([&] { transport::in_place({{&memory, 4}, {nullptr, 4}}); });
  EXPECT_EQ(error.kind, ErrorKind::internal);
  EXPECT_EQ(transport::in_place({{&memory, 4}}), &memory);
  EXPECT_EQ(transport::in_place({}), nullptr);
  EXPECT_EQ(transport::bytes_of({{nullptr, 4}, {nullptr, 5}}), 9);
}

}  // namespace
}  // namespace halocline::test

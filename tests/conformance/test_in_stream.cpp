// SPDX-License-Identifier: Apache-2.0
// The proof of order in a stream, shown to channels that do and do not keep it.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/communicator.hpp>

#include "base/process/environment.hpp"
#include "device/gpu.hpp"
#include "device/queue.hpp"
#include "exchange/selection/race.hpp"
#include "probe/in_stream.hpp"
#include "support/caught.hpp"
#include "support/communicators.hpp"
#include "support/memories.hpp"
#include "support/ranks.hpp"

namespace halocline::test {
namespace {

using device::Allocator;
using exchange::TrialFields;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;
using transport::Channel;
using transport::Slots;
using TrialPlacement = TrialFields::Placement;

/// A channel that does as it should, but for what a test does in its place.
class Altered final : public Channel {
 public:
  using Step = std::function<void(Channel&, Stream)>;
  Altered(Channel& channel, Step start, Step finish)
      : channel_(channel), start_(std::move(start)), finish_(std::move(finish)) {}

  Slots send_slots(std::size_t message) override { return channel_.send_slots(message); }
  Slots receive_slots(std::size_t message) override { return channel_.receive_slots(message); }
  void start(Stream stream) override { start_(channel_, stream); }
  bool progress() override { return channel_.progress(); }
  void finish(Stream stream) override { finish_(channel_, stream); }
  std::uint64_t epoch() const override { return channel_.epoch(); }

 private:
  Channel& channel_;
  Step start_, finish_;
};

void start(Channel& channel, Stream stream) { channel.start(stream); }
void finish(Channel& channel, Stream stream) { channel.finish(stream); }

/// Messages of a size to every other rank, in a memory.
struct StreamCase {
  const char* transport;
  TrialFields fields;
  std::int64_t bytes;
};

class Trial {
 public:
  explicit Trial(const StreamCase& c)
      : fields_(c.fields),
        trial_(communicator_with(), transport::find_transport(c.transport), messages(c.bytes),
               c.fields) {}

  exchange::Trial& get() { return trial_; }
  probe::StreamFaults proved(Channel& channel) {
    return probe::prove_in_stream(communicator_with(), channel, trial_.messages(),
                                  {.memory = fields_.memory, .allocator = fields_.allocator});
  }

 private:
  static std::vector<transport::Message> messages(std::int64_t bytes) {
    std::vector<transport::Message> all;
    for (int peer = 0; peer < ranks(); ++peer)
      if (peer != rank())
        all.push_back({.peer = peer,
                       .send = {{nullptr, bytes}},
                       .receive = {{nullptr, bytes}},
                       .label = "a test's words"});
    return all;
  }

  TrialFields fields_;
  exchange::Trial trial_;
};

class StreamProof : public testing::TestWithParam<StreamCase> {};

TEST_P(StreamProof, FindsNothingWrongWithAGoodChannel) {
  Trial trial(GetParam());
  for (int time = 0; time < 2; ++time) {
    const probe::StreamFaults faults = trial.proved(trial.get().channel());
    EXPECT_EQ(faults.order, "");
    EXPECT_EQ(faults.bytes, "");
  }
  trial.get().run();
}

std::string name_of_case(const testing::TestParamInfo<StreamCase>& instance) {
  constexpr const char* allocators[] = {"", "Pool", "Vmm"};
  const StreamCase& c = instance.param;
  std::string transport(c.transport);
  std::erase(transport, '_');
  return transport + "Over" + std::string(name_of(c.fields.memory)) +
         allocators[static_cast<int>(c.fields.allocator)] + std::to_string(c.bytes) +
         (c.fields.placement == TrialPlacement::in_place ? "InPlace" : "");
}

/// Why there is no such device memory here, or nothing.
std::optional<std::string> no_memory_of(Allocator allocator) {
  if (no_gpu()) return no_gpu();
  const Caught error = caught([&] { device::allocate(Memory::device, 8, allocator); });
  return error.kind ? std::optional(error.text) : std::nullopt;
}

/// What can be proved here; test_transports.cpp says why some may be missing.
std::vector<StreamCase> stream_cases() {
  std::vector<StreamCase> here;
  const auto add = [&](const char* transport, Memory memory, Allocator allocator) {
    const transport::Transport& chosen = transport::find_transport(transport);
    if (not_testable(chosen, memory) || no_memory_of(allocator)) return;
    for (const TrialPlacement placement : {TrialPlacement::in_slots, TrialPlacement::in_place}) {
      if (placement == TrialPlacement::in_place && !chosen.capabilities().in_place) continue;
      // The largest goes in several pieces where it is staged.
      for (const std::int64_t bytes : {13, 600'000, 3'000'000})
        here.push_back({transport, {memory, allocator, placement}, bytes});
    }
  };
  for (const char* transport : {"peer", "nccl", "nvshmem", "staged", "gpu_aware"}) {
    for (const Memory memory : {Memory::device, Memory::managed})
      add(transport, memory, Allocator::ordinary);
    for (const Allocator allocator : {Allocator::pool, Allocator::virtual_memory})
      add(transport, Memory::device, allocator);
  }
  for (const Memory memory : {Memory::pinned, Memory::system})
    add("mpi", memory, Allocator::ordinary);
  return here;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StreamProof);
INSTANTIATE_TEST_SUITE_P(Transports, StreamProof, testing::ValuesIn(stream_cases()), name_of_case);

// What is wrong with a channel shows where the GPU does its work after the host has asked for it,
// or before the host goes on.

/// Why faults do not show with the order in which emulated GPUs work, unless it is this one.
std::optional<std::string> hidden_unless(const std::string& order) {
  const std::string is = environment("CUDA_ON_CPU_ORDER").value_or("lazy");
  if (device::current_gpu().name != "CUDA on CPU" || is == order) return std::nullopt;
  return "shows with CUDA_ON_CPU_ORDER=" + order + ", not with " + is;
}

class StreamFault : public testing::TestWithParam<StreamCase> {
 protected:
  void SetUp() override {
    if (ranks() < 2) GTEST_SKIP() << "one rank has nobody to hear from";
  }
};

TEST_P(StreamFault, IsToldOfAChannelThatStartsTooEarly) {
  if (const auto why = hidden_unless("lazy")) GTEST_SKIP() << *why;
  Trial trial(GetParam());
  Altered channel(
      trial.get().channel(), [](Channel& good, Stream) { good.start(Stream::host()); }, finish);
  const probe::StreamFaults faults = trial.proved(channel);
  // What comes in place may also come so early that the work before it in the stream writes over
  // it.
  EXPECT_THAT(faults.order,
              AllOf(HasSubstr("byte 0 of "),
                    AnyOf(HasSubstr("was sent before earlier work in the stream had written it"),
                          HasSubstr("had not arrived when later work in the stream read it"))));
}

TEST_P(StreamFault, IsToldOfAChannelThatDoesNotWait) {
  if (const auto why = hidden_unless("eager")) GTEST_SKIP() << *why;
  Trial trial(GetParam());
  bool in_flight = false;
  const auto end = [&] {
    if (std::exchange(in_flight, false)) trial.get().channel().finish(Stream::host());
  };
  Altered channel(
      trial.get().channel(),
      [&](Channel& good, Stream stream) {
        end();
        good.start(stream);
        in_flight = true;
      },
      [](Channel&, Stream) {});
  const probe::StreamFaults faults = trial.proved(channel);
  end();
  EXPECT_THAT(faults.order, HasSubstr(" had not arrived when later work in the stream read"));
}

TEST_P(StreamFault, IsNoneWhereAByteChanges) {
  Trial trial(GetParam());
  int times = 0;
  Altered channel(trial.get().channel(), start, [&](Channel& good, Stream stream) {
    good.finish(stream);
    if (rank() != 1 || ++times != 2) return;
    device::synchronize(stream);
    auto* const at =
        static_cast<std::byte*>(transport::in_place(trial.get().messages().front().receive)) + 9;
    std::byte value{};
    device::copy(&value, at, 1, Stream::host());
    value ^= std::byte{1};
    device::copy(at, &value, 1, Stream::host());
  });
  const probe::StreamFaults faults = trial.proved(channel);
  EXPECT_THAT(faults.order, IsEmpty());
  EXPECT_THAT(faults.bytes, AllOf(HasSubstr("byte 9 of "), HasSubstr("to rank 1 did not arrive")));
}

std::vector<StreamCase> fault_cases() {
  std::vector<StreamCase> here;
  if (not_testable(transport::find_transport("staged"), Memory::device)) return here;
  for (const std::int64_t bytes : {64, 600'000})
    here.push_back(
        {"staged", {Memory::device, Allocator::ordinary, TrialPlacement::in_place}, bytes});
  return here;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StreamFault);
INSTANTIATE_TEST_SUITE_P(Transports, StreamFault, testing::ValuesIn(fault_cases()), name_of_case);

class AnyAllocator : public testing::TestWithParam<Allocator> {};

TEST_P(AnyAllocator, IsTested) {
  NEED_GPU();
  if (const auto why = no_memory_of(GetParam())) GTEST_SKIP() << *why;
}

INSTANTIATE_TEST_SUITE_P(Device, AnyAllocator,
                         testing::Values(Allocator::ordinary, Allocator::pool,
                                         Allocator::virtual_memory));

}  // namespace
}  // namespace halocline::test

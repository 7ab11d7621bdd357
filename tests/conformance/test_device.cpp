// SPDX-License-Identifier: Apache-2.0
// Memory, streams, events and copies of device/, over every kind of memory.

#include <chrono>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/error.hpp>

#include "device/allocator.hpp"
#include "device/buffer.hpp"
#include "device/gpu.hpp"
#include "device/queue.hpp"
#include "gpu/stream_work.hpp"
#include "support/block.hpp"
#include "support/caught.hpp"
#include "support/memories.hpp"
#include "support/random.hpp"

namespace halocline::test {
namespace {

using device::Allocator;
using device::Event;
using device::OwnedStream;
using device::Rows;
using testing::AllOf;
using testing::HasSubstr;

// Allocation.

class EveryMemory : public testing::TestWithParam<Memory> {};

TEST_P(EveryMemory, IsGivenZeroedAndAligned) {
  for (const std::int64_t bytes : {0, 1, 255, 256, 4097, 3 << 20}) {
    std::vector<Block> blocks;
    for (int time = 0; time < 3; ++time) {
      const Block& block = blocks.emplace_back(GetParam(), bytes);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.data()) % 256, 0u);
      EXPECT_EQ(block.content(), Bytes(static_cast<std::size_t>(bytes)));
      // The next one may get memory that was written before.
      const Bytes other = random_bytes(bytes, 1);
      device::copy(block.data(), other.data(), bytes, Stream::host());
      EXPECT_EQ(block.content(), other);
      if (time == 1) blocks.clear();
    }
  }
}

TEST_P(EveryMemory, IsToldFromItsAddress) {
  const Block block(GetParam(), 1000);
  // System memory is the host's; only its user knows that a GPU shall read it.
  const Memory expected = GetParam() == Memory::system ? Memory::host : GetParam();
  EXPECT_EQ(device::memory_of(block.data()), expected);
  EXPECT_EQ(device::memory_of(block.data() + 999), expected);
  const int on_stack = 0;
  EXPECT_EQ(device::memory_of(&on_stack), Memory::host);
}

TEST_P(EveryMemory, IsRefusedWithWhatWasWanted) {
  const std::int64_t bytes = std::int64_t{1} << 50;
  const Caught error = caught([&] { device::allocate(GetParam(), bytes); });
  EXPECT_EQ(error.kind, ErrorKind::resource);
  const bool is_the_hosts = GetParam() == Memory::host || GetParam() == Memory::system;
  EXPECT_THAT(error.text,
              AllOf(HasSubstr(is_the_hosts ? "1125899.9 GB of host memory" : "1125899.91 GB of "),
                    HasSubstr("use fewer cells per rank")));
  if (GetParam() == Memory::device || GetParam() == Memory::managed) {
    EXPECT_THAT(error.text, testing::ContainsRegex(
                                "the GPU has [0-9]+\\.[0-9][0-9] GB free of [0-9]+\\.[0-9][0-9]"));
  }
  // The failure is not reported a second time, by a call that works.
  EXPECT_EQ(Block(GetParam(), 10).content(), Bytes(10));
}

INSTANTIATE_TEST_SUITE_P(Device, EveryMemory, testing::ValuesIn(memories_here()),
                         [](const testing::TestParamInfo<Memory>& instance) {
                           return std::string(name_of(instance.param));
                         });

// Copies.

class EveryCopy : public testing::TestWithParam<std::tuple<Memory, Memory>> {
 protected:
  Memory from() const { return std::get<0>(GetParam()); }
  Memory to() const { return std::get<1>(GetParam()); }
};

/// Stream::host(), and one of the GPU if there is one.
std::vector<Stream> streams(const std::optional<OwnedStream>& of_gpu) {
  std::vector<Stream> all{Stream::host()};
  if (of_gpu) all.push_back(of_gpu->get());
  return all;
}

std::optional<OwnedStream> gpu_stream() {
  return no_gpu() ? std::nullopt : std::optional<OwnedStream>(std::in_place);
}

TEST_P(EveryCopy, BringsTheBytesAndNoMore) {
  const auto of_gpu = gpu_stream();
  for (const Stream stream : streams(of_gpu))
    for (const std::int64_t bytes : {0, 1, 13, 4096, 1'000'001}) {
      const Bytes content = random_bytes(bytes + 20, 2);
      const Block source(from(), content), target(to(), Bytes(content.size()));
      device::copy(target.data() + 7, source.data() + 10, bytes, stream);
      device::synchronize(stream);
      Bytes expected(content.size());
      std::copy(content.begin() + 10, content.begin() + 10 + bytes, expected.begin() + 7);
      EXPECT_EQ(target.content(), expected) << bytes;
    }
}

TEST_P(EveryCopy, BringsRows) {
  const auto of_gpu = gpu_stream();
  for (const Stream stream : streams(of_gpu))
    for (const Rows& rows : {Rows{5, 7, 9, 11}, Rows{8, 3, 8, 8}, Rows{1, 100, 3, 2},
                             Rows{0, 4, 8, 8}, Rows{8, 0, 8, 8}, Rows{1000, 40, 1024, 1000}}) {
      const Bytes content = random_bytes(rows.count * rows.from_stride + 3, 3);
      const Block source(from(), content);
      Bytes expected(static_cast<std::size_t>(rows.count * rows.to_stride + 3));
      const Block target(to(), expected);
      device::copy_rows(target.data() + 3, source.data() + 2, rows, stream);
      device::synchronize(stream);
      for (std::int64_t row = 0; row < rows.count; ++row)
        std::memcpy(expected.data() + 3 + row * rows.to_stride,
                    content.data() + 2 + row * rows.from_stride,
                    static_cast<std::size_t>(rows.bytes));
      EXPECT_EQ(target.content(), expected) << rows.bytes << " bytes, " << rows.count << " rows";
    }
}

TEST_P(EveryCopy, BringsARowWhoseNextWouldBeFar) {
  // CUDA refuses rows that are 2 GiB apart, also where there is but one.
  const auto of_gpu = gpu_stream();
  for (const Stream stream : streams(of_gpu)) {
    const Bytes content = random_bytes(100, 4);
    const Block source(from(), content), target(to(), Bytes(100));
    device::copy_rows(target.data(), source.data(),
                      {.bytes = 100,
                       .count = 1,
                       .to_stride = std::int64_t{1} << 31,
                       .from_stride = std::int64_t{1} << 32},
                      stream);
    device::synchronize(stream);
    EXPECT_EQ(target.content(), content);
  }
}

INSTANTIATE_TEST_SUITE_P(Device, EveryCopy,
                         testing::Combine(testing::ValuesIn(memories_here()),
                                          testing::ValuesIn(memories_here())),
                         [](const testing::TestParamInfo<EveryCopy::ParamType>& instance) {
                           return std::string(name_of(std::get<0>(instance.param))) + "To" +
                                  std::string(name_of(std::get<1>(instance.param)));
                         });

TEST_P(EveryMemory, IsCleared) {
  const auto of_gpu = gpu_stream();
  for (const Stream stream : streams(of_gpu)) {
    // CUDA sets no ordinary host memory on a stream of its own.
    if (!stream.is_host() && device::memory_of(Block(GetParam(), 1).data()) == Memory::host)
      continue;
    Bytes expected = random_bytes(100, 4);
    const Block block(GetParam(), expected);
    device::clear(block.data() + 3, 90, stream);
    device::clear(block.data(), 0, stream);
    device::synchronize(stream);
    std::fill(expected.begin() + 3, expected.begin() + 93, std::byte{});
    EXPECT_EQ(block.content(), expected);
  }
}

// Streams and events.

TEST(HostEvents, AreReachedAtOnce) {
  Event event;
  EXPECT_TRUE(event.reached());
  event.wait();
  event.record(Stream::host());
  EXPECT_TRUE(event.reached());
  event.hold(Stream::host());
  event.wait();
  device::synchronize(Stream::host());
}

class Streams : public testing::Test {
 protected:
  void SetUp() override { need_gpu(); }
};

TEST_F(Streams, DoTheirWorkInTheOrderGiven) {
  const OwnedStream stream;
  const Bytes first = random_bytes(5000, 5), second = random_bytes(5000, 6);
  const Block a(Memory::device, first), b(Memory::device, second);
  const Block target(Memory::device, 5000), seen_first(Memory::device, 5000);
  device::copy(target.data(), a.data(), 5000, stream.get());
  device::copy(seen_first.data(), target.data(), 5000, stream.get());
  device::copy(target.data(), b.data(), 5000, stream.get());
  device::synchronize(stream.get());
  EXPECT_EQ(seen_first.content(), first);
  EXPECT_EQ(target.content(), second);
}

TEST_F(Streams, WaitForEachOthersEvents) {
  for (int time = 0; time < 5; ++time) {
    const OwnedStream before, after(device::Priority::high);
    const Bytes content = random_bytes(5000, 7);
    const Block source(Memory::device, content);
    const Block between(Memory::device, 5000), target(Memory::pinned, 5000);
    Event event;
    device::copy(between.data(), source.data(), 5000, before.get());
    event.record(before.get());
    event.hold(after.get());
    device::copy(target.data(), between.data(), 5000, after.get());
    device::synchronize(after.get());
    EXPECT_TRUE(event.reached());
    EXPECT_EQ(target.content(), content);
  }
}

TEST_F(Streams, TellTheHostByEvents) {
  const OwnedStream stream;
  const Bytes content = random_bytes(5000, 8);
  const Block source(Memory::device, content), target(Memory::pinned, 5000);
  const std::span<const std::byte> seen(target.data(), 5000);
  const auto same = [&] { return std::equal(seen.begin(), seen.end(), content.begin()); };
  Event event;
  const auto send = [&] {
    device::clear(target.data(), 5000, stream.get());
    device::copy(target.data(), source.data(), 5000, stream.get());
    event.record(stream.get());
  };
  send();
  while (!event.reached()) {
  }
  EXPECT_TRUE(same()) << "reached";
  send();
  event.wait();
  EXPECT_TRUE(same()) << "waited for";
  send();
  event.hold(Stream::host());
  EXPECT_TRUE(same()) << "held the host's stream";
}

TEST_F(Streams, MayBeGivenUpBeforeTheirWorkIsDone) {
  const Bytes content = random_bytes(5000, 9);
  const Block source(Memory::device, content), target(Memory::device, 5000);
  Event event;
  {
    const OwnedStream stream;
    device::copy(target.data(), source.data(), 5000, stream.get());
    event.record(stream.get());
  }
  event.wait();
  EXPECT_EQ(target.content(), content);
}

TEST_F(Streams, AreRecordedAgain) {
  const OwnedStream stream;
  const Bytes content = random_bytes(5000, 10);
  const Block source(Memory::device, content), target(Memory::pinned, 5000);
  Event event;
  event.record(stream.get());
  event.wait();
  device::copy(target.data(), source.data(), 5000, stream.get());
  event.record(stream.get());
  event.wait();
  EXPECT_EQ(target.content(), content);
  event.record(Stream::host());
  EXPECT_TRUE(event.reached());
}

// GPUs.

TEST_F(Streams, BelongToGpusWithFacts) {
  for (const device::Gpu& gpu : device::gpus().list) {
    EXPECT_THAT(gpu.uuid, testing::StartsWith("GPU-"));
    EXPECT_EQ(gpu.uuid.size(), 40u);
    EXPECT_THAT(gpu.pci, testing::ContainsRegex("^[0-9a-f]+:[0-9a-f]+:[0-9a-f]+\\.0$"));
    EXPECT_FALSE(gpu.name.empty());
    EXPECT_GT(gpu.memory_bytes, 0);
    EXPECT_GT(gpu.multiprocessors, 0);
    EXPECT_GE(gpu.major, 5);
  }
  EXPECT_FALSE(device::gpus().driver.empty());
  const device::GpuMemory memory = device::gpu_memory();
  EXPECT_GT(memory.free_bytes, 0);
  EXPECT_LE(memory.free_bytes, memory.total_bytes);
}

TEST_F(Streams, NameTheFreeMemoryThatIsNotEnough) {
  const device::GpuMemory before = device::gpu_memory();
  const Block block(Memory::device, 1 << 20);
  EXPECT_LE(device::gpu_memory().free_bytes, before.free_bytes - (1 << 20));
  EXPECT_THAT(
      caught([&] { device::allocate(Memory::device, device::gpu_memory().free_bytes + 1); }),
      says(ErrorKind::resource, "could not allocate ", "GB of device memory; the GPU has ",
           " GB free of ", "more GPUs"));
}

TEST_F(Streams, CarryWorkOfKernels) {
  const OwnedStream stream;
  for (const Memory memory : gpu_memories_here())
    for (const std::int64_t bytes : {0, 1, 8, 13, 4096, 1'000'003}) {
      const Bytes content(static_cast<std::size_t>(bytes + 16));
      const Block source(memory, content), target(memory, content);
      gpu::pass_time(stream.get(), std::chrono::microseconds(100));
      gpu::write_words(stream.get(), source.data(), bytes, {.first = 5, .step = 0x0102030405});
      gpu::copy_by_kernel(stream.get(), target.data() + 8, source.data(), bytes);
      device::synchronize(stream.get());
      Bytes expected = content;
      for (std::int64_t i = 0; i < bytes; ++i)
        expected[static_cast<std::size_t>(i + 8)] = static_cast<std::byte>(
            (5 + static_cast<std::uint64_t>(i / 8) * 0x0102030405) >> (i % 8 * 8));
      EXPECT_EQ(target.content(), expected) << name_of(memory) << ", " << bytes;
    }
}

TEST_F(Streams, ReachMemoryOfOtherAllocators) {
  EXPECT_EQ(caught([] { device::allocate(Memory::host, 8, Allocator::pool); }).kind,
            ErrorKind::internal);
  for (const Allocator allocator : {Allocator::pool, Allocator::virtual_memory}) {
    std::shared_ptr<void> memory;
    const Caught error =
        caught([&] { memory = device::allocate(Memory::device, 5000, allocator); });
    if (error.kind == ErrorKind::unavailable) continue;  // test_in_stream.cpp says why
    ASSERT_FALSE(error.kind) << error.text;
    EXPECT_EQ(device::memory_of(memory.get()), Memory::device);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.get()) % 256, 0u);
    const OwnedStream stream;
    Bytes seen = random_bytes(5000, 3);
    device::copy(seen.data(), memory.get(), 5000, Stream::host());
    EXPECT_EQ(seen, Bytes(5000)) << "not zeroed";
    gpu::write_words(stream.get(), memory.get(), 5000, {.first = ~std::uint64_t{0}, .step = 0});
    memory.reset();  // while the kernel may still run
    device::synchronize(stream.get());
  }
}

TEST(Gpus, SayWhyThereAreNone) {
  if (!no_gpu()) {
    EXPECT_TRUE(device::gpus().none_because.empty());
    return;
  }
  EXPECT_FALSE(no_gpu()->empty());
  for (const Memory memory : {Memory::pinned, Memory::device, Memory::managed, Memory::system}) {
    const Caught error = caught([&] { device::allocate(memory, 10); });
    EXPECT_EQ(error.kind, ErrorKind::unavailable);
    EXPECT_EQ(error.text, std::string(name_of(memory)) + " memory needs a GPU: " + *no_gpu() +
                              "; use host memory");
  }
}

TEST(Gpus, AreRefusedInProhibitedMode) {
  device::Gpu gpu;
  gpu.name = "GPU of a test";
  gpu.mode = device::ComputeMode::prohibited;
  const Caught error = caught([&] { device::use(gpu); });
  EXPECT_EQ(error.kind, ErrorKind::unavailable);
  if (!no_gpu()) {
    EXPECT_THAT(error.text,
                AllOf(HasSubstr("GPU 0 (GPU of a test, "), HasSubstr("compute mode 'prohibited'"),
                      HasSubstr("nvidia-smi -c 0")));
  }
}

}  // namespace
}  // namespace halocline::test

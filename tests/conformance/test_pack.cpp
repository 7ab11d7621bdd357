// SPDX-License-Identifier: Apache-2.0
// Packing by a GPU against packing by the host, byte by byte: random runs of every size, distance
// and alignment, in every memory that a GPU reads.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/error.hpp>

#include "device/buffer.hpp"
#include "device/port.hpp"
#include "device/queue.hpp"
#include "pack/pack.hpp"
#include "support/block.hpp"
#include "support/caught.hpp"
#include "support/memories.hpp"
#include "support/moves.hpp"
#include "support/random.hpp"
#include "support/turns.hpp"

namespace halocline::test {
namespace {

using pack::Bundle;
using pack::Copies;
using pack::Direction;
using pack::FieldRuns;

/// A bundle by offsets into its field and its two slots, which are blocks of memory.
struct Plan {
  std::vector<FieldRuns> pieces;  // with no field yet
  std::int64_t field_bytes = 0;
  std::int64_t slot_bytes = 0;
  std::int64_t even_at = 0, odd_at = 0;  // where in their blocks slots begin
  bool has_epoch = false;
};

class RandomPlan {
 public:
  explicit RandomPlan(std::uint64_t number) : random_(number) {}

  Plan make() {
    Plan plan;
    plan.has_epoch = random_.once_in(2);
    const std::int64_t unit = random_unit();
    plan.even_at = random_.between(0, 3) * unit;
    plan.odd_at = random_.between(0, 3) * unit;
    for (std::int64_t count = random_.between(0, 4); count > 0; --count) add_piece(plan);
    plan.field_bytes += random_.between(0, 40);
    return plan;
  }

  std::uint64_t epoch() { return static_cast<std::uint64_t>(random_.between(0, 3)); }

 private:
  // What all of a run's addresses and lengths are multiples of.
  std::int64_t random_unit() {
    static const std::int64_t units[] = {1, 1, 2, 4, 8, 16};
    return random_.one_of(units);
  }

  static std::int64_t round_up(std::int64_t value, std::int64_t unit) {
    return (value + unit - 1) / unit * unit;
  }

  void add_piece(Plan& plan) {
    FieldRuns piece{.field = nullptr, .runs = {}, .offset = plan.slot_bytes};
    if (random_.once_in(3)) piece.offset += random_.between(0, 20);
    plan.slot_bytes = piece.offset;
    // More runs than a GPU's block has threads, each a segment of its own in the same chunk.
    const bool has_many = random_.once_in(6);
    for (std::int64_t count = has_many ? 600 : random_.between(0, 3); count > 0; --count) {
      const Run run = has_many ? make_cell(plan.field_bytes) : make_run(plan.field_bytes);
      plan.field_bytes = run.offset + run.stride * run.count;
      plan.slot_bytes += run.bytes * run.count;
      piece.runs.push_back(run);
    }
    plan.pieces.push_back(piece);
  }

  Run make_cell(std::int64_t from) {
    return {.offset = from + random_.between(0, 9),
            .bytes = random_.between(1, 4),
            .count = 1,
            .stride = 4};
  }

  Run make_run(std::int64_t from) {
    const std::int64_t unit = random_unit();
    Run run{};
    run.offset = round_up(from + random_.between(0, 30), unit);
    // Most are as those of faces; some are longer than the jobs that a GPU cuts them into.
    run.bytes = unit * (random_.once_in(6) ? random_.between(1000, 9000) : random_.between(1, 40));
    run.count = random_.once_in(6) ? random_.between(500, 1500) : random_.between(1, 12);
    if (run.bytes * run.count > 300'000) run.count = random_.between(1, 3);
    run.stride = run.bytes + unit * random_.between(0, 20);
    return run;
  }

  Random random_;
};

/// The memory of a plan, and its bundle there.
struct Place {
  Place(const Plan& plan, Memory fields, Memory slots, std::uint64_t first_epoch,
        Direction direction)
      : field(fields, random_bytes(plan.field_bytes, 1)),
        even(slots, random_bytes(plan.even_at + plan.slot_bytes + 20, 2)),
        odd(slots, random_bytes(plan.odd_at + plan.slot_bytes + 20, 3)),
        epoch(Memory::host, bytes_of(first_epoch)),
        flags(gpu_reads(fields) ? Memory::device : Memory::host,
              Bytes(static_cast<std::size_t>(8 * device::chunks_of(plan.slot_bytes)),
                    direction == Direction::pack ? std::byte{0} : has_arrived)) {
    bundle = {
        .pieces = plan.pieces, .even = even.data() + plan.even_at, .odd = odd.data() + plan.odd_at};
    if (plan.has_epoch) {
      bundle.epoch = reinterpret_cast<const std::uint64_t*>(epoch.data());
      // Unpacked is the epoch that has begun, which is a GPU's next.
      bundle.flags = {.first = reinterpret_cast<std::uint64_t*>(flags.data()),
                      .begun = first_epoch - (direction == Direction::pack ? 0 : 1)};
    }
    for (FieldRuns& piece : bundle.pieces) piece.field = field.data();
  }

  // A flag of such bytes is beyond every epoch.
  static constexpr std::byte has_arrived{0xFF};

  static Bytes bytes_of(std::uint64_t value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    return {bytes, bytes + sizeof value};
  }

  Block field, even, odd, epoch, flags;
  Bundle bundle;
};

class EveryGpuMemory : public testing::TestWithParam<std::tuple<Memory, Direction>> {
 protected:
  Memory memory() const { return std::get<0>(GetParam()); }
  Direction direction() const { return std::get<1>(GetParam()); }

  void compare(std::uint64_t number) const;
  void expect_flags_raised(const Place& place, std::uint64_t epoch) const;
};

/// After packing, all flags stand at the last epoch.
void EveryGpuMemory::expect_flags_raised(const Place& place, std::uint64_t epoch) const {
  if (direction() != Direction::pack || place.bundle.flags.first == nullptr) return;
  const Bytes flags = place.flags.content(), expected = Place::bytes_of(epoch);
  for (std::size_t at = 0; at < flags.size(); at += expected.size())
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(),
                           flags.begin() + static_cast<std::ptrdiff_t>(at)))
        << "flag " << at / expected.size();
}

std::vector<Bundle> bundles_of(const std::vector<Place>& places) {
  std::vector<Bundle> bundles;
  for (const Place& place : places) bundles.push_back(place.bundle);
  return bundles;
}

void EveryGpuMemory::compare(std::uint64_t number) const {
  SCOPED_TRACE(how_to_repeat(number));
  Random random(number + 1'000'000);
  // As for device memory with staged: slots may be the host's all the same.
  const Memory slots = random.once_in(2) ? transport::slot_memory(memory()) : Memory::pinned;
  std::vector<Place> here, there;
  RandomPlan plans(number);
  const std::uint64_t epoch = plans.epoch();
  for (std::int64_t count = random.between(1, 3); count > 0; --count) {
    const Plan plan = plans.make();
    here.emplace_back(plan, Memory::host, Memory::host, epoch, direction());
    there.emplace_back(plan, memory(), slots, epoch, direction());
  }
  const Copies by_host(bundles_of(here), direction(), Memory::host);
  const Copies by_gpu(bundles_of(there), direction(), memory());
  EXPECT_EQ(by_gpu.bytes(), by_host.bytes());

  // Twice: the second time in the next epoch.
  const device::OwnedStream stream;
  const Block next(Memory::host, Place::bytes_of(epoch + 1));
  by_gpu.run(stream.get());
  by_gpu.run(stream.get());
  device::synchronize(stream.get());
  by_host.run(Stream::host());
  for (const Place& place : here) device::copy(place.epoch.data(), next.data(), 8, Stream::host());
  by_host.run(Stream::host());

  for (std::size_t i = 0; i < here.size(); ++i) {
    EXPECT_EQ(there[i].field.content(), here[i].field.content()) << "field of bundle " << i;
    EXPECT_EQ(there[i].even.content(), here[i].even.content()) << "even slot of bundle " << i;
    EXPECT_EQ(there[i].odd.content(), here[i].odd.content()) << "odd slot of bundle " << i;
    expect_flags_raised(there[i], epoch + 2);
  }
}

TEST_P(EveryGpuMemory, IsPackedAsByTheHost) {
  for (std::uint64_t number = 0; number < 60; ++number) {
    if (!has_turn(number)) continue;
    compare(number);
    if (HasFailure()) return;
  }
}

TEST_P(EveryGpuMemory, IsMovedByteByByte) {
  const device::OwnedStream stream;
  for (std::uint64_t number = 0; number < 60; ++number) {
    if (!has_turn(number)) continue;
    SCOPED_TRACE(how_to_repeat(number));
    const RandomMoves moves(number);
    const Bytes before = random_bytes(moves.field_bytes(), number);
    const Block field(memory(), before);
    const Copies copies({}, direction(), memory(), moves.in(field.data()));
    EXPECT_TRUE(copies.all_signal());
    copies.run(stream.get());
    device::synchronize(stream.get());
    ASSERT_EQ(field.content(), moves.after(before));
  }
}

std::string name_of_test(const testing::TestParamInfo<EveryGpuMemory::ParamType>& instance) {
  const bool packs = std::get<1>(instance.param) == Direction::pack;
  return std::string(packs ? "from_" : "to_") + std::string(name_of(std::get<0>(instance.param)));
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EveryGpuMemory);
INSTANTIATE_TEST_SUITE_P(Pack, EveryGpuMemory,
                         testing::Combine(testing::ValuesIn(gpu_memories_here()),
                                          testing::Values(Direction::pack, Direction::unpack)),
                         name_of_test);

class GpuPacking : public testing::Test {
 protected:
  void SetUp() override { need_gpu(); }
};

/// One run of 8 bytes from the middle of a field.
Plan small_plan() {
  Plan plan;
  plan.pieces = {{.field = nullptr, .runs = {{8, 8, 1, 8}}, .offset = 0}};
  plan.field_bytes = 24;
  plan.slot_bytes = 8;
  return plan;
}

TEST_F(GpuPacking, BearsNothingToDo) {
  const device::OwnedStream stream;
  const Copies none, empty({}, Direction::pack, Memory::device);
  EXPECT_TRUE(none.empty());
  EXPECT_TRUE(empty.empty());
  none.run(stream.get());
  empty.run(stream.get());
  const Place place(Plan{}, Memory::device, Memory::device, 0, Direction::pack);
  const Copies without_pieces({place.bundle}, Direction::pack, Memory::device);
  EXPECT_EQ(without_pieces.bytes(), 0);
  without_pieces.run(stream.get());
  device::synchronize(stream.get());
}

TEST_F(GpuPacking, IsOrderedByItsStream) {
  const device::OwnedStream stream;
  const Place place(small_plan(), Memory::device, Memory::device, 0, Direction::pack);
  const Copies copies({place.bundle}, Direction::pack, Memory::device);
  const Bytes values = random_bytes(8, 4);
  const Block source(Memory::device, values), seen(Memory::pinned, 8);
  device::copy(place.field.data() + 8, source.data(), 8, stream.get());
  copies.run(stream.get());
  device::clear(place.field.data(), 24, stream.get());
  device::copy(seen.data(), place.bundle.even, 8, stream.get());
  device::synchronize(stream.get());
  EXPECT_EQ(seen.content(), values);
}

// What goes round within a rank: packed, told, awaited and unpacked by one kernel, epoch after
// epoch.
TEST_F(GpuPacking, UnpacksInOneLaunchWhatItPacks) {
  const device::OwnedStream stream;
  for (const std::int64_t bytes : {8, 4096, 4104, 300'000, 3'000'000}) {
    const Block field(Memory::device, random_bytes(2 * bytes, 5)), slot(Memory::device, 2 * bytes),
        flags(Memory::device, Bytes(static_cast<std::size_t>(8 * device::chunks_of(bytes))));
    const auto bundle = [&](std::int64_t offset) {
      return Bundle{.pieces = {{field.data(), {{offset, bytes / 8, 8, bytes / 8}}, 0}},
                    .even = slot.data(),
                    .odd = slot.data() + bytes,
                    .flags = {.first = reinterpret_cast<std::uint64_t*>(flags.data())}};
    };
    const Copies packing({bundle(0)}, Direction::pack, Memory::device),
        unpacking({bundle(bytes)}, Direction::unpack, Memory::device);
    ASSERT_TRUE(packing.all_signal());
    for (int epoch = 0; epoch < 3; ++epoch) {
      const Block values(Memory::device,
                         random_bytes(bytes, static_cast<std::uint64_t>(epoch) + 6));
      device::copy(field.data(), values.data(), bytes, stream.get());
      Copies::run_both(packing, unpacking, stream.get());
      device::synchronize(stream.get());
      const Bytes all = field.content();
      EXPECT_EQ(Bytes(all.begin() + bytes, all.end()), values.content());
    }
  }
}

TEST_F(GpuPacking, MovesBesideMessages) {
  const device::OwnedStream stream;
  for (std::uint64_t number = 0; number < 20; ++number) {
    SCOPED_TRACE(how_to_repeat(number));
    const RandomMoves moves(number);
    const std::int64_t bytes = 8 * Random(number).between(1, 60'000);
    const Bytes before = random_bytes(moves.field_bytes(), number), sent = random_bytes(bytes, 7);
    const Block field(Memory::device, before), source(Memory::device, sent),
        goal(Memory::device, Bytes(sent.size())), slot(Memory::device, 2 * bytes),
        flags(Memory::device, Bytes(static_cast<std::size_t>(8 * device::chunks_of(bytes))));
    const auto bundle = [&](const Block& block) {
      return Bundle{.pieces = {{block.data(), {{0, bytes, 1, bytes}}, 0}},
                    .even = slot.data(),
                    .odd = slot.data() + bytes,
                    .flags = {.first = reinterpret_cast<std::uint64_t*>(flags.data())}};
    };
    const Copies packing({bundle(source)}, Direction::pack, Memory::device, moves.in(field.data())),
        unpacking({bundle(goal)}, Direction::unpack, Memory::device);
    Copies::run_both(packing, unpacking, stream.get());
    device::synchronize(stream.get());
    ASSERT_EQ(field.content(), moves.after(before));
    ASSERT_EQ(goal.content(), sent);
  }
}

TEST_F(GpuPacking, RefusesTheHostsStreamForDeviceMemory) {
  const Place place(small_plan(), Memory::device, Memory::device, 0, Direction::pack);
  const Copies copies({place.bundle}, Direction::pack, Memory::device);
  EXPECT_THAT(caught([&] { copies.run(Stream::host()); }),
              says(ErrorKind::usage, "device memory", "pass Stream::cuda(...)"));
}

TEST_F(GpuPacking, RefusesAGpusStreamForHostMemory) {
  const device::OwnedStream stream;
  const Place place(small_plan(), Memory::host, Memory::host, 0, Direction::pack);
  const Copies copies({place.bundle}, Direction::pack, Memory::host);
  EXPECT_THAT(caught([&] { copies.run(stream.get()); }),
              says(ErrorKind::usage, "host memory need the host's stream"));
}

TEST_F(GpuPacking, LeavesTheChoiceWhereBothReach) {
  const device::OwnedStream stream;
  for (const Memory memory : {Memory::pinned, Memory::managed})
    for (const Stream way : {Stream::host(), stream.get()}) {
      const Place place(small_plan(), memory, Memory::pinned, 0, Direction::pack);
      const Copies copies({place.bundle}, Direction::pack, memory);
      copies.run(way);
      device::synchronize(way);
      const Bytes field = place.field.content();
      const Bytes expected(field.begin() + 8, field.begin() + 16);
      Bytes slot = place.even.content();
      slot.resize(8);
      EXPECT_EQ(slot, expected) << name_of(memory);
    }
}

}  // namespace
}  // namespace halocline::test

// SPDX-License-Identifier: Apache-2.0
// Checkpoints that a program writes of its own fields.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/checkpoint.hpp>
#include <halocline/measure.hpp>
#include <halocline/solver.hpp>

#include "comm/collectives.hpp"
#include "program/copy_cells.hpp"
#include "support/caught.hpp"
#include "support/memories.hpp"
#include "support/random.hpp"
#include "support/ranks.hpp"
#include "support/shared_folder.hpp"
#include "support/small_solve.hpp"

namespace halocline::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

/// How a program may hold a field.
FieldStorage random_field(Random& random, const Grid& grid, std::int64_t bytes) {
  FieldOptions options{
      .name = "a field", .halo = random.between(0, 3), .memory = random.one_of(memories_here())};
  if (random.once_in(3))
    options.brick = grid.axes() == 3   ? Extents{8, 4, 4}
                    : grid.axes() == 2 ? Extents{8, 8}
                                       : Extents{16};
  return FieldStorage(grid, bytes, options);
}

FieldStorage host_twin(const Grid& grid, const FieldStorage& field) {
  return FieldStorage(grid, field.shape().element_bytes, {.halo = 0});
}

void fill(const Communicator& some, const Grid& grid, const FieldStorage& field,
          std::uint64_t seed) {
  const FieldStorage twin = host_twin(grid, field);
  fill_noise(some, grid, twin, seed);
  program::copy_owned(twin, field);
}

std::uint64_t checksum_of(const Communicator& some, const Grid& grid, const FieldStorage& field) {
  const FieldStorage twin = host_twin(grid, field);
  program::copy_owned(field, twin);
  return checksum(some, grid, twin);
}

Extents random_cells(Random& random) {
  const std::int64_t x = random.between(9, 60), y = random.between(9, 40),
                     z = random.between(9, 20);
  return random.once_in(3) ? Extents{x, y, z} : random.once_in(2) ? Extents{x, y} : Extents{x * y};
}

struct Case {
  Extents cells;
  std::int64_t bytes;
  std::vector<std::string> names;
  std::string text, path;
};

/// Returns the checksums of what it wrote, on rank 0.
std::vector<std::uint64_t> write(Random& random, const Case& one) {
  const int count = static_cast<int>(random.between(1, ranks()));
  const std::optional<Communicator> some = comm::first_ranks(world(), count);
  std::vector<std::uint64_t> sums;
  comm::on_first_ranks(world(), count, [&] {
    const Grid grid(*some, {.cells = one.cells});
    std::vector<NamedField> fields;
    for (const std::string& name : one.names) {
      fields.push_back({name, random_field(random, grid, one.bytes)});
      fill(*some, grid, fields.back().field, fields.size());
      sums.push_back(checksum_of(*some, grid, fields.back().field));
    }
    write_checkpoint(*some, grid, fields, one.path,
                     {.text = some->rank() == 0 ? one.text : "mine"});
  });
  return sums;
}

TEST(ProgramCheckpoints, AreReadByAnyRanksIntoAnyMemory) {
  const SharedFolder folder(world());
  for (std::uint64_t number = 0; number < 12; ++number) {
    SCOPED_TRACE(how_to_repeat(number));
    Random random(number);
    const Case one{
        .cells = random_cells(random),
        .bytes = random.once_in(2) ? 4 : 8,
        .names = {"a", "b.2", "c-3_"},
        .text = random.once_in(3)
                    ? ""
                    : std::string(static_cast<std::size_t>(random.between(1, 9000)), 'x'),
        .path = folder / "one.vtkhdf"};
    // Ranks left out draw nothing, but all go on from the same numbers.
    Random writing(1000 + number), reading(2000 + number);
    const std::vector<std::uint64_t> written = write(writing, one);
    const int count = static_cast<int>(reading.between(1, ranks()));
    const std::optional<Communicator> some = comm::first_ranks(world(), count);
    comm::on_first_ranks(world(), count, [&] {
      const Grid grid(*some, {.cells = one.cells});
      // In another order, and not all.
      const FieldStorage third = random_field(reading, grid, one.bytes),
                         first = random_field(reading, grid, one.bytes);
      EXPECT_EQ(read_checkpoint(*some, grid, {{"c-3_", third}, {"a", first}}, one.path), one.text);
      const std::uint64_t sum_of_third = checksum_of(*some, grid, third),
                          sum_of_first = checksum_of(*some, grid, first);
      if (rank() != 0) return;
      EXPECT_EQ(sum_of_third, written[2]);
      EXPECT_EQ(sum_of_first, written[0]);
    });
    if (!all_well()) return;
  }
}

TEST(ProgramCheckpoints, LeaveHalosAsTheyAre) {
  const SharedFolder folder(world());
  const Grid grid(world(), {.cells = {30, 20}});
  const Field<double> written(grid, {.halo = 2}), read(grid, {.halo = 2});
  fill_noise(world(), grid, written, 1);
  const Box held = read.shape().held(), owned = grid.owned();
  for (std::int64_t y = held.lower.y; y < held.upper.y; ++y)
    for (std::int64_t x = held.lower.x; x < held.upper.x; ++x) read(x, y) = -7;
  write_checkpoint(world(), grid, {{"u", written}}, folder / "one");
  read_checkpoint(world(), grid, {{"u", read}}, folder / "one");
  for (std::int64_t y = held.lower.y; y < held.upper.y; ++y)
    for (std::int64_t x = held.lower.x; x < held.upper.x; ++x)
      EXPECT_EQ(read(x, y), owned.contains(Int3{x, y, 0}) ? written(x, y) : -7) << x << ", " << y;
}

TEST(ProgramCheckpoints, OfARunAreReadToo) {
  const SharedFolder folder(world());
  SolveOptions options = small("gray_scott", {40, 30}, 5);
  options.precision = Precision::f32;
  options.checkpoint = folder.path();
  const SolveResult result = solve(world(), options);
  const Grid grid(world(), {.cells = {40, 30}, .periodic = {true, true}});
  const Field<float> v(grid);
  EXPECT_EQ(read_checkpoint(world(), grid, {{"v", v}}, folder / "sweep-000000000005.vtkhdf"), "");
  const std::uint64_t sum = checksum(world(), grid, v);
  if (rank() != 0) return;
  EXPECT_EQ(sum, result.fields.at(1).checksum);
}

TEST(ProgramCheckpoints, AreNoRunsThatGoOn) {
  const SharedFolder folder(world());
  const Grid grid(world(), {.cells = {30, 20}});
  const Field<double> u(grid);
  fill_noise(world(), grid, u, 1);
  write_checkpoint(world(), grid, {{"u", u}}, folder / "one.vtkhdf");
  SolveOptions options;
  options.restart = folder / "one.vtkhdf";
  EXPECT_THAT(caught([&] { solve(world(), options); }),
              says(ErrorKind::usage, "of another program"));
}

/// All ranks get the same error, and files stay as they are.
TEST(ProgramCheckpoints, RefuseWhatCannotBe) {
  const SharedFolder folder(world());
  const std::string path = folder / "one.vtkhdf";
  const Grid grid(world(), {.cells = {30, 20}}), other(world(), {.cells = {20, 30}});
  const Field<double> u(grid), of_other(other);
  const Field<float> single(grid);
  const Field<std::int64_t> whole(grid);
  const Field<double> two(grid, {.components = 2});
  fill_noise(world(), grid, u, 1);
  const auto refusal = [&](const Grid& on, const std::vector<NamedField>& fields,
                           const CheckpointOptions& options = {}) {
    const Caught error = caught([&] { write_checkpoint(world(), on, fields, path, options); });
    EXPECT_EQ(error.kind, ErrorKind::usage) << error.text;
    return error.text;
  };
  EXPECT_THAT(refusal(grid, {}), HasSubstr("needs a field"));
  EXPECT_THAT(refusal(grid, {{"", u}}), HasSubstr("''"));
  EXPECT_THAT(refusal(grid, {{".u", u}}), HasSubstr("'.u'"));
  EXPECT_THAT(refusal(grid, {{"\xc3\xa4", u}}), HasSubstr("cannot name a field"));
  EXPECT_THAT(refusal(grid, {{std::string(65, 'u'), u}}), HasSubstr("1 to 64"));
  EXPECT_THAT(refusal(grid, {{"u", u}, {"u", u}}), HasSubstr("two fields"));
  EXPECT_THAT(refusal(grid, {{"u", u}, {"v", single}}),
              AllOf(HasSubstr("'u' is double"), HasSubstr("'v' is float")));
  EXPECT_THAT(refusal(grid, {{"u", whole}}), HasSubstr("another type"));
  EXPECT_THAT(refusal(grid, {{"u", two}}), HasSubstr("2 components"));
  EXPECT_THAT(refusal(other, {{"u", u}}), HasSubstr("another grid"));
  EXPECT_THAT(refusal(grid, {{"u", u}}, {.spacing = {1, 0, 1}}), HasSubstr("spacing"));
  EXPECT_THAT(refusal(grid, {{"u", u}}, {.origin = {std::numeric_limits<double>::infinity()}}),
              HasSubstr("origin"));
  EXPECT_FALSE(fs::exists(path));

  write_checkpoint(world(), grid, {{"u", u}}, path);
  const auto refused_read = [&](const Grid& on, const NamedField& field, const std::string& from) {
    const Caught error = caught([&] { read_checkpoint(world(), on, {field}, from); });
    EXPECT_EQ(error.kind, ErrorKind::usage) << error.text;
    return error.text;
  };
  EXPECT_THAT(refused_read(grid, {"v", u}, path), HasSubstr("no field 'v'; it has: u"));
  EXPECT_THAT(refused_read(grid, {"u", single}, path), HasSubstr("are double"));
  EXPECT_THAT(refused_read(other, {"u", of_other}, path),
              AllOf(HasSubstr("30x20"), HasSubstr("20x30")));
  EXPECT_THAT(refused_read(grid, {"u", u}, folder / "none"), HasSubstr("none"));
  EXPECT_THAT(refused_read(grid, {"u", u}, folder.path()), HasSubstr("not a checkpoint"));
}

TEST(ProgramCheckpoints, RanksThatDifferAreRefused) {
  if (ranks() < 2) GTEST_SKIP() << "needs 2 ranks";
  const SharedFolder folder(world());
  const Grid grid(world(), {.cells = {30, 20}});
  const Field<double> u(grid);
  const Caught error = caught([&] {
    write_checkpoint(world(), grid, {{rank() == 0 ? "u" : "v", u}}, folder / "one");
  });
  EXPECT_THAT(error, says(ErrorKind::usage, "'u'", "'v'"));
}

TEST(ProgramCheckpoints, ThatAreDamagedAreRefused) {
  const SharedFolder folder(world());
  const std::string path = folder / "one.vtkhdf";
  const Grid grid(world(), {.cells = {30, 20}});
  const Field<double> u(grid);
  fill_noise(world(), grid, u, 1);
  write_checkpoint(world(), grid, {{"u", u}}, path, {.text = "step 12"});
  const auto bytes = static_cast<std::int64_t>(fs::file_size(path));
  comm::barrier(world());
  int refused = 0;
  for (std::uint64_t number = 0; number < 40; ++number) {
    Random random(number);
    const std::int64_t at = random.between(0, bytes - 1);
    char was = 0;
    const auto flip = [&] {
      comm::on_first_rank(world(), [&] {
        std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
        file.seekg(at).get(was);
        file.seekp(at).put(static_cast<char>(was ^ 0x10));
      });
    };
    flip();
    const Field<double> read(grid);
    const Caught error = caught([&] {
      EXPECT_EQ(read_checkpoint(world(), grid, {{"u", read}}, path), "step 12");
    });
    flip();
    if (!error.kind) {
      // In HDF5's own structure, or in a gap.
      EXPECT_EQ(checksum(world(), grid, read), checksum(world(), grid, u));
    } else {
      ++refused;
      EXPECT_EQ(error.kind, ErrorKind::usage) << error.text;
    }
    if (!all_well()) return;
  }
  EXPECT_GT(refused, 5);
}

}  // namespace
}  // namespace halocline::test

// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <halocline/error.hpp>
#include <halocline/field.hpp>
#include <halocline/grid.hpp>
#include <halocline/measure.hpp>
#include <halocline/npy.hpp>

#include "comm/collectives.hpp"
#include "files/npy.hpp"
#include "files/parallel/collective_file.hpp"
#include "files/picture.hpp"
#include "files/png.hpp"
#include "support/caught.hpp"
#include "support/cells.hpp"
#include "support/communicators.hpp"
#include "support/npy_bytes.hpp"
#include "support/ranks.hpp"
#include "support/shared_folder.hpp"
#include "support/temporary_folder.hpp"

namespace halocline::test {
namespace {

namespace fs = std::filesystem;
using files::ArrayInFile;
using files::CollectiveFile;
using files::FileToOpen;
using files::PartInMemory;
using testing::HasSubstr;
using testing::StartsWith;

void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// Bits that tell of their cell. Integers stand for doubles and floats, so that none of them is
/// not a number and all bits count.
template <class Bits>
Bits bits_of(std::int64_t index) {
  std::uint64_t mixed = static_cast<std::uint64_t>(index) + 0x9E3779B97F4A7C15u;  // splitmix64
  mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
  return static_cast<Bits>(mixed ^ (mixed >> 31));
}

std::int64_t index_of(const Extents& cells, const Int3& at) {
  return (at.z * cells.values().y + at.y) * cells.values().x + at.x;
}

std::string shape_text(const Extents& cells) {
  std::string text;
  for (int axis = cells.axes() - 1; axis >= 0; --axis)
    text += std::to_string(cells[axis]) + (axis > 0 ? ", " : "");
  return "(" + text + (cells.axes() == 1 ? ",)" : ")");
}

template <class Bits>
std::string data_of(const Extents& cells) {
  const Int3& n = cells.values();
  std::vector<Bits> values(static_cast<std::size_t>(n.x * n.y * n.z));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = bits_of<Bits>(static_cast<std::int64_t>(i));
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Bits)};
}

template <class Bits>
std::string expected_file(const Extents& cells) {
  return npy_file(sizeof(Bits) == 8 ? "<f8" : "<f4", shape_text(cells), data_of<Bits>(cells));
}

/// All ways to split `cells` over all ranks.
std::vector<GridOptions> splits(const Extents& cells) {
  std::vector<GridOptions> found;
  const Int3& n = cells.values();
  for (std::int64_t z = 1; z <= std::min<std::int64_t>(n.z, ranks()); ++z)
    for (std::int64_t y = 1; y <= std::min<std::int64_t>(n.y, ranks()); ++y)
      for (std::int64_t x = 1; x <= std::min<std::int64_t>(n.x, ranks()); ++x)
        if (x * y * z == ranks())
          found.push_back({.cells = cells, .process_grid = Extents(Int3{x, y, z}, cells.axes())});
  return found;
}

std::string describe(const Grid& grid) {
  const Int3 &n = grid.cells().values(), &p = grid.process_grid().values();
  std::ostringstream text;
  text << n.x << "x" << n.y << "x" << n.z << " cells on " << p.x << "x" << p.y << "x" << p.z;
  return text.str();
}

const std::vector<Extents> shapes{{1}, {1000}, {1, 9}, {13, 7}, {64, 33}, {5, 6, 7}, {17, 1, 3}};

/// A field of the caller's memory, with its axes in the order z, y, x or any other, and gaps.
template <class Bits>
struct StridedField {
  StridedField(const Grid& grid, const std::vector<int>& fastest_first) {
    const FieldOptions options{.halo = 2};
    Int3 held = grid.owned().extent();
    for (int axis = 0; axis < grid.axes(); ++axis) held[axis] += 4;
    Int3 stride;
    std::int64_t next = 3, lead = 0;
    for (const int axis : fastest_first) {
      if (axis >= grid.axes()) continue;
      stride[axis] = next;
      next = next * held[axis] + 1;
      lead += 2 * stride[axis];
    }
    memory.assign(static_cast<std::size_t>(next), poison);
    field = std::make_unique<Field<Bits>>(
        grid, memory.data() + lead,
        Strides{.x = stride.x, .y = stride.y, .z = stride.z, .component = 0}, options);
  }

  static constexpr Bits poison = static_cast<Bits>(0xDEADBEEFDEADBEEF);
  std::vector<Bits> memory;
  std::unique_ptr<Field<Bits>> field;
};

template <class Bits>
void fill(const Field<Bits>& field, const Extents& cells) {
  for_each_cell(field.shape().owned, [&](const Int3& at) {
    field(at.x, at.y, at.z) = bits_of<Bits>(index_of(cells, at));
  });
}

template <class Bits>
testing::AssertionResult is_filled(const Field<Bits>& field, const Extents& cells) {
  auto result = testing::AssertionSuccess();
  for_each_cell(field.shape().owned, [&](const Int3& at) {
    if (result && field(at.x, at.y, at.z) != bits_of<Bits>(index_of(cells, at)))
      result = testing::AssertionFailure()
               << "cell (" << at.x << ", " << at.y << ", " << at.z << ") is wrong";
  });
  return result;
}

class Files : public testing::Test {
 protected:
  /// Runs `work` on every rank and expects that all end with the same error, or none.
  template <class Work>
  Caught together(Work&& work) {
    const Caught mine = caught(work);
    for (const std::string& text : comm::gather_texts(world_, mine.text))
      EXPECT_EQ(text, mine.text) << "on another rank";
    return mine;
  }

  template <class Work>
  void on_first(Work&& work) {
    if (rank() == 0) work();
    comm::barrier(world_);
  }

  // Of 8 bytes: fields of their own padded memory. Of 4 bytes: of the caller's memory.
  template <class Bits>
  void expect_same_bytes_from_all_splits(const Communicator& communicator, const Extents& cells);
  template <class Bits>
  void expect_all_splits_to_read(const Communicator& communicator, const Extents& cells);

  const Communicator& world_ = communicator_with();
  SharedFolder folder_{world_};
};

template <class Bits>
void Files::expect_same_bytes_from_all_splits(const Communicator& communicator,
                                              const Extents& cells) {
  const std::string path = folder_ / "u.npy", expected = expected_file<Bits>(cells);
  for (const GridOptions& options : splits(cells)) {
    const Grid grid(rank(), ranks(), options);
    SCOPED_TRACE(describe(grid));
    const Field<Bits> padded(grid, {.halo = 1});
    const StridedField<Bits> strided(grid, {2, 0, 1});
    const Field<Bits>& field = sizeof(Bits) == 8 ? padded : *strided.field;
    fill(field, cells);
    files::write_npy(communicator, grid, field, path);
    if (rank() == 0) {
      EXPECT_EQ(content_of(path), expected);
    }
  }
}

template <class Bits>
void Files::expect_all_splits_to_read(const Communicator& communicator, const Extents& cells) {
  const std::string path = folder_ / "u.npy";
  on_first([&] { write_file(path, expected_file<Bits>(cells)); });
  for (const GridOptions& options : splits(cells)) {
    const Grid grid(rank(), ranks(), options);
    SCOPED_TRACE(describe(grid));
    if (sizeof(Bits) == 8) {
      const Field<Bits> padded(grid, {.halo = 1});
      files::read_npy(communicator, grid, padded, path);
      EXPECT_TRUE(is_filled(padded, cells));
    } else {
      const StridedField<Bits> strided(grid, {1, 2, 0}), expected(grid, {1, 2, 0});
      files::read_npy(communicator, grid, *strided.field, path);
      fill(*expected.field, cells);
      EXPECT_EQ(strided.memory, expected.memory) << "cells, halo and gaps";
    }
  }
}

TEST_F(Files, AnyProcessGridWritesTheSameBytes) {
  for (const Extents& cells : shapes) {
    expect_same_bytes_from_all_splits<std::uint64_t>(world_, cells);
    expect_same_bytes_from_all_splits<std::uint32_t>(world_, cells);
  }
}

TEST_F(Files, AnyProcessGridReads) {
  for (const Extents& cells : shapes) {
    expect_all_splits_to_read<std::uint64_t>(world_, cells);
    expect_all_splits_to_read<std::uint32_t>(world_, cells);
  }
}

TEST_F(Files, PiecesOfAnySizeMakeTheSameFile) {
  for (const std::int64_t piece : {5, 100}) {
    const Communicator& in_pieces = communicator_with({.piece_bytes = piece});
    SCOPED_TRACE(piece);
    for (const Extents& cells : {Extents{41}, Extents{5, 3, 6}}) {
      expect_same_bytes_from_all_splits<std::uint64_t>(in_pieces, cells);
      expect_all_splits_to_read<std::uint32_t>(in_pieces, cells);
    }
  }
}

TEST_F(Files, AllChunksTogetherAreTheArray) {
  const ArrayInFile huge{.offset_bytes = 128,
                         .cells = {std::int64_t{1} << 20, std::int64_t{1} << 15, 1024},
                         .element_bytes = 8};
  const ArrayInFile odd{.offset_bytes = 77, .cells = {7, 5, 3}, .element_bytes = 12};
  for (const int count : {1, 3, 8, 100'000}) {
    const files::FileRounds rounds(huge, count, 1 << 20);
    const std::int64_t cells = huge.bytes() / 8;
    EXPECT_GE(rounds.rounds() * count * (1 << 20), huge.bytes());
    std::int64_t most = 0;
    for (const int rank : {0, count / 2, count - 1}) {
      for (const std::int64_t round : {std::int64_t{0}, rounds.rounds() / 2, rounds.rounds() - 1}) {
        const files::CellRange range = rounds.range(rank, round);
        EXPECT_LE(range.begin, range.end);
        EXPECT_LE(range.end, cells);
        most = std::max(most, range.cells());
      }
    }
    EXPECT_EQ(most, 1 << 17);
  }
  for (const std::int64_t chunk : {1, 5, 12, 13, 100, 10'000}) {
    const files::FileRounds rounds(odd, 4, chunk);
    std::vector<int> times(7 * 5 * 3);
    for (int rank = 0; rank < 4; ++rank)
      for (std::int64_t round = 0; round < rounds.rounds(); ++round) {
        const files::CellRange range = rounds.range(rank, round);
        for (std::int64_t i = range.begin; i < range.end; ++i) ++times[static_cast<std::size_t>(i)];
      }
    EXPECT_EQ(times, std::vector<int>(7 * 5 * 3, 1)) << chunk;
  }
}

TEST_F(Files, OneRankMayHoldAllAndTheFileBeLarge) {
  const std::string path = folder_ / "raw";
  // Beyond 32 bits; what lies before is a hole. Elements of 12 bytes, as long as three rows.
  const ArrayInFile array{
      .offset_bytes = (std::int64_t{5} << 30) + 1, .cells = {6, 4, 2}, .element_bytes = 12};
  std::vector<std::uint32_t> values(6 * 4 * 2 * 3);
  std::iota(values.begin(), values.end(), 1);
  const auto part = [&](std::vector<std::uint32_t>& memory) {
    const bool holds = rank() == ranks() - 1;
    return PartInMemory{.box = holds ? Box{{}, array.cells} : Box{},
                        .first = holds ? reinterpret_cast<std::byte*>(memory.data()) : nullptr,
                        .stride_bytes = {12, 72, 288}};
  };
  const Communicator& in_pieces = communicator_with({.piece_bytes = 72});
  {
    CollectiveFile file(in_pieces, {.path = path, .access = FileToOpen::Access::write});
    file.write_on_first({{0, "begin"}});
    file.write(array, part(values));
    file.close();
  }
  CollectiveFile file(in_pieces, {.path = path});
  EXPECT_EQ(file.bytes(), array.end_bytes());
  EXPECT_EQ(file.read_start(5), "begin");
  std::vector<std::uint32_t> found(values.size());
  file.read(array, part(found));
  file.close();
  if (rank() == ranks() - 1) {
    EXPECT_EQ(found, values);
  }
}

TEST_F(Files, RanksMayReadTheSameCells) {
  const std::string path = folder_ / "raw";
  const Extents cells{9, 8};
  on_first([&] { write_file(path, data_of<std::uint64_t>(cells)); });
  const Communicator& in_pieces = communicator_with({.piece_bytes = 64});
  CollectiveFile file(in_pieces, {.path = path});
  std::vector<std::uint64_t> found(9 * 8);
  file.read({.cells = cells.values(), .element_bytes = 8},
            {.box = {{}, cells.values()},
             .first = reinterpret_cast<std::byte*>(found.data()),
             .stride_bytes = {8, 72, 0}});
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_EQ(found[i], bits_of<std::uint64_t>(static_cast<std::int64_t>(i)));
}

TEST_F(Files, CellsOfNobodyAreAnError) {
  CollectiveFile file(world_, {.path = folder_ / "raw", .access = FileToOpen::Access::write});
  const ArrayInFile array{.cells = {10, 1, 1}, .element_bytes = 8};
  std::vector<std::uint64_t> memory(11);
  const auto first = reinterpret_cast<std::byte*>(memory.data());
  const auto write = [&](std::int64_t cells) {
    return together([&] {
      file.write(array, {.box = rank() == 0 ? Box{{}, {cells, 1, 1}} : Box{},
                         .first = first,
                         .stride_bytes = {8, 0, 0}});
    });
  };
  EXPECT_EQ(write(9).kind, ErrorKind::internal);
  EXPECT_EQ(write(11).kind, ErrorKind::internal);
  EXPECT_FALSE(write(10).kind);
}

TEST_F(Files, KeepAProgramsOwnFields) {
  const std::string path = folder_ / "own.npy";
  const Grid grid(world_, {.cells = {9, 8}});
  const Field<double> written(grid), read(grid, {.halo = 2});
  for_each_cell(grid.owned(),
                [&](Int3 at) { written(at.x, at.y) = static_cast<double>(at.x + 100 * at.y); });
  write_npy(world_, grid, written, path);
  read_npy(world_, grid, read, path);
  for_each_cell(grid.owned(), [&](Int3 at) { EXPECT_EQ(read(at.x, at.y), written(at.x, at.y)); });
  // In bricks, too.
  const FieldStorage bricks(grid, sizeof(double), {.halo = 1, .brick = {4, 2}});
  read_npy(world_, grid, bricks, path);
  const BrickView<double> view = bricks.bricks<double>();
  for_each_cell(grid.owned(), [&](Int3 at) { EXPECT_EQ(view(at.x, at.y), written(at.x, at.y)); });
  EXPECT_EQ(checksum(world_, grid, bricks), checksum(world_, grid, written));
  EXPECT_EQ(sum(world_, grid, bricks), sum(world_, grid, written));
  fill_noise(world_, grid, bricks, 7);
  fill_noise(world_, grid, written, 7);
  EXPECT_EQ(checksum(world_, grid, bricks), checksum(world_, grid, written));
  write_npy(world_, grid, bricks, path);
  read_npy(world_, grid, read, path);
  for_each_cell(grid.owned(), [&](Int3 at) { EXPECT_EQ(read(at.x, at.y), written(at.x, at.y)); });
  const Field<std::int64_t> numbers(grid, {.name = "numbers"});
  for (const Caught& error : {together([&] { write_npy(world_, grid, numbers, path); }),
                              together([&] { read_npy(world_, grid, numbers, path); })}) {
    EXPECT_THAT(error, says(ErrorKind::usage, "'numbers'"));
  }
}

class NpyErrors : public Files {
 protected:
  Caught write(const std::string& path) {
    return together([&] { files::write_npy(world_, grid_, field_, path); });
  }
  Caught read(const std::string& path) {
    return together([&] { files::read_npy(world_, grid_, field_, path); });
  }
  void expect(const Caught& error, ErrorKind kind, const std::string& text) {
    EXPECT_EQ(error.kind, kind);
    EXPECT_THAT(error.text, HasSubstr(text));
  }

  Grid grid_{rank(), ranks(), {.cells = {12, 8}}};
  Field<double> field_{grid_};
};

TEST_F(NpyErrors, OfPathsToWrite) {
  on_first([&] {
    write_file(folder_ / "file", "no folder");
    fs::create_directory(folder_ / "folder.npy");
  });
  const std::string& base = folder_.path();
  expect(write(base + "/none/u.npy"), ErrorKind::usage,
         "cannot write '" + base + "/none/u.npy': there is no folder '" + base + "/none'");
  expect(write(base + "/file/u.npy"), ErrorKind::usage, "'" + base + "/file' is not a folder");
  expect(write(base + "/folder.npy"), ErrorKind::usage, "it is a folder");
  EXPECT_EQ(write("/proc/u.npy").kind, ErrorKind::usage) << "where no file can be made";
  if (rank() == 0) {
    EXPECT_EQ(names_in(base).size(), 2u) << "nothing stays behind";
  }
}

TEST_F(NpyErrors, OfPathsToRead) {
  const std::string& base = folder_.path();
  on_first([&] {
    write_file(folder_ / "file", "no folder");
    ::mkfifo((base + "/pipe").c_str(), 0666);
  });
  expect(read(base + "/none.npy"), ErrorKind::usage,
         "cannot read '" + base + "/none.npy': there is no such file");
  expect(read(base), ErrorKind::usage, "it is a folder");
  expect(read(base + "/file/u.npy"), ErrorKind::usage, "'" + base + "/file' is not a folder");
  expect(read(base + "/pipe"), ErrorKind::usage, "it is a pipe or a device");
}

TEST_F(NpyErrors, OfFields) {
  const auto write_field = [&](const FieldStorage& field) {
    return together([&] { files::write_npy(world_, grid_, field, folder_ / "u.npy"); });
  };
  expect(write_field(Field<double>(grid_, {.name = "flow", .components = 2})), ErrorKind::usage,
         "field 'flow' has 2 components");
  expect(write_field(Field<char>(grid_)), ErrorKind::usage, "has elements of 1 bytes");
  const Grid other(rank(), ranks(), {.cells = {24, 24}});
  expect(write_field(Field<double>(other)), ErrorKind::usage, "was made for another grid");
  if (rank() == 0) {
    EXPECT_TRUE(names_in(folder_.path()).empty());
  }
}

TEST_F(NpyErrors, OfAFileThatEndsWhileItIsRead) {
  const std::string path = folder_ / "raw";
  on_first([&] { write_file(path, std::string(100, 'x')); });
  CollectiveFile file(world_, {.path = path});
  std::vector<double> memory(20);
  const Caught error = together([&] {
    file.read({.cells = {20, 1, 1}, .element_bytes = 8},
              {.box = {{}, {20, 1, 1}},
               .first = reinterpret_cast<std::byte*>(memory.data()),
               .stride_bytes = {8, 0, 0}});
  });
  EXPECT_THAT(error, says(ErrorKind::resource,
                          "cannot read '" + path + "': it ends before the array does"));
}

TEST_F(NpyErrors, OfADeviceThatIsFull) {
  const Caught error = write("/dev/full");
  EXPECT_THAT(error,
              says(ErrorKind::resource, "cannot write '/dev/full': No space left on device"));
  EXPECT_FALSE(write("/dev/null").kind);
}

TEST_F(NpyErrors, OfOneRankEndTheWorkOfAll) {
  // In chunks of a rank each; once without a limit, for MPI to make what files it needs.
  const Communicator& in_pieces = communicator_with({.piece_bytes = 1024});
  const Grid grid(rank(), ranks(), {.cells = {64, 40}});
  const Field<double> field(grid);
  const std::string path = folder_ / "u.npy";
  files::write_npy(in_pieces, grid, field, path);
  const std::string before = rank() == 0 ? content_of(path) : "";

  const auto previous = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  const rlim_t unlimited = limit.rlim_cur;
  // The last rank's part lies beyond; rank 0, if it is another, may make room for all.
  limit.rlim_cur = rank() == ranks() - 1 ? 2000 : unlimited;
  ::setrlimit(RLIMIT_FSIZE, &limit);
  const Caught error = together([&] { files::write_npy(in_pieces, grid, field, path); });
  limit.rlim_cur = unlimited;
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, previous);

  EXPECT_THAT(error, says(ErrorKind::resource, "cannot write '" + path + "'", "File too large"));
  const std::string who =
      ranks() > 1 ? "rank " + std::to_string(ranks() - 1) + ": cannot" : "cannot";
  EXPECT_THAT(error.text, StartsWith(who));
  if (rank() != 0) return;
  EXPECT_EQ(content_of(path), before) << "the old file stays";
  EXPECT_EQ(names_in(folder_.path()).size(), 1u) << "nothing else does";
}

/// A file system of 1 MiB, for as long as this lives.
class SmallDisk {
 public:
  SmallDisk(const Communicator& communicator, const std::string& path)
      : communicator_(communicator), path_(path) {
    if (communicator.rank() == 0) {
      fs::create_directory(path);
      if (::mount("halocline", path.c_str(), "tmpfs", 0, "size=1m") != 0)
        reason_ = std::strerror(errno);
    }
    reason_ = comm::broadcast(communicator, reason_, 0);
  }
  ~SmallDisk() {
    comm::barrier(communicator_);
    if (communicator_.rank() == 0 && reason_.empty()) ::umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  /// Why there is none; empty if there is.
  const std::string& reason() const { return reason_; }

 private:
  Communicator communicator_;
  std::string path_;
  std::string reason_;
};

TEST_F(NpyErrors, OfAFullDiskLeaveTheOldFile) {
  const std::string mounted = folder_ / "small";
  const SmallDisk disk(world_, mounted);
  if (!disk.reason().empty())
    GTEST_SKIP() << "a file system of 1 MiB cannot be mounted: " << disk.reason();
  const std::string path = mounted + "/u.npy";
  ASSERT_FALSE(write(path).kind);
  const std::string before = rank() == 0 ? content_of(path) : "";

  const Grid grid(rank(), ranks(), {.cells = {400, 400}});
  const Field<double> large(grid);
  const Caught error = together([&] { files::write_npy(world_, grid, large, path); });
  EXPECT_THAT(error,
              says(ErrorKind::resource, "cannot write '" + path + "': No space left on device",
                   "free some space or write elsewhere"));
  if (rank() != 0) return;
  EXPECT_EQ(content_of(path), before);
  EXPECT_EQ(names_in(mounted).size(), 1u);
}

class Pictures : public Files {
 protected:
  template <class Real>
  static Real value(const Int3& at) {
    if (at == Int3{1, 3, 1}) return std::numeric_limits<Real>::quiet_NaN();
    return static_cast<Real>(static_cast<double>(6 * (at.x % 17) - 3 * (at.y % 5) + 2 * at.z) / 6);
  }

  struct Plane {
    std::int64_t width, height, step = 1, z = 0;
    std::optional<double> aspect = {};
    std::string part = {};
  };
  template <class Real>
  void expect_picture(const Extents& cells, const Plane& plane) {
    const std::string expected = drawn<Real>(plane);
    for (const GridOptions& options : splits(cells)) {
      const Grid grid(rank(), ranks(), options);
      SCOPED_TRACE(describe(grid));
      const Field<Real> field(grid);
      for_each_cell(grid.owned(),
                    [&](const Int3& at) { field(at.x, at.y, at.z) = value<Real>(at); });
      const files::Shown shown = files::write_picture(world_, grid, field, folder_ / "u.png",
                                                      {.title = "wave", .spacing = {2, 1, 1}});
      EXPECT_EQ(shown.part, plane.part);
      ASSERT_TRUE(shown.scale) << "on every rank";
      EXPECT_LT(shown.scale->range.min, shown.scale->range.max);
      if (rank() == 0) {
        EXPECT_EQ(content_of(folder_ / "u.png"), expected);
      }
    }
  }

  template <class Real>
  static std::string drawn(const Plane& plane) {
    std::vector<double> values;
    const auto cell = [&](std::int64_t sample, std::int64_t samples) {
      return samples > 1 ? sample * plane.step + plane.step / 2 : 0;
    };
    for (std::int64_t y = 0; y < plane.height; ++y)
      for (std::int64_t x = 0; x < plane.width; ++x)
        values.push_back(value<Real>({cell(x, plane.width), cell(y, plane.height), plane.z}));
    const std::vector<std::byte> bytes = encode_png({.width = plane.width,
                                                     .height = plane.height,
                                                     .values = values,
                                                     .aspect = plane.aspect,
                                                     .scale = scale_of(range_of(values).value()),
                                                     .title = "wave" + plane.part});
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
};

TEST_F(Pictures, AreTheSameForAnyProcessGrid) {
  expect_picture<double>({13, 7}, {.width = 13, .height = 7, .aspect = 3.5 / 13});
  expect_picture<float>({40}, {.width = 40, .height = 1});
  expect_picture<float>({6, 5, 3},
                        {.width = 6, .height = 5, .z = 1, .aspect = 2.5 / 6, .part = ", z = 1"});
}

TEST_F(Pictures, ShowSomeOfVeryManyCells) {
  expect_picture<double>({3000},
                         {.width = 1000, .height = 1, .step = 3, .part = ", one cell in 3"});
  const std::string part = ", one cell in 3 x 3";
  expect_picture<float>(
      {3000, 9}, {.width = 1000, .height = 3, .step = 3, .aspect = 4.5 / 3000, .part = part});
  expect_picture<double>(
      {8, 2100}, {.width = 3, .height = 700, .step = 3, .aspect = 1050.0 / 8, .part = part});
}

TEST_F(Pictures, OfPathsThatCannotBeWrittenAreErrors) {
  const Grid grid(rank(), ranks(), {.cells = {12, 8}});
  const Field<double> field(grid), vectors(grid, {.components = 3});
  const auto write = [&](const FieldStorage& what, const std::string& path) {
    return together([&] { files::write_picture(world_, grid, what, path); });
  };
  EXPECT_THAT(write(field, folder_ / "none/u.png").text, HasSubstr("there is no folder"));
  EXPECT_EQ(write(field, "/dev/full").kind, ErrorKind::resource);
  EXPECT_THAT(write(vectors, folder_ / "u.png").text, HasSubstr("has 3 components"));
}

}  // namespace
}  // namespace halocline::test

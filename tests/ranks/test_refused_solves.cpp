// SPDX-License-Identifier: Apache-2.0
// What solve() refuses before its first sweep, on every rank, and can find only there: files,
// transports, schedules, memory and GPUs. What is wrong with the options alone:
// tests/unit/test_command_line_errors.cpp.

#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "comm/collectives.hpp"
#include "stencil/sweep.hpp"
#include "support/caught.hpp"
#include "support/communicators.hpp"
#include "support/npy_bytes.hpp"
#include "support/ranks.hpp"
#include "support/shared_folder.hpp"
#include "support/small_solve.hpp"

namespace halocline::test {
namespace {

using testing::HasSubstr;

constexpr std::string_view with_a_coefficient = R"toml(axes = 2
cells = [5, 40]
[fields.u]
initial = 1
boundary = "periodic"
[coefficients]
c = { file = "c-000010.npy" }
[update]
u = "u + 0.1*c*laplace(u)"
[stop]
sweeps = 45
)toml";

class RefusedSolves : public testing::Test {
 protected:
  RefusedSolves() {
    options_.backend = "cpu";
    put("s.toml", std::string(with_a_coefficient));
    put("c-000010.npy", npy_file("<f8", "(40, 5)", std::string(40 * 5 * 8, '\0')));
  }

  void put(const std::string& name, const std::string& bytes) const {
    comm::barrier(world());
    if (rank() == 0) std::ofstream(folder_ / name, std::ios::binary) << bytes;
    comm::barrier(world());
  }

  Caught refusal() const {
    return caught([&] { solve(world(), options_); });
  }

  /// Every rank is told of the kind and the words; no file is added.
  void expect_refusal(ErrorKind kind, std::initializer_list<const char*> words) const {
    const std::vector<std::string> before = names_in(folder_.path());
    comm::barrier(world());
    const Caught error = refusal();
    EXPECT_EQ(error.kind, kind) << error.text;
    for (const char* word : words) EXPECT_THAT(error.text, HasSubstr(word));
    comm::barrier(world());
    EXPECT_EQ(names_in(folder_.path()), before);
    comm::barrier(world());
  }

  /// The same of a start with these bytes for 5x40 cells.
  void expect_no_start(const std::string& bytes, std::initializer_list<const char*> words) {
    put("u.npy", bytes);
    options_.initial = folder_ / "u.npy";
    expect_refusal(ErrorKind::usage, words);
  }

  SharedFolder folder_{world()};
  SolveOptions options_ = small("laplace", {5, 40}, 1);
};

TEST_F(RefusedSolves, AreOfTransportsAndSchedulesThatAreNot) {
  options_.transport = "pigeon";
  expect_refusal(ErrorKind::usage, {"'pigeon'", "shared", "mpi"});
  options_.transport = "self=mpi,other-node=pigeon";
  expect_refusal(ErrorKind::usage, {"'pigeon'"});
  options_.transport = "next-binding=mpi";
  expect_refusal(ErrorKind::usage, {"next-binding=mpi", "same-node="});
  options_.transport = "same-node=mpi,same-node=shared";
  expect_refusal(ErrorKind::usage, {"same-node"});
  options_.transport = "auto";
  options_.schedule = "lazy";
  expect_refusal(ErrorKind::usage, {"'lazy'", "sequential, overlap"});
}

TEST_F(RefusedSolves, AreOfATransportThatCannotServe) {
  if (ranks() < 2) GTEST_SKIP() << "one rank needs no transport";
  options_.transport = "self";
  expect_refusal(ErrorKind::unavailable, {"self", "same-node", "same-node=shared"});
}

TEST_F(RefusedSolves, AreOfCellsThatNoMemoryHolds) {
  options_ = small("laplace", {1'000'000'000, 1'000'000'000}, 1);
  options_.backend = "cpu";
  expect_refusal(ErrorKind::resource,
                 {"1000000000x1000000000 cells", "f64", "13.9 EiB", "fewer cells"});
  options_.precision = Precision::f32;
  expect_refusal(ErrorKind::resource, {"f32", "6.94 EiB", "fewer cells"});
}

TEST_F(RefusedSolves, AreOfGpusThatAreNotThere) {
  if (!stencil::find_backend("cuda").unavailable()) GTEST_SKIP() << "there is a GPU";
  options_.backend = "cuda";
  expect_refusal(ErrorKind::unavailable, {"cuda", "option 'backend' to 'cpu'"});
  options_.backend = "auto";
  options_.memory = Memory::device;
  expect_refusal(ErrorKind::unavailable, {"needs a GPU", "option 'memory'"});
  options_.memory = Memory::managed;
  expect_refusal(ErrorKind::unavailable, {"needs a GPU", "use host memory"});
  options_.backend = "cpu";
  options_.memory = Memory::system;
  expect_refusal(ErrorKind::unavailable, {"needs a GPU", "use host memory"});
}

TEST_F(RefusedSolves, AreOfStartsThatAreNoArrays) {
  options_.initial = folder_ / "none.npy";
  expect_refusal(ErrorKind::usage, {"none.npy", "no such file"});
  options_.initial = folder_.path();
  expect_refusal(ErrorKind::usage, {"it is a folder"});
  expect_no_start("", {"u.npy", "not a .npy file"});
  expect_no_start("kept", {"u.npy", "not a .npy file"});
  expect_no_start(std::string("\x89PNG\r\n\x1a\n") + std::string(100, '\0'),
                  {"not a .npy file", "numpy.save"});
}

TEST_F(RefusedSolves, AreOfStartsOfOtherArrays) {
  const std::string data(40 * 5 * 8, '\0');
  const auto of_type = [&](const char* type) { return npy_file(type, "(40, 5)", data); };
  expect_no_start(npy_file("<f8", "(5, 40)", data), {"u.npy", "(5, 40)", "(40, 5)"});
  expect_no_start(npy_file("<f8", "(200,)", data), {"(200,)", "(40, 5)"});
  expect_no_start(of_type("<f4"), {"'<f4'", "'<f8'"});
  expect_no_start(of_type("<i8"), {"'<i8'", "'<f8'"});
  expect_no_start(of_type("<c16"), {"'<c16'", "'<f8'"});
  expect_no_start(of_type("<U3"), {"'<U3'", "'<f8'"});
  expect_no_start(of_type("|O"), {"objects"});
  expect_no_start(of_type(">f8"), {"big-endian", "astype"});
  expect_no_start(npy_file("<f8", "(40, 5)", data, "True"), {"Fortran order", "ascontiguousarray"});
  expect_no_start(
      npy_with(
          "{'descr': [('u', '<f8'), ('v', '<f8')], 'fortran_order': False, 'shape': (40, 5), }",
          data + data),
      {"u.npy", "records"});
  options_.precision = Precision::f32;
  expect_no_start(of_type("<f8"), {"'<f8'", "'<f4'"});
}

TEST_F(RefusedSolves, AreOfStartsThatAreDamaged) {
  const std::string whole = npy_file("<f8", "(40, 5)", std::string(40 * 5 * 8, '\0'));
  expect_no_start(whole.substr(0, whole.size() - 1), {"truncated", "1600 bytes", "1599"});
  expect_no_start(whole.substr(0, 40), {"truncated"});
  std::string other = whole;
  other.replace(6, 2, "\x09\x00", 2);
  expect_no_start(other, {"version 9.0"});
  other = whole;
  other.replace(other.find("'descr'"), 7, "'dexcr'");
  expect_no_start(other, {"malformed header", "dexcr"});
}

TEST_F(RefusedSolves, AreOfFilesThatCannotBeWritten) {
  options_.output = folder_ / "none/u.npy";
  expect_refusal(ErrorKind::usage, {"none/u.npy", "there is no folder"});
  if (rank() == 0) ::mkfifo((folder_ / "pipe.npy").c_str(), 0600);
  comm::barrier(world());
  options_.output = folder_ / "pipe.npy";
  expect_refusal(ErrorKind::usage, {"pipe.npy", "a pipe"});
  options_.output.reset();
  options_.sums = {"u"};
  for (const char* name : {"a.txt", "s.toml"}) {
    options_.series = folder_ / name;
    expect_refusal(ErrorKind::usage, {"option 'series'", name, ".csv"});
  }
}

TEST_F(RefusedSolves, AreOfFilesThatTheRunReads) {
  options_ = small(folder_ / "s.toml", {}, 45);
  options_.output = folder_ / "c.npy";
  options_.output_every = 5;
  expect_refusal(ErrorKind::usage, {"c-000010.npy", "coefficient"});
  options_.output.reset();
  options_.output_every.reset();
  options_.trace = folder_ / "s.toml";
  expect_refusal(ErrorKind::usage, {"the problem", "option 'trace'"});
}

}  // namespace
}  // namespace halocline::test

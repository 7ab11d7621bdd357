// SPDX-License-Identifier: Apache-2.0
// Files written beside the sweeps: the bytes of those written between them, and what it takes.

#include <filesystem>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/solver.hpp>

#include "comm/second_thread.hpp"
#include "support/caught.hpp"
#include "support/memories.hpp"
#include "support/ranks.hpp"
#include "support/shared_folder.hpp"
#include "support/small_solve.hpp"
#include "support/temporary_folder.hpp"

namespace halocline::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using Writing = SolveOptions::Writing;

std::map<std::string, std::string> files_in(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    files[entry.path().filename().string()] = content_of(entry.path());
  }
  return files;
}

/// Files are due at sweeps of their own, and at one together.
SolveOptions run_with_files(const SharedFolder& folder, Writing writing) {
  SolveOptions options = small("gray_scott", {61, 47}, 30);
  options.output = folder / "u.npy";
  options.field_outputs = {{"v", folder / "v.png"}, {"", folder / "all.vti"}};
  options.output_every = 6;
  options.checkpoint = folder / "checkpoints";
  options.checkpoint_every = 4;
  options.writing = writing;
  return options;
}

void expect_same_files(const std::string& backend) {
  std::map<Writing, std::map<std::string, std::string>> files;
  std::map<Writing, SolveResult> results;
  for (const Writing writing : {Writing::between, Writing::automatic}) {
    const SharedFolder folder(world());
    SolveOptions options = run_with_files(folder, writing);
    options.backend = backend;
    results[writing] = solve(world(), options);
    files[writing] = files_in(folder.path());
    EXPECT_EQ(results[writing].checkpoints->written, 8);  // 4, 8, ... 28, and the end
    SolveOptions going_on;
    going_on.restart = folder / "checkpoints";
    going_on.sweeps = 41;
    going_on.threads = 1;
    results[writing] = solve(world(), going_on);
  }
  EXPECT_GE(files[Writing::between].size(), 6 * 3 + 1u);
  EXPECT_EQ(files[Writing::between], files[Writing::automatic]);
  EXPECT_EQ(results[Writing::between].checksum, results[Writing::automatic].checksum);
}

TEST(Writer, GivesTheSameFilesBesideTheSweeps) { expect_same_files("cpu"); }

TEST(Writer, GivesTheSameFilesOfAGpu) {
  if (no_gpu()) GTEST_SKIP() << *no_gpu();
  expect_same_files("cuda");
}

TEST(Writer, NeedsMpiForAnyThread) {
  const SharedFolder folder(world());
  const SolveOptions options = run_with_files(folder, Writing::beside);
  if (comm::any_thread_may_call()) {
    const SolveResult result = solve(world(), options);
    EXPECT_EQ(result.writing->waits_because, "");
    EXPECT_EQ(result.writing->copies_in, no_gpu() ? "host" : "device");
    return;
  }
  const Caught error = caught([&] { solve(world(), options); });
  EXPECT_EQ(error.kind, ErrorKind::unavailable);
  EXPECT_THAT(error.text, HasSubstr("MPI runs with MPI_THREAD_FUNNELED, and a second thread needs "
                                    "MPI_THREAD_MULTIPLE; leave option 'writing' out"));
  const SolveResult result = solve(world(), run_with_files(folder, Writing::automatic));
  EXPECT_THAT(result.writing->waits_because, HasSubstr("MPI_THREAD_MULTIPLE"));
  EXPECT_EQ(result.writing->copies_in, "");
}

TEST(Writer, IsNotThereForARunWithoutFilesOnItsWay) {
  const SharedFolder folder(world());
  SolveOptions options = small("laplace", {20, 20}, 3);
  options.output = folder / "u.npy";
  options.writing = Writing::beside;
  EXPECT_FALSE(solve(world(), options).writing);
}

/// A disk that fails does so after the sweeps, with the run's result.
TEST(Writer, TellsWhatFailedAfterTheSweeps) {
  const SharedFolder folder(world());
  SolveOptions options = run_with_files(folder, Writing::automatic);
  // In place of a file that it is to write, once the names have been checked.
  options.stop_request = [&] {
    if (rank() == 0) fs::create_directories(folder / "v-000012.png/in the way");
    return "";
  };
  try {
    solve(world(), options);
    ADD_FAILURE() << "nothing failed";
  } catch (const IncompleteSolve& error) {
    EXPECT_THAT(error.what(), HasSubstr("v-000012.png"));
    EXPECT_EQ(error.result().sweeps, 30);
    EXPECT_EQ(error.result().checkpoints->written, 8);
  }
}

}  // namespace
}  // namespace halocline::test

// SPDX-License-Identifier: Apache-2.0
// Choosing how a case is run by measuring: whatever is chosen, the result is the same bits.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/solver.hpp>

#include "base/files/record_file.hpp"
#include "comm/collectives.hpp"
#include "device/gpu.hpp"
#include "support/communicators.hpp"
#include "support/memories.hpp"
#include "support/ranks.hpp"
#include "support/temporary_folder.hpp"

namespace halocline::test {
namespace {

using testing::HasSubstr;

// Not spent: a busy machine may take its time for each way.
constexpr double plenty = 1000;

SolveOptions small_laplace(const Extents& cells, std::int64_t sweeps) {
  SolveOptions options;
  options.problem = "laplace";
  options.cells = cells;
  options.sweeps = sweeps;
  options.tolerance = 0;
  options.threads = 1;
  options.backend = "cpu";
  options.tuning_seconds = 0;
  return options;
}

/// A file of the test's own that all ranks name alike.
class SharedFile {
 public:
  SharedFile() {
    if (world().rank() == 0) path_ = (folder_.path() / "tuning.json").string();
    path_ = comm::broadcast(world(), path_, 0);
  }
  ~SharedFile() { comm::barrier(world()); }
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  TemporaryFolder folder_;
  std::string path_;
};

std::vector<Json> ways_in(const std::string& path) {
  return read_records(path, {.format = "halocline tuning", .version = 1, .list = "ways"}).records;
}

void expect_fastest(const SolveResult& result) {
  const SolveResult::Choice& choice = result.choice;
  ASSERT_EQ(choice.by, "measurement");
  ASSERT_GE(choice.tried.size(), 2u);
  std::set<std::tuple<std::int64_t, std::int64_t, std::string, bool>> seen;
  for (const auto& way : choice.tried) {
    EXPECT_GT(way.seconds_per_sweep, 0);
    EXPECT_GE(way.seconds_per_sweep, 0.96 * choice.seconds_per_sweep) << way.schedule;
    EXPECT_TRUE(
        seen.emplace(way.process_grid[0], way.process_grid[1], way.schedule, way.in_graphs).second)
        << "measured twice";
    if (way.seconds_per_sweep == choice.seconds_per_sweep) {
      EXPECT_EQ(way.schedule, result.schedule);
      EXPECT_EQ(way.process_grid, result.process_grid);
    }
  }
}

TEST(Tuning, MeasuresWhatIsLeftOpen) {
  if (ranks() == 1) GTEST_SKIP() << "one rank has one way";
  SolveOptions options = small_laplace({96, 80}, 30);
  const SolveResult expected = solve(world(), options);
  EXPECT_EQ(expected.choice.by, "rule");
  EXPECT_TRUE(expected.choice.tried.empty());
  options.tuning_seconds = plenty;
  const SolveResult result = solve(world(), options);
  expect_fastest(result);
  EXPECT_LE(result.choice.seconds, plenty);
  EXPECT_EQ(result.checksum, expected.checksum);
  EXPECT_EQ(result.norm_history, expected.norm_history);
  EXPECT_EQ(result.sweeps, 30);
}

TEST(Tuning, LeavesAloneWhatIsGiven) {
  if (ranks() == 1) GTEST_SKIP() << "one rank has one way";
  SolveOptions options = small_laplace({64, 64}, 10);
  options.tuning_seconds = plenty;
  options.process_grid = Extents{1, ranks()};
  options.schedule = "overlap";
  const SolveResult fixed = solve(world(), options);
  EXPECT_EQ(fixed.choice.by, "rule");
  EXPECT_EQ(fixed.schedule, "overlap");
  options.schedule = "auto";
  const SolveResult open = solve(world(), options);
  expect_fastest(open);
  for (const auto& way : open.choice.tried) EXPECT_EQ(way.process_grid, options.process_grid);
  options.process_grid = {};
  options.schedule = "overlap";
  for (const auto& way : solve(world(), options).choice.tried) EXPECT_EQ(way.schedule, "overlap");
}

TEST(Tuning, TakesNoMoreThanItsShareOfARun) {
  SolveOptions options = small_laplace({64, 64}, 200);
  options.tuning_seconds.reset();
  EXPECT_EQ(solve(world(), options).choice.by, "rule") << "2 % of 200 sweeps measure nothing";
}

TEST(Tuning, KeepsWhatItFoundAndFindsItAgain) {
  if (ranks() == 1) GTEST_SKIP() << "one rank has one way";
  const SharedFile file;
  SolveOptions options = small_laplace({80, 64}, 20);
  options.tuning_seconds = plenty;
  options.tuning_file = file.path();
  const SolveResult first = solve(world(), options);
  expect_fastest(first);
  const SolveResult again = solve(world(), options);
  EXPECT_EQ(again.choice.by, "file");
  EXPECT_FALSE(again.choice.when.empty());
  EXPECT_EQ(again.process_grid, first.process_grid);
  EXPECT_EQ(again.schedule, first.schedule);
  EXPECT_EQ(again.transports, first.transports);
  EXPECT_NEAR(again.choice.seconds_per_sweep, first.choice.seconds_per_sweep, 1e-12);
  EXPECT_EQ(again.checksum, first.checksum);

  options.cells = {80, 65};
  EXPECT_EQ(solve(world(), options).choice.by, "measurement") << "of other cells it knows nothing";
  comm::on_first_rank(world(), [&] { EXPECT_EQ(ways_in(file.path()).size(), 2u); });
}

TEST(Tuning, TellsOfAFileThatCannotBeWritten) {
  if (ranks() == 1) GTEST_SKIP() << "one rank has one way";
  SolveOptions options = small_laplace({48, 48}, 10);
  options.tuning_seconds = plenty;
  options.tuning_file = "/no/folder/tuning.json";
  const SolveResult result = solve(world(), options);
  EXPECT_EQ(result.choice.by, "measurement");
  EXPECT_THAT(result.notes, testing::Contains(HasSubstr("was not stored")));
}

TEST(Tuning, MeasuresAgainWhatCannotBe) {
  if (ranks() == 1) GTEST_SKIP() << "one rank has one way";
  const SharedFile file;
  SolveOptions options = small_laplace({48, 64}, 20);
  options.tuning_seconds = plenty;
  options.tuning_file = file.path();
  solve(world(), options);
  comm::on_first_rank(world(), [&] {
    change_records(file.path(), {.format = "halocline tuning", .version = 1, .list = "ways"},
                   OtherFile::keep, [](const RecordFile& there) {
                     std::vector<Json> tried = there.records;
                     for (Json& way : tried) way["schedule"] = "telepathy";
                     return tried;
                   });
  });
  const SolveResult result = solve(world(), options);
  EXPECT_EQ(result.choice.by, "measurement");
  ASSERT_FALSE(result.notes.empty());
  EXPECT_THAT(result.notes, testing::Contains(HasSubstr("there is no schedule 'telepathy'")));
  comm::on_first_rank(world(), [&] {
    const std::vector<Json> tried = ways_in(file.path());
    ASSERT_EQ(tried.size(), 1u);
    EXPECT_EQ(tried[0]["schedule"], result.schedule);
  });
}

TEST(Tuning, LeavesAForeignFileAlone) {
  if (ranks() == 1) GTEST_SKIP() << "one rank has one way";
  const SharedFile file;
  comm::on_first_rank(world(), [&] { std::ofstream(file.path()) << "dear diary"; });
  SolveOptions options = small_laplace({48, 48}, 10);
  options.tuning_seconds = plenty;
  options.tuning_file = file.path();
  const SolveResult result = solve(world(), options);
  EXPECT_THAT(result.notes, testing::Contains(HasSubstr("it is damaged, or not a file of ways")));
  EXPECT_THAT(result.notes, testing::Contains(HasSubstr("was not changed")));
  comm::on_first_rank(world(), [&] { EXPECT_EQ(content_of(file.path()), "dear diary"); });
}

// Also where a norm that is not a number would stop a trial, and in graphs.
TEST(Tuning, MeasuresOnGpus) {
  NEED_GPU();
  if (device::gpus().list.size() < static_cast<std::size_t>(ranks()))
    GTEST_SKIP() << "every rank needs a GPU of its own";
  SolveOptions options = small_laplace({12, 10}, 150);
  const SolveResult expected = solve(world(), options);
  options.backend = "cuda";
  options.tuning_seconds = plenty;
  const SolveResult result = solve(world(), options);
  expect_fastest(result);
  EXPECT_EQ(result.checksum, expected.checksum);
  EXPECT_EQ(result.norm_history, expected.norm_history);
}

}  // namespace
}  // namespace halocline::test

// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/error.hpp>

#include "files/attempts.hpp"
#include "files/result_files.hpp"
#include "support/caught.hpp"
#include "support/temporary_folder.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;
using test::says;
using testing::AllOf;
using testing::HasSubstr;

class ResultFiles : public testing::Test {
 protected:
  static test::Caught error_of(const RunFiles& files) {
    return test::caught([&] { check(files); });
  }

  /// What is wrong with two results of these names.
  test::Caught error_of(const std::string& first, const std::string& second) const {
    RunFiles files;
    files.add_result("option 'output'", folder_ / first);
    files.add_result("option 'trace'", folder_ / second);
    return error_of(files);
  }

  const test::TemporaryFolder folder_;
};

TEST(Numbered, PutsTheNumberBeforeTheEnding) {
  EXPECT_EQ(numbered("u.npy", 100), "u-000100.npy");
  EXPECT_EQ(numbered("a.b/u.v.png", 0), "a.b/u.v-000000.png");
  EXPECT_EQ(numbered("./u.npy", 12'345'678), "./u-12345678.npy");
}

TEST_F(ResultFiles, OfManyNumbersAreApartFromAllOthers) {
  RunFiles files;
  files.add_result("option 'output'", folder_ / "u.npy", 100, Numbers{.last = 50, .fewest = 6});
  files.add_result("option 'trace'", folder_ / "u.npy");
  files.add_result("option 'json'", folder_ / "u-000051.npy");
  files.add_used("option 'initial'", folder_ / "u-000040.npy", "option 'output'");
  files.add_used("the problem", folder_ / "u-00040.npy");
  EXPECT_EQ(error_of(files).text, "no error");
  EXPECT_EQ(fs::directory_iterator(folder_.path()), fs::directory_iterator())
      << "nothing stays behind";

  RunFiles same = files;
  same.add_result("option 'series'", folder_ / "u-000007.npy");
  EXPECT_THAT(error_of(same).text, AllOf(HasSubstr("'output'"), HasSubstr("'series'")));
  RunFiles twice = files;
  twice.add_result("option 'output'", folder_ / "u.npy", 0, Numbers{.last = 9});
  EXPECT_THAT(error_of(twice).text, HasSubstr("u-000000.npy"));
  RunFiles used = files;
  used.add_used("a coefficient", folder_ / "u-000030.npy");
  EXPECT_THAT(error_of(used).text, HasSubstr("overwrite"));
}

TEST_F(ResultFiles, OfManyNumbersMayBeThereUnderOtherNames) {
  std::ofstream(folder_ / "c.npy") << "old";
  fs::create_symlink("c.npy", folder_ / "u-000020.npy");
  RunFiles files;
  files.add_result("option 'output'", folder_ / "u.npy", 0, Numbers{.last = 50});
  files.add_used("a coefficient", folder_ / "c.npy");
  EXPECT_THAT(error_of(files).text, AllOf(HasSubstr("'output'"), HasSubstr("c.npy")));
  fs::remove(folder_ / "u-000020.npy");
  EXPECT_EQ(error_of(files).text, "no error");
  fs::create_directory(folder_ / "u-000030.npy");
  EXPECT_EQ(error_of(files).kind, ErrorKind::usage);
  EXPECT_THAT(error_of(files).text, HasSubstr("u-000030.npy"));
}

TEST_F(ResultFiles, OfManyNumbersNeedRoomForAll) {
  RunFiles files;
  const std::int64_t tebibyte = std::int64_t{1} << 40;
  files.add_result("option 'output'", folder_ / "u.npy", tebibyte / 1024,
                   Numbers{.last = 1 << 20, .fewest = 1 << 20});
  const test::Caught error = error_of(files);
  EXPECT_THAT(error, says(ErrorKind::resource, "1048576 files of 1 GiB"));
}

TEST_F(ResultFiles, OfDifferentNamesAreFine) {
  EXPECT_EQ(error_of("a", "b").text, "no error");
  EXPECT_EQ(fs::directory_iterator(folder_.path()), fs::directory_iterator())
      << "nothing stays behind";
}

TEST_F(ResultFiles, OfOneFileAreRefusedWithBothOptions) {
  std::ofstream(folder_ / "there") << "old";
  fs::create_symlink("there", folder_ / "link");
  fs::create_directory_symlink(".", folder_ / "around");
  for (const auto& [first, second] :
       {std::pair("new", "new"), std::pair("new", "./new"), std::pair("new", "around/new"),
        std::pair("there", "link"), std::pair("around/link", "there")}) {
    const test::Caught error = error_of(first, second);
    EXPECT_THAT(error, says(ErrorKind::usage, "option 'output'", "option 'trace'"));
  }
}

TEST_F(ResultFiles, DoNotReplaceWhatTheRunUses) {
  std::ofstream(folder_ / "u.npy") << "old";
  RunFiles files;
  files.add_result("option 'output'", folder_ / "u.npy");
  files.add_used("option 'initial'", folder_ / "./u.npy", "option 'output'");
  EXPECT_EQ(error_of(files).text, "no error") << "a run that goes on from its array";
  files.add_result("option 'trace'", folder_ / "t.json");
  files.add_used("option 'tuning_file'", folder_ / "t.json");
  EXPECT_THAT(error_of(files).text,
              AllOf(HasSubstr("option 'tuning_file'"), HasSubstr("option 'trace'")));
}

TEST_F(ResultFiles, OfDevicesMayBeMany) {
  RunFiles files;
  files.add_result("option 'output'", "/dev/null");
  files.add_result("option 'trace'", "/dev/null");
  EXPECT_EQ(error_of(files).text, "no error");
}

TEST_F(ResultFiles, ThatAreLargerThanTheDiskAreRefused) {
  RunFiles files;
  files.add_result("option 'output'", folder_ / "u.npy", std::int64_t{1} << 60);
  const test::Caught error = error_of(files);
  EXPECT_THAT(error, says(ErrorKind::resource, "u.npy", "1 EiB"));
}

TEST_F(ResultFiles, NeedNames) {
  for (const char* name : {"", "-"}) {
    RunFiles files;
    files.add_result("option 'output'", name);
    EXPECT_EQ(error_of(files).kind, ErrorKind::usage);
    EXPECT_THAT(error_of(files).text, HasSubstr("option 'output'"));
  }
}

TEST(Attempts, AreAllMadeAndToldAtTheEnd) {
  int made = 0;
  Attempts attempts;
  attempts.attempt([&] { ++made; });
  EXPECT_FALSE(attempts.error());
  EXPECT_NO_THROW(attempts.finish());
  attempts.attempt([] { throw Error(ErrorKind::resource, "the disk is full"); });
  attempts.attempt([] { throw std::bad_alloc(); });
  attempts.attempt([&] { ++made; });
  EXPECT_EQ(made, 2);
  ASSERT_TRUE(attempts.error());
  EXPECT_EQ(attempts.error()->kind(), ErrorKind::resource);
  EXPECT_THAT(attempts.error()->what(),
              AllOf(HasSubstr("the disk is full"), HasSubstr("out of host memory")));
  EXPECT_THROW(attempts.finish(), Error);
}

TEST(Attempts, EndWithALostRank) {
  int made = 0;
  Attempts attempts;
  attempts.attempt([] { throw Error(ErrorKind::usage, "a folder"); });
  attempts.attempt([] { throw Error(ErrorKind::communication, "rank 1 is lost"); });
  attempts.attempt([&] { ++made; });
  EXPECT_EQ(made, 0);
  EXPECT_EQ(attempts.error()->kind(), ErrorKind::communication);
  EXPECT_THAT(attempts.error()->what(), AllOf(HasSubstr("folder"), HasSubstr("rank 1")));
}

}  // namespace
}  // namespace halocline

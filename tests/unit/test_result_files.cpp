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

namespace halocline {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class ResultFiles : public testing::Test {
 protected:
  ResultFiles() {
    std::string name = (fs::temp_directory_path() / "halocline-test-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~ResultFiles() override { fs::remove_all(folder_); }

  std::string in_folder(const std::string& name) const { return (folder_ / name).string(); }

  static Error error_of(const RunFiles& files) {
    try {
      check(files);
    } catch (const Error& error) {
      return error;
    }
    return {ErrorKind::internal, "nothing was thrown"};
  }

  /// What is wrong with two results of these names.
  Error error_of(const std::string& first, const std::string& second) const {
    RunFiles files;
    files.add_result("option 'output'", in_folder(first));
    files.add_result("option 'trace'", in_folder(second));
    return error_of(files);
  }

  fs::path folder_;
};

TEST(Numbered, PutsTheNumberBeforeTheEnding) {
  EXPECT_EQ(numbered("u.npy", 100), "u-000100.npy");
  EXPECT_EQ(numbered("a.b/u.v.png", 0), "a.b/u.v-000000.png");
  EXPECT_EQ(numbered("./u.npy", 12'345'678), "./u-12345678.npy");
}

TEST_F(ResultFiles, OfManyNumbersAreApartFromAllOthers) {
  RunFiles files;
  files.add_result("option 'output'", in_folder("u.npy"), 100, Numbers{.last = 50, .fewest = 6});
  files.add_result("option 'trace'", in_folder("u.npy"));
  files.add_result("option 'json'", in_folder("u-000051.npy"));
  files.add_used("option 'initial'", in_folder("u-000040.npy"), "option 'output'");
  files.add_used("the problem", in_folder("u-00040.npy"));
  EXPECT_STREQ(error_of(files).what(), "nothing was thrown");
  EXPECT_EQ(fs::directory_iterator(folder_), fs::directory_iterator()) << "nothing stays behind";

  RunFiles same = files;
  same.add_result("option 'series'", in_folder("u-000007.npy"));
  EXPECT_THAT(error_of(same).what(), AllOf(HasSubstr("'output'"), HasSubstr("'series'")));
  RunFiles twice = files;
  twice.add_result("option 'output'", in_folder("u.npy"), 0, Numbers{.last = 9});
  EXPECT_THAT(error_of(twice).what(), HasSubstr("u-000000.npy"));
  RunFiles used = files;
  used.add_used("a coefficient", in_folder("u-000030.npy"));
  EXPECT_THAT(error_of(used).what(), HasSubstr("overwrite"));
}

TEST_F(ResultFiles, OfManyNumbersMayBeThereUnderOtherNames) {
  std::ofstream(in_folder("c.npy")) << "old";
  fs::create_symlink("c.npy", folder_ / "u-000020.npy");
  RunFiles files;
  files.add_result("option 'output'", in_folder("u.npy"), 0, Numbers{.last = 50});
  files.add_used("a coefficient", in_folder("c.npy"));
  EXPECT_THAT(error_of(files).what(), AllOf(HasSubstr("'output'"), HasSubstr("c.npy")));
  fs::remove(folder_ / "u-000020.npy");
  EXPECT_STREQ(error_of(files).what(), "nothing was thrown");
  fs::create_directory(folder_ / "u-000030.npy");
  EXPECT_EQ(error_of(files).kind(), ErrorKind::usage);
  EXPECT_THAT(error_of(files).what(), HasSubstr("u-000030.npy"));
}

TEST_F(ResultFiles, OfManyNumbersNeedRoomForAll) {
  RunFiles files;
  const std::int64_t tebibyte = std::int64_t{1} << 40;
  files.add_result("option 'output'", in_folder("u.npy"), tebibyte / 1024,
                   Numbers{.last = 1 << 20, .fewest = 1 << 20});
  const Error error = error_of(files);
  EXPECT_EQ(error.kind(), ErrorKind::resource);
  EXPECT_THAT(error.what(), HasSubstr("1048576 files of 1 GiB"));
}

TEST_F(ResultFiles, OfDifferentNamesAreFine) {
  EXPECT_STREQ(error_of("a", "b").what(), "nothing was thrown");
  EXPECT_EQ(fs::directory_iterator(folder_), fs::directory_iterator()) << "nothing stays behind";
}

TEST_F(ResultFiles, OfOneFileAreRefusedWithBothOptions) {
  std::ofstream(in_folder("there")) << "old";
  fs::create_symlink("there", folder_ / "link");
  fs::create_directory_symlink(".", folder_ / "around");
  for (const auto& [first, second] :
       {std::pair("new", "new"), std::pair("new", "./new"), std::pair("new", "around/new"),
        std::pair("there", "link"), std::pair("around/link", "there")}) {
    const Error error = error_of(first, second);
    EXPECT_EQ(error.kind(), ErrorKind::usage) << first << " and " << second;
    EXPECT_THAT(error.what(), AllOf(HasSubstr("option 'output'"), HasSubstr("option 'trace'")));
  }
}

TEST_F(ResultFiles, DoNotReplaceWhatTheRunUses) {
  std::ofstream(in_folder("u.npy")) << "old";
  RunFiles files;
  files.add_result("option 'output'", in_folder("u.npy"));
  files.add_used("option 'initial'", in_folder("./u.npy"), "option 'output'");
  EXPECT_STREQ(error_of(files).what(), "nothing was thrown") << "a run that goes on from its array";
  files.add_result("option 'trace'", in_folder("t.json"));
  files.add_used("option 'tuning_file'", in_folder("t.json"));
  EXPECT_THAT(error_of(files).what(),
              AllOf(HasSubstr("option 'tuning_file'"), HasSubstr("option 'trace'")));
}

TEST_F(ResultFiles, OfDevicesMayBeMany) {
  RunFiles files;
  files.add_result("option 'output'", "/dev/null");
  files.add_result("option 'trace'", "/dev/null");
  EXPECT_STREQ(error_of(files).what(), "nothing was thrown");
}

TEST_F(ResultFiles, ThatAreLargerThanTheDiskAreRefused) {
  RunFiles files;
  files.add_result("option 'output'", in_folder("u.npy"), std::int64_t{1} << 60);
  const Error error = error_of(files);
  EXPECT_EQ(error.kind(), ErrorKind::resource);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("u.npy"), HasSubstr("1 EiB")));
}

TEST_F(ResultFiles, NeedNames) {
  for (const char* name : {"", "-"}) {
    RunFiles files;
    files.add_result("option 'output'", name);
    EXPECT_EQ(error_of(files).kind(), ErrorKind::usage);
    EXPECT_THAT(error_of(files).what(), HasSubstr("option 'output'"));
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

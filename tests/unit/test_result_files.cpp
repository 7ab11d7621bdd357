// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/error.hpp>

#include "base/attempts.hpp"
#include "base/json_text.hpp"
#include "base/result_files.hpp"

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

TEST_F(ResultFiles, OfDifferentNamesAreFine) {
  EXPECT_STREQ(error_of("a", "b").what(), "nothing was thrown");
  EXPECT_EQ(fs::directory_iterator(folder_), fs::directory_iterator()) << "nothing stays behind";
}

TEST_F(ResultFiles, OfOneFileAreRefusedWithBothOptions) {
  std::ofstream(in_folder("there")) << "old";
  fs::create_symlink("there", folder_ / "link");
  fs::create_hard_link(folder_ / "there", folder_ / "hard");
  fs::create_directory_symlink(".", folder_ / "around");
  for (const auto& [first, second] :
       {std::pair("new", "new"), std::pair("new", "./new"), std::pair("new", "around/new"),
        std::pair("there", "link"), std::pair("hard", "there"), std::pair("around/link", "hard")}) {
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

TEST(JsonText, IsParsedAsFarAsItIsNotDeep) {
  EXPECT_EQ(parse_json(R"({"a": [1, "]]{{\"[["]})")["a"][0], 1);
  EXPECT_TRUE(parse_json("").is_discarded());
  EXPECT_TRUE(parse_json("[1,").is_discarded());
  const auto nested = [](std::size_t deep) {
    return std::string(deep, '[') + std::string(deep, ']');
  };
  EXPECT_TRUE(parse_json(nested(50)).is_array());
  EXPECT_TRUE(parse_json(nested(200'000)).is_discarded());
  std::string objects;
  for (int i = 0; i < 200'000; ++i) objects += R"({"a":)";
  EXPECT_TRUE(parse_json(objects).is_discarded());
  std::string wide = "[0";
  for (int i = 0; i < 200'000; ++i) wide += ",[]";
  EXPECT_EQ(parse_json(wide + "]").size(), 200'001U);
}

}  // namespace
}  // namespace halocline

// SPDX-License-Identifier: Apache-2.0
// Compiled kernels that are kept for later runs: whole, this user's alone, and harmless where they
// cannot be kept.

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "compiler/kept_code.hpp"
#include "support/temporary_folder.hpp"

namespace halocline::compiler {
namespace {

namespace fs = std::filesystem;
using testing::Optional;

class Kept : public testing::Test {
 protected:
  std::string folder() const { return (temporary_.path() / "cache" / "kernels").string(); }
  fs::path only_file() const {
    fs::path file;
    for (const auto& entry : fs::directory_iterator(folder())) file = entry.path();
    return file;
  }
  static std::string text_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void write(const fs::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }

  test::TemporaryFolder temporary_;
};

TEST_F(Kept, IsFoundByItsKeyAlone) {
  const KeptCode kept(folder());
  const std::string content = std::string("code\0\n", 6) + std::string(100'000, 'x');
  EXPECT_EQ(kept.find("a"), std::nullopt);
  kept.keep("a", content);
  EXPECT_THAT(kept.find("a"), Optional(content));
  EXPECT_EQ(kept.find("b"), std::nullopt);
  kept.keep("a", "newer");
  EXPECT_THAT(KeptCode(folder()).find("a"), Optional(std::string("newer")));
  EXPECT_EQ(fs::status(folder()).permissions(), fs::perms::owner_all);
}

// Any byte, also those of the hash and of the length.
TEST_F(Kept, IsNotFoundOnceItIsDamaged) {
  const KeptCode kept(folder());
  kept.keep("key", "content");
  const fs::path file = only_file();
  const std::string whole = text_of(file);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    write(file, damaged);
    EXPECT_EQ(kept.find("key"), std::nullopt) << at;
    write(file, whole.substr(0, at));
    EXPECT_EQ(kept.find("key"), std::nullopt) << at;
  }
  write(file, whole);
  EXPECT_TRUE(kept.find("key").has_value());
  // Another key's, under this one's name: as if their hashes were the same.
  kept.keep("other", "content");
  for (const auto& entry : fs::directory_iterator(folder()))
    if (entry.path() != file) fs::rename(entry.path(), file);
  EXPECT_EQ(kept.find("key"), std::nullopt);
}

TEST_F(Kept, IsOnlyInFoldersOfThisUserAlone) {
  const KeptCode kept(folder());
  kept.keep("key", "content");
  for (const fs::perms open : {fs::perms::group_read, fs::perms::others_exec}) {
    fs::permissions(folder(), fs::perms::owner_all | open);
    EXPECT_EQ(kept.find("key"), std::nullopt);
    kept.keep("key", "of others");
  }
  fs::permissions(folder(), fs::perms::owner_all);
  EXPECT_THAT(kept.find("key"), Optional(std::string("content")));
  // Links are not followed.
  const fs::path link = temporary_.path() / "link";
  fs::create_directory_symlink(folder(), link);
  EXPECT_EQ(KeptCode(link.string()).find("key"), std::nullopt);
  const fs::path file = only_file(), elsewhere = temporary_.path() / "elsewhere";
  fs::rename(file, elsewhere);
  fs::create_symlink(elsewhere, file);
  EXPECT_EQ(kept.find("key"), std::nullopt);
}

TEST_F(Kept, DoesNoHarmWhereItCannotBeKept) {
  const fs::path file = temporary_.path() / "file";
  write(file, "no folder");
  for (const std::string& place : {file.string(), (file / "below").string(), std::string(),
                                   std::string("/proc/self/kernels")}) {
    const KeptCode kept(place);
    kept.keep("key", "content");
    EXPECT_EQ(kept.find("key"), std::nullopt) << place;
  }
}

TEST_F(Kept, TakesNoMoreRoomThanItMay) {
  const KeptCode kept(folder(), 100'000);
  const std::string content(9'000, 'x');
  for (int number = 0; number < 40; ++number) kept.keep(std::to_string(number), content);
  std::uintmax_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder())) bytes += entry.file_size();
  EXPECT_LE(bytes, 100'000);
  EXPECT_GE(bytes, 50'000);
  kept.keep("large", std::string(50'000, 'x'));
  EXPECT_EQ(kept.find("large"), std::nullopt);
}

TEST(FolderOfKept, IsTheUsersCacheUnlessAVariableNamesIt) {
  using Folder = std::optional<std::string>;
  EXPECT_EQ(folder_of_kept_code({}), std::nullopt);
  EXPECT_EQ(folder_of_kept_code({{"HOME", "/home/u"}}), Folder("/home/u/.cache/halocline/kernels"));
  EXPECT_EQ(folder_of_kept_code({{"HOME", "/home/u"}, {"XDG_CACHE_HOME", "/c"}}),
            Folder("/c/halocline/kernels"));
  EXPECT_EQ(folder_of_kept_code({{"HOME", "/home/u"}, {"XDG_CACHE_HOME", "relative"}}),
            Folder("/home/u/.cache/halocline/kernels"));
  EXPECT_EQ(folder_of_kept_code({{"HOME", "/home/u"}, {"HALOCLINE_KERNELS", "/k"}}), Folder("/k"));
  EXPECT_EQ(folder_of_kept_code({{"HOME", "/home/u"}, {"HALOCLINE_KERNELS", "off"}}), std::nullopt);
}

}  // namespace
}  // namespace halocline::compiler

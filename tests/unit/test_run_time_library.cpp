// SPDX-License-Identifier: Apache-2.0
// Libraries that are found when a program runs: where, which of several, and why not.

#include <dlfcn.h>

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/libraries/run_time_library.hpp"
#include "support/temporary_folder.hpp"

namespace halocline::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

namespace fs = std::filesystem;

std::string version_2_10(void*) { return "2.10.3"; }
std::string no_version(void*) { return ""; }

/// A library that no machine has, unless a variable names its file.
LibraryToFind wanted(std::string (*version_of)(void*), const char* oldest) {
  return {
      "NONE", {"libnone-of-all.so.9", "", ""}, "TEST_LIBRARY_FILE", "PyPI: none-cu13", version_of,
      oldest};
}

/// Any library's file.
fs::path some_file() {
  void* const handle = ::dlopen("libm.so.6", RTLD_LAZY);
  return path_of_loaded(handle, "libm.so.6");
}

LoadedLibrary named_by_variable(const LibraryToFind& library) {
  const Variables variables{{library.variable, some_file().string()}};
  return load_library(library, files_to_load(library, variables));
}

TEST(RunTimeLibrary, IsLoadedIfItsVersionWillDo) {
  const LibraryToFind library = wanted(version_2_10, "2.10.3");
  const LoadedLibrary loaded = named_by_variable(library);
  EXPECT_NE(loaded.handle, nullptr);
  EXPECT_EQ(loaded.found.by, "TEST_LIBRARY_FILE");
  EXPECT_EQ(loaded.version, "2.10.3");
  EXPECT_EQ(why_not(library, loaded), "");
}

TEST(RunTimeLibrary, SaysWhatIsWrongAndWhatHelps) {
  const LibraryToFind old = wanted(version_2_10, "2.12.10");
  EXPECT_THAT(
      why_not(old, named_by_variable(old)),
      AllOf(HasSubstr("NONE 2.10.3 at '" + some_file().string()), HasSubstr("too old"),
            HasSubstr("2.12.10"), HasSubstr("PyPI: none-cu13"), HasSubstr("TEST_LIBRARY_FILE")));
  const LibraryToFind mute = wanted(no_version, "2.12.10");
  EXPECT_THAT(why_not(mute, named_by_variable(mute)),
              AllOf(HasSubstr("does not report its version"), HasSubstr("2.12.10"),
                    HasSubstr("PyPI: none-cu13"), HasSubstr("TEST_LIBRARY_FILE")));
  EXPECT_THAT(why_not(old, load_library(old, {{"/no/such/file", by_loader}})),
              AllOf(HasSubstr("/no/such/file"), HasSubstr("cannot be loaded"), HasSubstr("install"),
                    HasSubstr("TEST_LIBRARY_FILE")));
  EXPECT_THAT(
      why_not(old, load_library(old, {})),
      AllOf(HasSubstr("NONE was not found"), HasSubstr("install"), HasSubstr("TEST_LIBRARY_FILE")));
  EXPECT_THAT(how_to_get(old, {"/w/lib.so", by_program}),
              AllOf(HasSubstr("has loaded it"), Not(HasSubstr("TEST_LIBRARY_FILE"))))
      << "the variable would not be asked";
}

TEST(RunTimeLibrary, SaysWhatElseIsWrongWithOneThatIsNotTooOld) {
  LibraryToFind library = wanted(version_2_10, "2.10.3");
  library.problem_of = [](void*) -> std::string { return "lacks noneSend"; };
  EXPECT_THAT(why_not(library, named_by_variable(library)),
              AllOf(HasSubstr("lacks noneSend"), HasSubstr("TEST_LIBRARY_FILE")));
  library.oldest = "2.12.10";
  EXPECT_THAT(named_by_variable(library).problem, HasSubstr("too old"));
}

TEST(RunTimeLibrary, ThatTheProgramHasLoadedComesFirst) {
  LibraryToFind library = wanted(version_2_10, "2.10.3");
  library.file.name = "libm.so.6";
  const fs::path loaded = some_file();
  const auto files = files_to_load(library, {{"TEST_LIBRARY_FILE", "/other"}});
  ASSERT_GE(files.size(), 2U);
  EXPECT_EQ(files[0].file, loaded);
  EXPECT_EQ(files[0].by, by_program);
  EXPECT_EQ(files[1].file, "/other");
}

TEST(RunTimeLibrary, ThatOnlyTheLoadersConfigurationKnowsIsFoundWithoutLoadingIt) {
  const TemporaryFolder root;
  const fs::path& below = root.path();
  root.put("etc/ld.so.conf",
           "# the system's\n/opt/first # more\ninclude ld.so.conf.d/*.conf\nhwcap 0 none\n");
  root.put("etc/ld.so.conf.d/b.conf", "include /etc/loop.conf\n");
  root.put("etc/ld.so.conf.d/a.conf", "\n/opt/second\n");
  root.put("etc/loop.conf", "/opt/third\ninclude /etc/loop.conf\n");
  root.put("opt/third/libnone-of-all.so.9", "no library");
  std::vector<fs::path> folders = folders_of_loader({}, below);
  ASSERT_GE(folders.size(), 3U);
  folders.resize(3);
  EXPECT_THAT(folders,
              testing::ElementsAre(below / "opt/first", below / "opt/second", below / "opt/third"));
  const LibraryToFind library = wanted(version_2_10, nullptr);
  const auto files = files_to_load(library, {}, below);
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files.front().file, below / "opt/third/libnone-of-all.so.9");
  EXPECT_EQ(files.front().by, by_loader);
  EXPECT_THAT(files_to_load(library, {}), IsEmpty());
}

TEST(RunTimeLibrary, FunctionsThatItLacksAreNamed) {
  Symbols symbols(::dlopen(nullptr, RTLD_LAZY));
  double (*cosine)(double) = nullptr;
  void (*none)() = nullptr;
  symbols.find("malloc", cosine);
  EXPECT_EQ(symbols.problem(), "");
  symbols.find("no_such_function", none);
  EXPECT_THAT(symbols.problem(), HasSubstr("no_such_function"));
}

TEST(RunTimeLibrary, VersionsAsNumbers) {
  EXPECT_EQ(version_number("2.28.9"), 22809);
  EXPECT_EQ(version_number("2.4.8"), 20408);
  EXPECT_EQ(version_number("3.0.0"), 30000);
  EXPECT_EQ(version_number(""), 0);
}

}  // namespace
}  // namespace halocline::test

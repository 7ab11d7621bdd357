// SPDX-License-Identifier: Apache-2.0
#include <png.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <halocline/error.hpp>

#include "base/files/temporary_file.hpp"
#include "files/colour_map.hpp"
#include "files/png.hpp"
#include "support/caught.hpp"
#include "support/temporary_folder.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;
using test::caught;
using test::content_of;
using testing::AllOf;
using testing::HasSubstr;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double largest_double = std::numeric_limits<double>::max();
constexpr Colour not_finite_colour{230, 25, 75};

TEST(ColourMap, RunsFromDarkToBright) {
  const Palette palette = palette_of(ColourMap::viridis);
  EXPECT_EQ(palette[0], (Colour{0x44, 0x01, 0x54}));
  EXPECT_EQ(palette[254], (Colour{0xfd, 0xe7, 0x25}));
  const auto luma = [&](std::size_t i) {
    return 299 * palette[i].red + 587 * palette[i].green + 114 * palette[i].blue;
  };
  for (std::size_t i = 8; i < map_colours; i += 8) EXPECT_GT(luma(i), luma(i - 8)) << i;
}

TEST(ColourMap, DivergesFromGreyToBlueAndRed) {
  const Palette palette = palette_of(ColourMap::coolwarm);
  EXPECT_EQ(palette[0], (Colour{0x3b, 0x4c, 0xc0}));
  EXPECT_EQ(palette[127], (Colour{0xdd, 0xdc, 0xdc}));
  EXPECT_EQ(palette[254], (Colour{0xb4, 0x04, 0x26}));
  EXPECT_EQ(colour_number(0, {-3, 3}), 127);
}

TEST(ColourMap, HasOneMoreColourForWhatIsNotFinite) {
  for (const auto& [map, colour] : {std::pair(ColourMap::viridis, not_finite_colour),
                                    std::pair(ColourMap::coolwarm, Colour{0, 0, 0})}) {
    const Palette palette = palette_of(map);
    EXPECT_EQ(palette[255], colour);
    EXPECT_EQ(std::count(palette.begin(), palette.end(), colour), 1);
  }
  EXPECT_EQ(colour_number(nan, {0, 1}), 255);
  EXPECT_EQ(colour_number(infinity, {0, 1}), 255);
}

TEST(ColourMap, ClampsAndSurvivesExtremes) {
  EXPECT_EQ(colour_number(-1, {-1, 3}), 0);
  EXPECT_EQ(colour_number(3, {-1, 3}), 254);
  EXPECT_EQ(colour_number(7, {0, 1}), 254);
  EXPECT_EQ(colour_number(-7, {0, 1}), 0);
  EXPECT_EQ(colour_number(5, {5, 5}), 127);
  EXPECT_EQ(colour_number(0, {-largest_double, largest_double}), 127);
}

TEST(ColourMap, FindsTheRangeOfFiniteValues) {
  const std::optional<ValueRange> range =
      range_of(std::vector<double>{nan, 2, -infinity, -3, infinity});
  ASSERT_TRUE(range);
  EXPECT_EQ(range->min, -3);
  EXPECT_EQ(range->max, 2);
  EXPECT_FALSE(range_of(std::vector<double>{nan}));
}

TEST(ColourMap, DivergesWhereBothSignsAreOfAboutOneSize) {
  struct Case {
    ValueRange range;
    std::string found, fixed;
  };
  const std::string viridis = "viridis: ", coolwarm = "coolwarm: ";
  for (const Case& one : {
           Case{{0, 1}, viridis + "0 (dark) to 1 (bright)", viridis + "0 (dark) to 1 (bright)"},
           Case{{-1, 1}, coolwarm + "-1 (blue) to 1 (red)", coolwarm + "-1 (blue) to 1 (red)"},
           Case{{-1, 4}, coolwarm + "-4 (blue) to 4 (red)", viridis + "-1 (dark) to 4 (bright)"},
           Case{{-1, 4.25},
                viridis + "-1 (dark) to 4.25 (bright)",
                viridis + "-1 (dark) to 4.25 (bright)"},
           Case{{-4, 1}, coolwarm + "-4 (blue) to 4 (red)", viridis + "-4 (dark) to 1 (bright)"},
           Case{{-4.25, 1},
                viridis + "-4.25 (dark) to 1 (bright)",
                viridis + "-4.25 (dark) to 1 (bright)"},
           Case{{-2, -1},
                viridis + "-2 (dark) to -1 (bright)",
                viridis + "-2 (dark) to -1 (bright)"},
           Case{{-2, 0}, viridis + "-2 (dark) to 0 (bright)", viridis + "-2 (dark) to 0 (bright)"},
           Case{{1, 1.0000001},
                viridis + "1 (dark) to 1.0000001 (bright)",
                viridis + "1 (dark) to 1.0000001 (bright)"},
       }) {
    const auto text = [&](RangeIs is) {
      const ColourScale scale = scale_of(one.range, is);
      return name_of(scale.map) + ": " + scale.text();
    };
    EXPECT_EQ(text(RangeIs::found), one.found);
    EXPECT_EQ(text(RangeIs::fixed), one.fixed);
  }
  EXPECT_EQ(scale_of({0, 0}).text(), "0 everywhere");
  EXPECT_EQ(scale_of({0, 0}).map, ColourMap::viridis);
  EXPECT_EQ(scale_of({-largest_double, largest_double}).map, ColourMap::coolwarm);
}

struct Image {
  int width = 0;
  int height = 0;
  std::vector<Colour> pixels;
  std::map<std::string, std::string> texts;

  Colour at(int x, int y) const {
    return pixels[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                  static_cast<std::size_t>(x)];
  }
  /// Counts the pixels of one colour.
  std::ptrdiff_t count(Colour colour) const {
    return std::count(pixels.begin(), pixels.end(), colour);
  }
};

/// The texts of a PNG's chunks, by their keywords.
std::map<std::string, std::string> texts_of(const std::string& file) {
  std::map<std::string, std::string> texts;
  for (std::size_t at = 8; at + 12 <= file.size();) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < 4; ++i)
      length = 256 * length + static_cast<unsigned char>(file[at + i]);
    const std::string data = file.substr(at + 8, length);
    if (file.substr(at + 4, 4) == "tEXt")
      texts[data.substr(0, data.find('\0'))] = data.substr(data.find('\0') + 1);
    at += 12 + length;
  }
  return texts;
}

Image decode(const std::vector<std::byte>& file) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  EXPECT_TRUE(png_image_begin_read_from_memory(&png, file.data(), file.size())) << png.message;
  EXPECT_TRUE(png.format & PNG_FORMAT_FLAG_COLORMAP);
  png.format = PNG_FORMAT_RGB;
  Image image{static_cast<int>(png.width), static_cast<int>(png.height), {}, {}};
  image.pixels.resize(std::size_t{png.width} * png.height);
  EXPECT_TRUE(png_image_finish_read(&png, nullptr, image.pixels.data(), 0, nullptr));
  image.texts = texts_of({reinterpret_cast<const char*>(file.data()), file.size()});
  return image;
}

Image picture_of(std::int64_t width, std::int64_t height, const std::vector<double>& values,
                 std::optional<double> aspect = 1, const std::string& title = "") {
  const std::optional<ValueRange> range = range_of(values);
  return decode(encode_png({.width = width,
                            .height = height,
                            .values = values,
                            .aspect = aspect,
                            .scale = range ? std::optional(scale_of(*range)) : std::nullopt,
                            .title = title}));
}

TEST(Png, ShowsCellsAsSquaresWithTheFirstRowLowest) {
  const Image image = picture_of(3, 2, {0, 1, nan, 3, 4, 5}, 2.0 / 3);
  ASSERT_EQ(std::pair(image.width, image.height), std::pair(3 * 341, 2 * 341));
  const Palette palette = palette_of(ColourMap::viridis);
  const Colour expected[2][3] = {{palette[152], palette[203], palette[254]},
                                 {palette[0], palette[51], not_finite_colour}};
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x)
      ASSERT_EQ(image.at(x, y), expected[y / 341][x / 341]) << x << ", " << y;
}

TEST(Png, HasTheAspectOfTheDomain) {
  struct Case {
    std::int64_t width, height;
    std::optional<double> aspect;
    int pixels_x, pixels_y;
  };
  for (const Case& size : {
           Case{1, 1, 1, 1024, 1024},
           Case{16, 16, 1, 1024, 1024},
           Case{100, 50, 0.5, 1000, 500},
           Case{50, 100, 2, 500, 1000},
           Case{20, 16, 1, 1020, 1024},       // cells of 51 x 64
           Case{300, 300, 0.5, 600, 300},     // cells of 2 x 1, not 3 x 1.5
           Case{40, 30, 0.375, 960, 360},     // cells of 24 x 12
           Case{1000, 1000, 0.5, 1000, 500},  // more values than pixels
           Case{400, 300, 1, 800, 800},       // cells of 2 x 2.67
           Case{10, 1000, 0.5, 1020, 510},    // the longer side has fewer values
           Case{1000, 3, 0.003, 1000, 32},    // thin ones
           Case{1000, 700, 0.001, 1000, 32},
           Case{1, 1000, 1e9, 32, 1000},
           Case{9, 1, std::nullopt, 1017, 64},  // bands
           Case{1000, 1, std::nullopt, 1000, 64},
           Case{1, 1, std::nullopt, 1024, 64},
       }) {
    std::vector<double> values(static_cast<std::size_t>(size.width * size.height));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
    const Image image = picture_of(size.width, size.height, values, size.aspect);
    EXPECT_EQ(std::pair(image.width, image.height), std::pair(size.pixels_x, size.pixels_y))
        << size.width << " x " << size.height;
    // The corners of the domain are there.
    EXPECT_EQ(image.at(0, image.height - 1),
              palette_of(ColourMap::viridis)[values.size() > 1 ? 0 : 127]);
  }
}

TEST(Png, TellsItsTitleAndItsScale) {
  using Texts = std::map<std::string, std::string>;
  EXPECT_EQ(picture_of(2, 1, {0, 0.998}, 0.5, "heat 2x1, 5 sweeps").texts,
            (Texts{{"Title", "heat 2x1, 5 sweeps"},
                   {"Description", "viridis: 0 (dark) to 0.998 (bright)"}}));
  EXPECT_EQ(picture_of(3, 1, {-0.5, nan, 1}, 0.5, "W\xc3\xa4rme\n").texts,
            (Texts{{"Title", "W??rme?"},
                   {"Description", "coolwarm: -1 (blue) to 1 (red); not finite: 1 cell"}}));
  EXPECT_EQ(picture_of(2, 1, {nan, infinity}).texts["Description"], "no value is finite");
}

TEST(Png, DivergesFromZero) {
  const Image image = picture_of(3, 1, {-0.5, 0, 1}, std::nullopt);
  const Palette palette = palette_of(ColourMap::coolwarm);
  EXPECT_EQ(image.at(0, 0), palette[64]);
  EXPECT_EQ(image.at(512, 0), palette[127]);
  EXPECT_EQ(image.at(1022, 0), palette[254]);
}

TEST(Png, SurvivesValuesWithoutAnyRange) {
  const Image image = picture_of(2, 1, {nan, infinity}, std::nullopt);
  EXPECT_EQ(image.count(not_finite_colour), image.width * image.height);
  EXPECT_GT(picture_of(2, 1, {1e308, -1e308}).width, 0);
  EXPECT_GT(picture_of(2, 1, {5e-324, 0}).width, 0);
}

TEST(Png, RefusesSizesThatDoNotFit) {
  const std::vector<double> values(8);
  for (const auto& [width, height] : {std::pair(3, 3), std::pair(0, 8), std::pair(-4, -2)})
    EXPECT_EQ(caught([&, x = width, y = height] {
                encode_png({.width = x, .height = y, .values = values});
              }).kind,
              ErrorKind::usage);
}

class TemporaryFileTest : public testing::Test {
 protected:
  std::size_t files_in_folder() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()));
  }

  const test::TemporaryFolder folder_;
};

TEST_F(TemporaryFileTest, ReplacesTheTargetOnlyOnCommit) {
  const std::string target = folder_ / "field.txt";
  write_text_file(target, "old");
  {
    TemporaryFile file(target);
    file.write("half of");
    EXPECT_EQ(content_of(target), "old");
    EXPECT_EQ(fs::path(file.path()).parent_path(), fs::canonical(folder_.path()));
    file.write(" the new");
    file.commit();
  }
  EXPECT_EQ(content_of(target), "half of the new");
  EXPECT_EQ(files_in_folder(), 1U);
}

TEST_F(TemporaryFileTest, LeavesNothingBehindWithoutACommit) {
  const std::string target = folder_ / "field.txt";
  { TemporaryFile(target).write("half"); }
  EXPECT_EQ(files_in_folder(), 0U);
}

TEST_F(TemporaryFileTest, KeepsPermissionsAndUsesTheMaskForNewFiles) {
  const std::string target = folder_ / "field.txt";
  const mode_t mask = ::umask(022);
  write_text_file(target, "a");
  ::umask(mask);
  EXPECT_EQ(fs::status(target).permissions(), fs::perms(0644));
  fs::permissions(target, fs::perms(0600));
  write_text_file(target, "b");
  EXPECT_EQ(fs::status(target).permissions(), fs::perms(0600));
}

TEST_F(TemporaryFileTest, WritesThroughLinks) {
  fs::create_directory(folder_ / "real");
  fs::create_symlink("real/field.txt", folder_ / "link");
  write_text_file(folder_ / "real/field.txt", "old");
  write_text_file(folder_ / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(content_of(folder_ / "real/field.txt"), "new");
}

TEST_F(TemporaryFileTest, WritesDevicesInPlace) {
  write_text_file("/dev/null", "gone");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(TemporaryFileTest, SaysThatTheFolderIsMissing) {
  const auto [kind, message] = caught([&] { write_text_file(folder_ / "no/such/x.txt", "a"); });
  EXPECT_EQ(kind, ErrorKind::usage);
  EXPECT_THAT(message, HasSubstr(folder_ / "no/such/x.txt"));
  EXPECT_THAT(message, HasSubstr("there is no folder '" + folder_ / "no/such" + "'"));
}

TEST_F(TemporaryFileTest, RefusesImpossibleNamesAtOnce) {
  EXPECT_THAT(caught([&] { TemporaryFile file(""); }).text, HasSubstr("without a name"));
  EXPECT_THAT(caught([&] { TemporaryFile file(folder_ / std::string(300, 'x')); }).text,
              HasSubstr("the name is too long"));
}

TEST_F(TemporaryFileTest, SaysThatTheTargetIsAFolder) {
  EXPECT_THAT(caught([&] { write_text_file(folder_.path(), "a"); }).text,
              HasSubstr("it is a folder"));
  write_text_file(folder_ / "file", "a");
  EXPECT_THAT(caught([&] { write_text_file(folder_ / "file/x.txt", "a"); }).text,
              HasSubstr("is not a folder"));
}

/// Gives up the right of root to write everywhere, as far as files go.
class OrdinaryUser {
 public:
  OrdinaryUser() : was_(::geteuid()) {
    if (was_ == 0) changed_ = ::seteuid(65534) == 0;
  }
  ~OrdinaryUser() {
    if (changed_) changed_ = ::seteuid(was_) != 0;
  }

 private:
  uid_t was_;
  bool changed_ = false;
};

TEST_F(TemporaryFileTest, SaysThatItMayNotWrite) {
  write_text_file(folder_ / "x.txt", "old");
  fs::permissions(folder_ / "x.txt", fs::perms(0444));
  for (const fs::perms mode : {fs::perms(0555), fs::perms(0777)}) {  // folder or file forbids it
    fs::permissions(folder_.path(), mode);
    const OrdinaryUser user;
    const auto [kind, message] = caught([&] { write_text_file(folder_ / "x.txt", "new"); });
    EXPECT_EQ(kind, ErrorKind::usage);
    EXPECT_THAT(message, HasSubstr("x.txt': Permission denied; choose"));
  }
  fs::permissions(folder_.path(), fs::perms(0700));
  EXPECT_EQ(content_of(folder_ / "x.txt"), "old");
}

TEST_F(TemporaryFileTest, SaysThatTheDiskIsFull) {
  const auto [kind, message] = caught([&] { write_text_file("/dev/full", "a"); });
  EXPECT_EQ(kind, ErrorKind::resource);
  EXPECT_THAT(message, HasSubstr("'/dev/full': No space left on device"));
}

TEST_F(TemporaryFileTest, KeepsACompleteFileThatCannotBeRenamed) {
  TemporaryFile file(folder_ / "x.txt");
  file.write("all");
  fs::create_directory(folder_ / "x.txt");
  const auto [kind, message] = caught([&] { file.commit(); });
  EXPECT_EQ(kind, ErrorKind::resource);
  EXPECT_EQ(content_of(file.path()), "all");
  EXPECT_THAT(message, HasSubstr("the complete file is '" + file.path() + "'"));
  EXPECT_THAT(message, HasSubstr(folder_ / "x.txt"));
}

TEST_F(TemporaryFileTest, SaysThatItsFolderWasRenamed) {
  fs::create_directory(folder_ / "out");
  TemporaryFile file(folder_ / "out/x.txt");
  file.write("all");
  fs::rename(folder_ / "out", folder_ / "moved");
  const std::string name = fs::path(file.path()).filename();
  EXPECT_THAT(caught([&] { file.commit(); }).text,
              AllOf(HasSubstr("/out' was removed or renamed"), HasSubstr(name)));
  EXPECT_EQ(content_of(folder_ / ("moved/" + name)), "all");
}

/// Works in a folder until its end.
class WorkingFolder {
 public:
  explicit WorkingFolder(const fs::path& folder) { fs::current_path(folder); }
  ~WorkingFolder() { fs::current_path(before_); }

 private:
  fs::path before_ = fs::current_path();
};

TEST_F(TemporaryFileTest, WritesToTheWorkingFolderOnlyIfAskedTo) {
  fs::create_directory(folder_ / "here");
  const WorkingFolder here(folder_ / "here");
  const std::string target = folder_ / "none/x.txt";
  EXPECT_EQ(caught([&] { write_text_file(target, "all"); }).kind, ErrorKind::usage);
  EXPECT_EQ(fs::directory_iterator(folder_ / "here"), fs::directory_iterator());
  EXPECT_EQ(caught([&] { write_text_file(target, "all", Otherwise::use_working_folder); }).kind,
            ErrorKind::resource);
  ASSERT_NE(fs::directory_iterator(folder_ / "here"), fs::directory_iterator());
  EXPECT_EQ(content_of(fs::directory_iterator(folder_ / "here")->path()), "all");
}

TEST_F(TemporaryFileTest, GoesWhenTheProcessIsEndedByASignal) {
  write_text_file(folder_ / "done.txt", "all");
  TemporaryFile first(folder_ / "a.txt"), second(folder_ / "b.txt");
  EXPECT_EQ(files_in_folder(), 3U);
  remove_temporary_files();
  EXPECT_EQ(files_in_folder(), 1U);
}

TEST_F(TemporaryFileTest, ChecksATargetWithoutAReaderOfAPipe) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  check_target(folder_ / "pipe");
  check_target("/dev/null");
  check_target(folder_ / "new.txt");
  EXPECT_EQ(files_in_folder(), 1U);
  EXPECT_EQ(caught([&] { check_target(folder_ / "none/x.txt"); }).kind, ErrorKind::usage);
}

}  // namespace
}  // namespace halocline

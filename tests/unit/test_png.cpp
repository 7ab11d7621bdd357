// SPDX-License-Identifier: Apache-2.0
#include <png.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <halocline/error.hpp>

#include "base/files/temporary_file.hpp"
#include "files/canvas.hpp"
#include "files/colour_map.hpp"
#include "files/font.hpp"
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

TEST(ColourMap, RunsFromDarkToBright) {
  const ValueRange range{-1, 3};
  EXPECT_EQ(colour_of(-1, range), (Colour{0x44, 0x01, 0x54}));
  EXPECT_EQ(colour_of(3, range), (Colour{0xfd, 0xe7, 0x25}));
  int last = -1;
  for (double value = -1; value <= 3; value += 0.125) {
    const Colour colour = colour_of(value, range);
    const int luma = 299 * colour.red + 587 * colour.green + 114 * colour.blue;
    EXPECT_GT(luma, last) << value;
    last = luma;
  }
}

TEST(ColourMap, ClampsAndSurvivesExtremes) {
  EXPECT_EQ(colour_of(7, {0, 1}), colour_of(1, {0, 1}));
  EXPECT_EQ(colour_of(-7, {0, 1}), colour_of(0, {0, 1}));
  EXPECT_EQ(colour_of(5, {5, 5}), colour_of(0.5, {0, 1}));
  const double most = std::numeric_limits<double>::max();
  EXPECT_EQ(colour_of(0, {-most, most}), colour_of(0.5, {0, 1}));
  EXPECT_EQ(colour_of(nan, {0, 1}), not_finite_colour);
  EXPECT_EQ(colour_of(infinity, {0, 1}), not_finite_colour);
}

TEST(ColourMap, FindsTheRangeOfFiniteValues) {
  const std::vector<double> values{nan, 2, -infinity, -3, infinity};
  EXPECT_EQ(range_of(values).min, -3);
  EXPECT_EQ(range_of(values).max, 2);
  EXPECT_EQ(range_of(std::vector<double>{nan}).max, 0);
}

TEST(Font, HasADistinctGlyphForEveryPrintableCharacter) {
  std::set<Glyph> seen;
  for (char character = ' '; character <= '~'; ++character)
    EXPECT_TRUE(seen.insert(glyph_of(character)).second) << character;
  EXPECT_EQ(glyph_of('\n'), glyph_of('?'));
  EXPECT_EQ(glyph_of('\xc3'), glyph_of('?'));
}

TEST(Canvas, ClipsWhatLiesOutside) {
  Canvas canvas(4, 3, {1, 1, 1});
  canvas.fill({-5, -5, 6, 6}, {2, 2, 2});
  canvas.fill({3, 2, 100, 100}, {3, 3, 3});
  canvas.fill({10, 10, 5, 5}, {4, 4, 4});
  canvas.fill({2, 0, -1, 3}, {5, 5, 5});
  canvas.write(-100, -3, "clipped", {6, 6, 6});
  canvas.write(2, 100, "clipped", {6, 6, 6});
  EXPECT_EQ(canvas.pixels()[1], (Colour{1, 1, 1}));
  EXPECT_EQ(canvas.pixels()[11], (Colour{3, 3, 3}));
}

struct Image {
  int width = 0;
  int height = 0;
  std::vector<Colour> pixels;

  /// Counts the pixels of one colour.
  std::ptrdiff_t count(Colour colour) const {
    return std::count(pixels.begin(), pixels.end(), colour);
  }
  /// Returns (x, y from the top) of the first pixel of a colour, {-1, -1} if there is none.
  std::pair<std::ptrdiff_t, std::ptrdiff_t> find(Colour colour) const {
    const auto found = std::find(pixels.begin(), pixels.end(), colour);
    if (found == pixels.end()) return {-1, -1};
    return {(found - pixels.begin()) % width, (found - pixels.begin()) / width};
  }
};

Image decode(const std::vector<std::byte>& file) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  EXPECT_TRUE(png_image_begin_read_from_memory(&png, file.data(), file.size())) << png.message;
  png.format = PNG_FORMAT_RGB;
  Image image{static_cast<int>(png.width), static_cast<int>(png.height), {}};
  image.pixels.resize(std::size_t{png.width} * png.height);
  EXPECT_TRUE(png_image_finish_read(&png, nullptr, image.pixels.data(), 0, nullptr));
  return image;
}

Image picture_of(std::int64_t width, std::int64_t height, const std::vector<double>& values,
                 const std::string& title = "") {
  return decode(encode_png({width, height, values, title}));
}

TEST(Png, ShowsCellsAsCrispSquaresWithTheFirstRowLowest) {
  // A colour bar passes through all colours between the ends, so look for NaN: one cell, (2, 0).
  const Image image = picture_of(3, 3, {0, 1, nan, 3, 4, 5, 6, 7, 8});
  EXPECT_GE(image.count(not_finite_colour), 96 * 96);
  std::ptrdiff_t last = -1;
  std::ptrdiff_t rows = 0;
  for (int y = 0; y < image.height; ++y) {
    const auto row = image.pixels.begin() + static_cast<std::ptrdiff_t>(y) * image.width;
    const auto run = std::count(row, row + image.width, not_finite_colour);
    if (run < 96) continue;
    EXPECT_EQ(run, 96);
    last = y;
    ++rows;
  }
  EXPECT_EQ(rows, 96);
  EXPECT_GT(last, image.height * 3 / 4) << "the first row must be at the bottom";
}

TEST(Png, KeepsLargePlanesSmallAndElongatedOnesVisible) {
  struct Case {
    std::int64_t width, height;
  };
  for (const Case& size : {Case{1, 1}, Case{9, 1}, Case{1, 9}, Case{2000, 20}, Case{20, 2000},
                           Case{100000, 1}, Case{1500, 1500}, Case{1025, 70}, Case{63, 3}}) {
    const auto cells = static_cast<std::size_t>(size.width * size.height);
    std::vector<double> values(cells);
    for (std::size_t i = 0; i < cells; ++i) values[i] = static_cast<double>(i);
    const Image image = picture_of(size.width, size.height, values, "title");
    EXPECT_LE(image.width, 1400) << size.width << " x " << size.height;
    EXPECT_LE(image.height, 1200) << size.width << " x " << size.height;
    EXPECT_GE(image.width, 150) << size.width << " x " << size.height;
    EXPECT_GE(image.height, 130) << size.width << " x " << size.height;
  }
}

TEST(Png, ShowsASingleNotFiniteCellOfALargePlane) {
  std::vector<double> values(3000 * 2000, 1.0);
  const std::ptrdiff_t none = picture_of(3000, 2000, values).count(not_finite_colour);
  EXPECT_EQ(none, 0);
  values[1234567] = infinity;
  const Image image = picture_of(3000, 2000, values);
  EXPECT_EQ(image.count(not_finite_colour), text_height * text_height + 1)
      << "the square of the legend and one pixel";
}

TEST(Png, WidensForALongTitleAndCutsAVeryLongOne) {
  const int narrow = picture_of(1, 1, {1}).width;
  const int wide = picture_of(1, 1, {1}, std::string(60, 'm')).width;
  EXPECT_GT(wide, narrow);
  EXPECT_GE(wide, text_width(std::string(60, 'm')));
  EXPECT_LE(picture_of(1, 1, {1}, std::string(5000, 'm')).width, 1100);
}

TEST(Png, SurvivesValuesWithoutAnyRange) {
  EXPECT_GT(picture_of(2, 1, {nan, infinity}).count(not_finite_colour), 0);
  EXPECT_GT(picture_of(2, 1, {1e308, -1e308}).width, 0);
  EXPECT_GT(picture_of(2, 1, {5e-324, 0}).width, 0);
}

TEST(Png, RefusesSizesThatDoNotFit) {
  const std::vector<double> values(8);
  EXPECT_THROW(encode_png({3, 3, values, ""}), Error);
  EXPECT_THROW(encode_png({0, 8, values, ""}), Error);
  EXPECT_THROW(encode_png({-4, -2, values, ""}), Error);
}

Image curve_of(const std::vector<double>& values, const std::string& title = "") {
  return decode(encode_png(Curve{.values = values, .title = title}));
}

/// The pixels of the line, column by column: the rows of the first and the last, from the top.
std::vector<std::pair<int, int>> line_of(const Image& image) {
  const Colour line{49, 104, 142};
  std::vector<std::pair<int, int>> rows;
  for (int x = 0; x < image.width; ++x) {
    int first = -1, last = -1;
    for (int y = 0; y < image.height; ++y) {
      const std::ptrdiff_t place = std::ptrdiff_t{y} * image.width + x;
      if (!(image.pixels[static_cast<std::size_t>(place)] == line)) continue;
      if (first < 0) first = y;
      last = y;
    }
    if (first >= 0) rows.emplace_back(first, last);
  }
  return rows;
}

TEST(Curve, RisesWhereValuesDoAndHasNoHoles) {
  std::vector<double> values(200);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  const std::vector<std::pair<int, int>> rows = line_of(curve_of(values));
  ASSERT_GT(rows.size(), 700u);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    EXPECT_LE(rows[i].first, rows[i - 1].first) << "row 0 is at the top";
    EXPECT_GE(rows[i].second + 1, rows[i - 1].first) << "columns touch";
  }
  EXPECT_GT(rows.front().first - rows.back().first, 300) << "fills the plot";
}

TEST(Curve, ShowsAJumpAsASteepLine) {
  std::vector<double> values(700, 0.0);
  std::fill(values.begin() + 300, values.end(), 5.0);
  const std::vector<std::pair<int, int>> rows = line_of(curve_of(values));
  int tallest = 0;
  for (const auto& [first, last] : rows) tallest = std::max(tallest, last - first);
  EXPECT_GT(tallest, 150) << "from the bottom to the top in a column or two";
  for (std::size_t i = 1; i < rows.size(); ++i)
    EXPECT_GE(rows[i].second + 1, rows[i - 1].first) << "columns touch";
}

TEST(Curve, MarksWhatIsNotFinite) {
  std::vector<double> values(100, 1.0);
  EXPECT_EQ(curve_of(values).count(not_finite_colour), 0);
  values[40] = nan;
  const Image image = curve_of(values);
  EXPECT_GE(image.count(not_finite_colour), text_height * text_height + 7 * 384);
  EXPECT_LT(line_of(image).size(), line_of(curve_of(std::vector<double>(100, 1.0))).size())
      << "a gap";
}

TEST(Curve, HasOneSizeForAllLabelsAndTitlesOfASeries) {
  const std::vector<double> few{0, 1}, many{-0.123456, 1.7e-5};
  const PictureRoom room{.labels = 10, .title = 80};
  const auto of = [&](const std::vector<double>& values, const std::string& title) {
    return decode(encode_png(Curve{.values = values, .title = title, .room = room}));
  };
  EXPECT_EQ(of(few, "").width, of(many, "title").width);
  const auto plane = [&](const std::vector<double>& values) {
    return decode(
        encode_png(Picture{.width = 2, .height = 1, .values = values, .title = "", .room = room}));
  };
  EXPECT_EQ(plane(few).width, plane(many).width);
  const auto without = [](const std::vector<double>& values) {
    return decode(encode_png(Picture{.width = 2, .height = 1, .values = values, .title = ""}));
  };
  EXPECT_NE(without(few).width, without(many).width) << "or the test says nothing";
}

TEST(Curve, SurvivesValuesWithoutAnyRange) {
  for (const std::vector<double>& values : std::vector<std::vector<double>>{
           {3}, {nan}, {infinity, nan}, {1e308, -1e308}, {5e-324, 0}, {7, 7, 7}}) {
    const Image image = curve_of(values, "title");
    EXPECT_GE(image.width, 768);
    EXPECT_LE(image.width, 1400);
  }
  EXPECT_FALSE(line_of(curve_of({3})).empty()) << "one value is a point";
  EXPECT_EQ(caught([] { curve_of({}); }).kind, ErrorKind::usage);
}

TEST(Curve, OfManyValuesHasAPixelForEach) {
  EXPECT_EQ(curve_of(std::vector<double>(1024, 1.0)).width -
                curve_of(std::vector<double>(768, 1.0)).width,
            1024 - 768);
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

TEST_F(TemporaryFileTest, KeepsTheOldPictureWhenTheNewOneFails) {
  const std::string target = folder_ / "field.png";
  const std::vector<double> values(4, 1.0);
  write_png(target, {2, 2, values, "old"});
  const std::string old = content_of(target);
  EXPECT_EQ(old.substr(1, 3), "PNG");
  EXPECT_THROW(write_png(target, {3, 2, values, "new"}), Error);
  EXPECT_EQ(content_of(target), old);
  EXPECT_EQ(files_in_folder(), 1U);
}

}  // namespace
}  // namespace halocline

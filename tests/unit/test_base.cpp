// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/box.hpp>

#include "base/checked.hpp"
#include "base/process/environment.hpp"
#include "base/text/notes.hpp"
#include "support/caught.hpp"
#include "text/near_miss.hpp"

namespace halocline::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(NearMiss, IsFewLettersAway) {
  const std::vector<std::string> names{"--ranks", "--tolerance",      "--set", "--seed",
                                       "--cells", "--cells-per-rank", "--simd"};
  EXPECT_EQ(near_miss("--rank", names), "--ranks");
  EXPECT_EQ(near_miss("--toelrance", names), "--tolerance");
  EXPECT_EQ(near_miss("--cell", names), "--cells");
  EXPECT_EQ(near_miss("--tol", names), "--tolerance") << "the only one that begins so";
  for (const char* word : {"--verify", "-x", "--time", "", "-"})
    EXPECT_EQ(near_miss(word, names), "") << word;
}

TEST(NearMiss, IsNoOtherName) {
  const std::vector<std::string> names{"dx", "nx", "dt", "alpha", "k12", "mean", "u1"};
  EXPECT_EQ(near_miss("Nx", names), "nx") << "only a capital differs";
  EXPECT_EQ(near_miss("ALPHA", names), "alpha");
  EXPECT_EQ(near_miss("alfa", names), "alpha");
  for (const char* word : {"dz", "k21", "k2", "min", "u2", "al", "beta"})
    EXPECT_EQ(near_miss(word, names), "") << word;
  EXPECT_EQ(near_miss("mix", {"min", "max"}), "") << "both are as near";
  EXPECT_EQ(near_miss("mix", {"max", "max"}), "max");
  EXPECT_EQ(do_you_mean("mxa", {"max"}), "; do you mean 'max'?");
  EXPECT_EQ(do_you_mean("mxa", {}), "");
}

TEST(Box, CountsItsCells) {
  const Box box{{1, 2, 3}, {4, 6, 8}};
  EXPECT_EQ(box.extent(), (Int3{3, 4, 5}));
  EXPECT_EQ(box.cells(), 60);
  EXPECT_FALSE(box.empty());
}

TEST(Box, IsEmptyIfAnySideIs) {
  const Box flat{{0, 0, 0}, {4, 0, 4}}, inverted{{0, 0, 5}, {4, 4, 3}};
  EXPECT_TRUE(flat.empty());
  EXPECT_EQ(flat.cells(), 0);
  EXPECT_TRUE(inverted.empty());
  EXPECT_EQ(inverted.extent(), (Int3{4, 4, 0}));
  EXPECT_EQ(inverted.cells(), 0);
}

TEST(Box, ContainsPointsBelowItsUpperSides) {
  const Box box{{0, 0, 0}, {2, 2, 2}};
  EXPECT_TRUE(box.contains(Int3{0, 0, 0}));
  EXPECT_TRUE(box.contains(Int3{1, 1, 1}));
  EXPECT_FALSE(box.contains(Int3{2, 1, 1}));
  EXPECT_FALSE(box.contains(Int3{1, -1, 1}));
}

TEST(Box, ContainsSmallerAndEmptyBoxes) {
  const Box box{{0, 0, 0}, {2, 2, 2}};
  EXPECT_TRUE(box.contains(box));
  EXPECT_TRUE(box.contains(Box{{0, 0, 0}, {1, 2, 2}}));
  EXPECT_FALSE(box.contains(Box{{0, 0, 0}, {1, 3, 2}}));
  EXPECT_TRUE(box.contains(Box{{7, 7, 7}, {7, 9, 9}})) << "an empty box";
}

TEST(Box, IsCutShiftedAndGrown) {
  const Box box{{0, 0, 0}, {4, 4, 4}};
  EXPECT_EQ(intersect(box, {{2, -1, 3}, {9, 2, 9}}), (Box{{2, 0, 3}, {4, 2, 4}}));
  EXPECT_TRUE(intersect(box, {{4, 0, 0}, {5, 4, 4}}).empty());
  EXPECT_EQ(shift(box, {-1, 2, 0}), (Box{{-1, 2, 0}, {3, 6, 4}}));
  EXPECT_EQ(grow(box, {1, 2, 3}, {3, 2, 1}), (Box{{-1, -2, -3}, {7, 6, 5}}));
  EXPECT_EQ(grow(box, {-1, -1, -1}, {-1, -1, -1}), (Box{{1, 1, 1}, {3, 3, 3}}));
}

/// Expects every cell of `outer` in exactly one of the pieces if it is not in `inner`, else none.
void expect_partition(const Box& outer, const Box& inner) {
  const std::vector<Box> pieces = subtract(outer, inner);
  EXPECT_LE(pieces.size(), 6u);
  for (const Box& piece : pieces) EXPECT_FALSE(piece.empty());
  for (std::int64_t z = outer.lower.z - 1; z <= outer.upper.z; ++z)
    for (std::int64_t y = outer.lower.y - 1; y <= outer.upper.y; ++y)
      for (std::int64_t x = outer.lower.x - 1; x <= outer.upper.x; ++x) {
        const Int3 p{x, y, z};
        int count = 0;
        for (const Box& piece : pieces) count += piece.contains(p) ? 1 : 0;
        EXPECT_EQ(count, outer.contains(p) && !inner.contains(p) ? 1 : 0)
            << "at " << x << ", " << y << ", " << z;
      }
}

TEST(Subtract, CutsEveryBoxIntoDisjointPieces) {
  const Box outer{{0, -1, 2}, {4, 3, 5}};
  std::vector<Box> holes = {outer, {{1, 0, 3}, {2, 1, 4}}, {{9, 9, 9}, {10, 10, 10}}};
  for (std::int64_t x = -1; x < 5; ++x)
    for (std::int64_t y = -2; y < 4; ++y) holes.push_back({{x, y, 3}, {x + 2, y + 3, 9}});
  for (const Box& hole : holes) expect_partition(outer, hole);
}

TEST(Subtract, CutsSlabsAlongZFirst) {
  const std::vector<Box> pieces = subtract({{0, 0, 0}, {4, 4, 4}}, {{1, 1, 1}, {3, 3, 3}});
  ASSERT_EQ(pieces.size(), 6u);
  EXPECT_EQ(pieces[0], (Box{{0, 0, 0}, {4, 4, 1}}));
  EXPECT_EQ(pieces[1], (Box{{0, 0, 3}, {4, 4, 4}}));
}

TEST(Subtract, LeavesNothingOfAnEmptyOrCoveredBox) {
  EXPECT_TRUE(subtract({{0, 0, 0}, {0, 4, 4}}, {{0, 0, 0}, {1, 1, 1}}).empty());
  EXPECT_TRUE(subtract({{1, 1, 1}, {2, 2, 2}}, {{0, 0, 0}, {4, 4, 4}}).empty());
}

TEST(Checked, MultipliesUpTo63Bits) {
  EXPECT_EQ(checked_multiply(std::int64_t{1} << 31, std::int64_t{1} << 31, "cells"),
            std::int64_t{1} << 62);
  const Caught error =
      caught([] { checked_multiply(std::int64_t{1} << 32, std::int64_t{1} << 31, "cells"); });
  EXPECT_EQ(error.kind, ErrorKind::usage);
  EXPECT_EQ(error.text, "cells: 4294967296 times 2147483648 is more than 2^63");
}

TEST(Checked, ConvertsOnlyWhatSurvives) {
  EXPECT_EQ(checked_cast<int>(std::int64_t{2147483647}), 2147483647);
  EXPECT_EQ(checked_cast<std::uint8_t>(255), 255);
  EXPECT_EQ(caught([] { checked_cast<int>(std::int64_t{2147483648}); }).kind, ErrorKind::internal);
  EXPECT_EQ(caught([] { checked_cast<std::uint64_t>(-1); }).kind, ErrorKind::internal);
  EXPECT_EQ(caught([] { checked_cast<int>(std::numeric_limits<std::uint64_t>::max()); }).kind,
            ErrorKind::internal);
}

TEST(Environment, ReadsVariables) {
  setenv("HALOCLINE_TEST_VARIABLE", "a=b", 1);
  EXPECT_EQ(environment("HALOCLINE_TEST_VARIABLE"), "a=b");
  EXPECT_THAT(environment_all(), Contains(Pair("HALOCLINE_TEST_VARIABLE", "a=b")));
  unsetenv("HALOCLINE_TEST_VARIABLE");
  EXPECT_EQ(environment("HALOCLINE_TEST_VARIABLE"), std::nullopt);
}

TEST(Notes, AreKeptOnceInOrder) {
  Notes notes;
  notes.add("second thoughts");
  notes.add("a fallback");
  notes.add("second thoughts");
  EXPECT_THAT(notes.all(), ElementsAre("second thoughts", "a fallback"));
}

TEST(Error, HasAKindAndAText) {
  const Caught error = caught([] { throw Error(ErrorKind::resource, "the disk is full"); });
  EXPECT_EQ(error.kind, ErrorKind::resource);
  EXPECT_THAT(error.text, HasSubstr("disk"));
}

}  // namespace
}  // namespace halocline::test

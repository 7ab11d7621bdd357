// SPDX-License-Identifier: Apache-2.0
// How a sweep is shared among threads, and when it writes past the caches.

#include <vector>

#include <gtest/gtest.h>

#include "field/partition.hpp"
#include "stencil/cpu/caches.hpp"

namespace halocline::stencil {
namespace {

Box box_of(std::int64_t x, std::int64_t y, std::int64_t z) {
  return {{-1, 5, 2}, {x - 1, y + 5, z + 2}};
}

TEST(ShareOf, GivesEveryCellToOneThread) {
  for (const Box& box : {box_of(10, 1, 1), box_of(100000, 1, 1), box_of(7, 5, 1), box_of(9, 8, 7),
                         box_of(3, 1, 2), box_of(5000, 2, 1)})
    for (const int threads : {1, 2, 3, 4, 6, 7, 12, 64}) {
      std::int64_t cells = 0;
      std::vector<Box> shares;
      for (int thread = 0; thread < threads; ++thread) {
        const Box share = field::share_of(box, threads, thread);
        EXPECT_TRUE(box.contains(share));
        for (const Box& other : shares) EXPECT_TRUE(intersect(share, other).empty());
        if (!share.empty()) shares.push_back(share);
        cells += share.cells();
      }
      EXPECT_EQ(cells, box.cells());
    }
}

TEST(ShareOf, SplitsPlanesBeforeRows) {
  EXPECT_EQ(field::share_of(box_of(8, 8, 8), 4, 1).extent(), (Int3{8, 8, 2}));
  EXPECT_EQ(field::share_of(box_of(8, 8, 1), 4, 1).extent(), (Int3{8, 2, 1}));
}

TEST(ShareOf, SplitsBothWhereThatIsEvener) {
  EXPECT_EQ(field::share_of(box_of(8, 8, 2), 4, 3).extent(), (Int3{8, 4, 1}));
  EXPECT_EQ(field::share_of(box_of(8, 9, 8), 6, 0).extent(), (Int3{8, 3, 4}));
}

TEST(ShareOf, SplitsASingleRowAtSegments) {
  const Box row = box_of(100000, 1, 1);
  for (int thread = 1; thread < 3; ++thread)
    EXPECT_EQ((field::share_of(row, 3, thread).lower.x - row.lower.x) % field::segment_cells(row),
              0);
}

TEST(Exceeds, ComparesWithHalfOfTheCachesThatRanksReach) {
  // Four caches of 1000 bytes, each shared by 8 processors.
  const cpu::Caches caches{.bytes = 1000, .processors = 8, .count = 4};
  EXPECT_FALSE(cpu::exceeds(caches, {.bytes = 500, .ranks_on_node = 1, .threads = 1}));
  EXPECT_TRUE(cpu::exceeds(caches, {.bytes = 501, .ranks_on_node = 1, .threads = 1}));
  EXPECT_FALSE(cpu::exceeds(caches, {.bytes = 1000, .ranks_on_node = 1, .threads = 16}));
  EXPECT_FALSE(cpu::exceeds(caches, {.bytes = 62, .ranks_on_node = 8, .threads = 1}));
  EXPECT_TRUE(cpu::exceeds(caches, {.bytes = 63, .ranks_on_node = 8, .threads = 1}));
  EXPECT_TRUE(cpu::exceeds(caches, {.bytes = 63, .ranks_on_node = 64, .threads = 1}));
}

TEST(Exceeds, IsFalseIfTheCachesAreNotKnown) {
  EXPECT_FALSE(cpu::exceeds({}, {.bytes = 1'000'000'000, .ranks_on_node = 1, .threads = 1}));
}

TEST(Caches, AreSaneHere) {
  const cpu::Caches& here = cpu::caches();
  EXPECT_GE(here.processors, 1);
  EXPECT_GE(here.count, 1);
  EXPECT_LT(here.bytes, std::int64_t{1} << 34);
}

}  // namespace
}  // namespace halocline::stencil

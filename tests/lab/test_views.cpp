// SPDX-License-Identifier: Apache-2.0
// Mapped views, a way of `halocline-lab layout`: pages in another order, and the bits of a plain
// run.

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/pages.hpp"
#include "bench/byte_ranges.hpp"
#include "bench/halo_ways.hpp"
#include "bench/layout_bench.hpp"
#include "lab/gpu_pages.hpp"
#include "lab/host_pages.hpp"
#include "lab/viewed_bricks.hpp"
#include "support/caught.hpp"
#include "support/communicators.hpp"
#include "support/memories.hpp"

namespace halocline::test {
namespace {

using bench::LayoutBenchOptions;
using bench::LayoutBenchResult;
using bench::LayoutTiming;
using ByteRun = halocline::Run;  // a test has a Run() of its own
using testing::Contains;
using testing::HasSubstr;

TEST(PageViews, ShowPagesInAnotherOrder) {
  const std::int64_t page = page_bytes();
  const Grid grid(0, 1, {.cells = {page, 4}});
  const FieldStorage field(grid, 1, {.halo = 0, .brick = {page, 1}});
  ASSERT_EQ(field.allocated_bytes(), 4 * page);
  std::byte* const bytes = field.bytes();
  for (int i = 0; i < 4; ++i) bytes[i * page + i] = std::byte(10 + i);
  std::shared_ptr<std::byte> view, other;
  {
    const bench::PagedMemory memory(bytes, 4 * page);
    view = memory.view({{3 * page, page, 1, 0}, {0, 2 * page, 1, 0}});
    other = memory.view({{page, page, 1, 0}});
  }
  EXPECT_EQ(field.bytes(), bytes) << "the field stays where it is";
  for (int i = 0; i < 4; ++i) EXPECT_EQ(bytes[i * page + i], std::byte(10 + i)) << "as it was";
  EXPECT_EQ(view.get()[3], std::byte(13));
  EXPECT_EQ(view.get()[page], std::byte(10));
  EXPECT_EQ(view.get()[2 * page + 1], std::byte(11));
  view.get()[2 * page + 7] = std::byte(77);
  EXPECT_EQ(bytes[page + 7], std::byte(77));
  EXPECT_EQ(other.get()[7], std::byte(77));
  bytes[3 * page] = std::byte(30);
  EXPECT_EQ(*view, std::byte(30));
  view.reset();
  EXPECT_EQ(other.get()[1], std::byte(11)) << "a view does not need the others";
}

TEST(PageViews, TellWhatTheyCannotMap) {
  const std::int64_t page = page_bytes();
  const Grid grid(0, 1, {.cells = {page, 2}});
  const FieldStorage field(grid, 1, {.halo = 0, .brick = {page, 1}});
  const bench::PagedMemory memory(field.bytes(), 2 * page);
  EXPECT_EQ(caught([&] {
              (void)memory.view({{page / 2, page, 1, 0}});
            }).kind,
            ErrorKind::internal)
      << "half a page";
  std::int64_t most = 0;
  std::ifstream("/proc/sys/vm/max_map_count") >> most;
  if (most == 0 || most > 1 << 20) GTEST_SKIP() << "this system allows any number of mappings";
  const std::vector<ByteRun> pieces(static_cast<std::size_t>(most) + 1, {0, page, 1, 0});
  const Caught error = caught([&] { (void)memory.view(pieces); });
  EXPECT_EQ(error.kind, ErrorKind::resource);
  EXPECT_THAT(error.text,
              testing::AllOf(HasSubstr(" pieces of a message"), HasSubstr("vm.max_map_count")));
}

LayoutBenchOptions brief_views() {
  LayoutBenchOptions options;
  options.steps = {1, 2};
  options.sweeps = 4;
  options.repetitions = 1;
  options.backend = "cpu";
  options.ways = {"mapped_views", "mpi"};
  return options;
}

class Views : public testing::Test {
 protected:
  static void SetUpTestSuite() { bench::add_halo_way(bench::mapped_views()); }
};

/// By views and by another way, with the bits of a plain run.
void expect_right(const LayoutBenchResult& result, std::size_t timings) {
  ASSERT_EQ(result.timings.size(), timings) << testing::PrintToString(result.notes);
  for (const LayoutTiming& timing : result.timings) {
    const std::string name = timing.way + ", " + timing.layout;
    EXPECT_FALSE(timing.wrong) << name << ": " << *timing.wrong;
    EXPECT_GT(timing.glups, 0) << name;
    EXPECT_EQ(timing.pieces > 0, timing.way == "mapped_views") << name;
    EXPECT_LE(timing.messages, timing.pieces > 0 ? timing.pieces : timing.messages) << name;
    EXPECT_GE(timing.bytes, timing.needed_bytes) << name;
  }
}

/// Bricks that are pages of 4 KiB in fp64, or several.
TEST_F(Views, HaveTheSameBits) {
  if (page_bytes() != 4096) GTEST_SKIP() << "pages have " << page_bytes() << " bytes here";
  struct Problem {
    const char* name;
    Extents cells;
    std::vector<std::string> layouts;
  };
  // Halos of one cell and of four, across edges and corners; a field that follows another, several
  // fields, and ghosts that are not zero.
  for (const Problem& problem :
       {Problem{"star7", {16, 8, 24}, {"brick", "brick:16x4x8"}},
        Problem{"box27", {8, 16, 8}, {"brick", "brick:8x16x4"}},
        Problem{"star25", {8, 8, 8}, {"brick"}}, Problem{"jacobi", {64, 32}, {"brick:32x16"}},
        Problem{"wave_sponge", {32, 64}, {"brick:32x16"}},
        Problem{"shallow_water", {64, 32}, {"brick:64x8", "brick:16x32"}}}) {
    LayoutBenchOptions options = brief_views();
    options.problem = problem.name;
    options.precision = "f64";
    options.cells_per_rank = problem.cells;
    options.layouts = problem.layouts;
    SCOPED_TRACE(problem.name);
    expect_right(run_layout_bench(world(), options), 4 * options.layouts.size());
  }
}

TEST_F(Views, NeedPagesOfWholeBricks) {
  if (page_bytes() != 4096) GTEST_SKIP() << "pages have " << page_bytes() << " bytes here";
  LayoutBenchOptions options = brief_views();
  options.cells_per_rank = {16, 8, 8};
  options.layouts = {"array", "brick:32x4x4", "brick:16x16x2"};
  options.steps = {1};
  const LayoutBenchResult result = run_layout_bench(world(), options);
  EXPECT_EQ(result.timings.size(), 3U) << "all by mpi";
  for (const char* why : {"array: rows of different neighbours share pages",
                          "brick:32x4x4: 16 cells of rank 0 along x are not whole bricks of 32",
                          "brick:16x16x2: 8 cells of rank 0 along y are not whole bricks of 16"})
    EXPECT_THAT(result.notes, Contains(HasSubstr(why)));
  options.ways = {"mapped_views"};
  options.layouts = {"brick"};
  options.precision = "f32";
  const Caught error = caught([&] { run_layout_bench(world(), options); });
  EXPECT_EQ(error.kind, ErrorKind::unavailable);
  EXPECT_THAT(error.text, HasSubstr("a brick has 2048 bytes, a page 4096"));
}

// Bricks of a page: 2 MiB, or 64 KiB where CUDA runs on the CPU.
TEST_F(Views, AreOfNeighboursBricksOnGpus) {
  NEED_GPU();
  const bool is_large = bench::gpu_page_bytes() > 65536;
  LayoutBenchOptions options = brief_views();
  options.backend = "cuda";
  options.layouts = {is_large ? "brick:64x64x64" : "brick:32x16x16"};
  options.cells_per_rank = is_large ? Extents{128, 64, 128} : Extents{64, 16, 32};
  options.steps = {1, 4};
  options.ways = {"mapped_views", "peer"};
  for (const char* problem : {"star7", "laplace"}) {
    SCOPED_TRACE(problem);
    options.problem = problem;
    const LayoutBenchResult result = run_layout_bench(world(), options);
    expect_right(result, 4);
    for (const LayoutTiming& timing : result.timings)
      EXPECT_EQ(timing.bytes > timing.needed_bytes, timing.way == "mapped_views");
  }
  options.layouts = {"brick"};
  const LayoutBenchResult small = run_layout_bench(world(), options);
  EXPECT_EQ(small.timings.size(), 2U);
  EXPECT_THAT(small.notes, Contains(HasSubstr("a brick has 4096 bytes")));
}

}  // namespace
}  // namespace halocline::test

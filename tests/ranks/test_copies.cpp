// SPDX-License-Identifier: Apache-2.0
// `halocline bench copy` and `first-use` on some ranks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/copy_bench.hpp"
#include "bench/first_use_bench.hpp"
#include "comm/collectives.hpp"
#include "support/caught.hpp"
#include "support/communicators.hpp"
#include "support/memories.hpp"
#include "support/ranks.hpp"

namespace halocline::test {
namespace {

TEST(CopyBench, FindsWhatIsSane) {
  bench::CopyBenchOptions options;
  options.sizes = {1000, 3 << 20};
  options.loop.repetitions = 2;
  const bench::CopyBenchResult result = run_copy_bench(world(), options);
  std::size_t ways = 1;  // within the host
  if (!no_gpu()) {
    const bool own = result.devices.size() == static_cast<std::size_t>(ranks());
    ways = 6 + (own && ranks() > 1 ? 1 : 0);
  }
  ASSERT_EQ(result.timings.size(), 2 * ways);
  for (const bench::CopyTiming& timing : result.timings) {
    EXPECT_FALSE(timing.wrong) << timing.from << " to " << timing.to << ": " << *timing.wrong;
    EXPECT_EQ(timing.time.repetitions, 2);
    EXPECT_GT(timing.gigabytes_per_second, 0);
    EXPECT_EQ(comm::max_over_ranks(world(), timing.time.median_seconds),
              timing.time.median_seconds);
  }
}

TEST(FirstUseBench, FindsWhatIsSane) {
  bench::FirstUseBenchOptions options;
  options.sizes = {64, 4096};
  options.memories = {"host"};
  options.exchanges = 10;
  if (ranks() < 2) {
    EXPECT_EQ(caught([&] { run_first_use_bench(world(), options); }).kind, ErrorKind::usage);
    return;
  }
  const bench::FirstUseBenchResult result = run_first_use_bench(world(), options);
  ASSERT_EQ(result.timings.size(), 2 * 2u);  // shared and mpi
  for (const bench::FirstUseTiming& timing : result.timings) {
    EXPECT_FALSE(timing.wrong) << *timing.wrong;
    EXPECT_EQ(timing.seconds.size(), 10u);
    EXPECT_GT(timing.open_seconds, 0);
    EXPECT_GT(timing.steady_seconds, 0);
    EXPECT_LE(timing.steady_from, 10);
    EXPECT_EQ(comm::max_over_ranks(world(), timing.open_seconds), timing.open_seconds);
  }
}

}  // namespace
}  // namespace halocline::test

// SPDX-License-Identifier: Apache-2.0
// `halocline-lab copy` and `first-use`: what is steady, refused and told; on some ranks what they
// find is sane.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/collectives.hpp"
#include "lab/copy.hpp"
#include "lab/first_use.hpp"
#include "report/render.hpp"
#include "support/caught.hpp"
#include "support/communicators.hpp"
#include "support/memories.hpp"
#include "support/ranks.hpp"

namespace halocline::test {
namespace {

using bench::FirstUseTiming;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

FirstUseTiming timing_of(std::vector<double> seconds) {
  FirstUseTiming timing;
  timing.seconds = std::move(seconds);
  bench::find_steady(timing);
  return timing;
}

TEST(FirstUse, FindsWhereItIsSteady) {
  const FirstUseTiming timing = timing_of({100, 20, 1, 5, 1, 1.4, 1, 1, 1, 9, 1, 1});
  EXPECT_EQ(timing.steady_seconds, 1);
  EXPECT_EQ(timing.steady_from, 4) << "one alone may be short by chance; a later one, long";
  EXPECT_EQ(timing.extra_seconds, 99 + 19 + 0 + 4);
  EXPECT_EQ(timing_of(std::vector<double>(10, 2.0)).steady_from, 0);
  EXPECT_EQ(timing_of(std::vector<double>(10, 2.0)).extra_seconds, 0);
}

TEST(FirstUse, EndsWhereNothingIsSteady) {
  const FirstUseTiming timing = timing_of({9, 1, 9, 1, 9, 1, 9, 1, 9, 1});
  EXPECT_EQ(timing.steady_seconds, 1);
  EXPECT_EQ(timing.steady_from, 9);
}

TEST(FirstUse, RefusesWhatMakesNoSense) {
  const auto refusal = [](int ranks, auto change) {
    bench::FirstUseBenchOptions options;
    change(options);
    const Caught error = caught([&] { bench::check(options, ranks); });
    EXPECT_EQ(error.kind, ErrorKind::usage) << error.text;
    return error.text;
  };
  EXPECT_THAT(refusal(1, [](auto&) {}), HasSubstr("--ranks 2"));
  EXPECT_THAT(refusal(2, [](auto& o) { o.sizes = {12}; }), HasSubstr("12 bytes"));
  EXPECT_THAT(refusal(2, [](auto& o) { o.exchanges = 9; }), HasSubstr("9 exchanges"));
  EXPECT_THAT(refusal(2, [](auto& o) { o.transports = {"pigeon"}; }), HasSubstr("pigeon"));
  EXPECT_THAT(refusal(2, [](auto& o) { o.memories = {"lake"}; }), HasSubstr("lake"));
}

TEST(FirstUse, IsToldInOrder) {
  bench::FirstUseBenchResult result;
  result.mpi = "an MPI";
  result.ranks = 2;
  result.nodes = 1;
  result.timings = {timing_of({100e-6, 20e-6, 2e-6, 2e-6, 2e-6, 2e-6, 2e-6, 2e-6, 2e-6, 2e-6})};
  result.timings[0].memory = "host";
  result.timings[0].transports = {{"same-node", "mpi"}};
  result.timings[0].bytes = 64;
  result.timings[0].open_seconds = 3e-3;
  const std::string text = render_text(bench::report_of(result));
  EXPECT_THAT(text, testing::ContainsRegex("mpi +64 B +3000 +100 +20.0 +2.00 +2.00 +3 +116\n"));
  EXPECT_THAT(text, Not(HasSubstr("start of GPUs")));
}

TEST(Copies, AreTogetherWhereSmall) {
  EXPECT_EQ(bench::copies_at_once(1), 16);
  EXPECT_EQ(bench::copies_at_once(256 << 10), 4);
  EXPECT_EQ(bench::copies_at_once(1 << 20), 1);
  EXPECT_EQ(bench::copies_at_once(std::int64_t{1} << 34), 1);
  bench::CopyBenchOptions options;
  options.sizes = {64, 8, 8};
  EXPECT_THAT(bench::copy_sizes(options), ElementsAre(8, 64));
  options.sizes = {0};
  EXPECT_EQ(caught([&] { bench::check(options); }).kind, ErrorKind::usage);
}

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
  options.transports = {"staged"};
  EXPECT_EQ(caught([&] { run_first_use_bench(world(), options); }).kind, ErrorKind::unavailable);
  options.transports = {};
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

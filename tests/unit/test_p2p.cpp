// SPDX-License-Identifier: Apache-2.0
// `halocline bench p2p` without ranks: which pairs and sizes, what stands out, and what is told.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/p2p_bench.hpp"
#include "report/render.hpp"
#include "timing/harness.hpp"

namespace halocline::test {
namespace {

using bench::P2pBenchOptions;
using bench::P2pBenchResult;
using bench::P2pOutlier;
using bench::P2pTiming;
using bench::RankPair;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(P2pCases, AreAllPairsOrThoseAskedFor) {
  P2pBenchOptions options;
  EXPECT_THAT(bench::p2p_pairs(options, 3),
              ElementsAre(RankPair{0, 1}, RankPair{0, 2}, RankPair{1, 2}));
  options.pairs = {{3, 0}, {0, 1}, {0, 3}};
  EXPECT_THAT(bench::p2p_pairs(options, 4), ElementsAre(RankPair{0, 3}, RankPair{0, 1}));
}

TEST(P2pCases, HaveAscendingSizes) {
  P2pBenchOptions options;
  EXPECT_EQ(bench::p2p_sizes(options).front(), 1);
  EXPECT_EQ(bench::p2p_sizes(options).back(), 4 << 20);
  options.sizes = {64, 8, 64};
  EXPECT_THAT(bench::p2p_sizes(options), ElementsAre(8, 64));
}

TEST(P2pTrace, SaysWhoSentWhatWhen) {
  P2pBenchResult result{.mpi = "M", .ranks = 3};
  result.timings = {{.ranks = {0, 2}, .memory = "host", .transport = "shared", .bytes = 64}};
  result.spans = {{0, 0, bench::P2pWork::round_trips, 20, 0.5, 0.25},
                  {0, 0, bench::P2pWork::one_way, 4, 1, 0.125},
                  {2, 0, bench::P2pWork::one_way, 4, 1, 0.25},
                  {2, 0, bench::P2pWork::both_ways, 8, 2, 1e-6}};
  const auto bar = [](const char* name, int rank, const char* times, int messages) {
    return HasSubstr("\n{\"name\":\"" + std::string(name) +
                     "\",\"cat\":\"shared\",\"ph\":\"X\",\"pid\":" + std::to_string(rank) +
                     ",\"tid\":0," + times +
                     ",\"args\":{\"transport\":\"shared\",\"memory\":\"host\",\"bytes\":64,"
                     "\"messages\":" +
                     std::to_string(messages) + "}}");
  };
  EXPECT_THAT(
      bench::trace_of(result),
      testing::AllOf(HasSubstr("\"pid\":2,\"args\":{\"name\":\"rank 2\"}"),
                     bar("round trips with rank 2", 0, "\"ts\":500000.000,\"dur\":250000.000", 20),
                     bar("send to rank 2", 0, "\"ts\":1000000.000,\"dur\":125000.000", 4),
                     bar("receive from rank 0", 2, "\"ts\":1000000.000,\"dur\":250000.000", 4),
                     bar("both ways with rank 0", 2, "\"ts\":2000000.000,\"dur\":1.000", 8)));
}

/// 8 bytes in 2 us, and 64 messages of a MiB in a ms, between all pairs of `ranks`.
std::vector<P2pTiming> alike(int ranks) {
  std::vector<P2pTiming> timings;
  for (int first = 0; first < ranks; ++first)
    for (int second = first + 1; second < ranks; ++second)
      for (const std::int64_t bytes : {8, 1 << 20}) {
        P2pTiming timing;
        timing.ranks = {first, second};
        timing.memory = "device";
        timing.transport = "peer";
        timing.bytes = bytes;
        timing.latency = {20, 1e-6, 2e-6, 4e-6};
        timing.one_way = timing.both_ways = {5, 1e-3, 1e-3, 2e-3};
        timings.push_back(timing);
      }
  return timings;
}

P2pBenchResult result_of(std::vector<P2pTiming> timings, int ranks) {
  P2pBenchResult result;
  result.mpi = "an MPI";
  result.ranks = ranks;
  result.nodes = 1;
  result.window = 64;
  result.hosts = {"ant", "ant", "bee", "bee"};
  result.timings = std::move(timings);
  return result;
}

P2pTiming& of(std::vector<P2pTiming>& timings, RankPair ranks, std::int64_t bytes) {
  for (P2pTiming& timing : timings)
    if (timing.ranks == ranks && timing.bytes == bytes) return timing;
  throw Error(ErrorKind::internal, "no such pair");
}

TEST(P2pOutliers, AreSlowPairsOfTheirKind) {
  std::vector<P2pTiming> timings = alike(4);
  EXPECT_TRUE(bench::p2p_outliers(timings).empty());
  of(timings, {0, 3}, 1 << 20).one_way.median_seconds = 2e-3;
  of(timings, {1, 2}, 8).latency.median_seconds = 4e-6;
  // Only what tells: no latency of large messages, no bandwidth of small ones.
  of(timings, {0, 1}, 1 << 20).latency.median_seconds = 1;
  of(timings, {0, 1}, 8).one_way.median_seconds = 1;
  const std::vector<P2pOutlier> found = bench::p2p_outliers(timings);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].what, "latency");
  EXPECT_EQ(found[0].ranks, (RankPair{1, 2}));
  EXPECT_DOUBLE_EQ(found[0].share, 2);
  EXPECT_EQ(found[1].what, "one way");
  EXPECT_EQ(found[1].ranks, (RankPair{0, 3}));
  EXPECT_DOUBLE_EQ(found[1].share, 0.5);
  const std::string text = render_text(bench::report_of(result_of(timings, 4)));
  EXPECT_THAT(text, HasSubstr("ranks 0-3 on nodes ant, bee: one way of 1 MiB by peer with device"));
  EXPECT_THAT(text, HasSubstr("50 % below"));
  EXPECT_THAT(text, HasSubstr("100 % above"));
}

TEST(P2pOutliers, AreComparedWithTheirOwnKindOnly) {
  std::vector<P2pTiming> timings = alike(4);
  for (P2pTiming& timing : timings)
    if (timing.ranks.first < 2 && timing.ranks.second >= 2) {
      timing.kind = proof::GpuPair::other_node;
      timing.one_way.median_seconds = 1;
    }
  EXPECT_TRUE(bench::p2p_outliers(timings).empty());
  EXPECT_TRUE(bench::p2p_outliers(alike(2)).empty()) << "one pair is like itself";
}

TEST(P2pReport, TellsRatesByTheirDefinition) {
  const P2pBenchResult result = result_of(alike(2), 2);
  const std::string json = render_json(bench::report_of(result));
  // 64 MiB in a ms: 67 109 MB/s, both directions twice that.
  EXPECT_THAT(json, HasSubstr("\"one_way_mb_per_s\": 67108.864"));
  EXPECT_THAT(json, HasSubstr("\"both_ways_mb_per_s\": 134217.728"));
  EXPECT_THAT(json, HasSubstr("\"one_way_p99_mb_per_s\": 33554.432"));
  const std::string text = render_text(bench::report_of(result));
  EXPECT_THAT(text, testing::ContainsRegex("peer +1 MiB +1.00 +2.00 +4.00 +67.11 +134.2\n"));
  EXPECT_THAT(text, Not(HasSubstr("above us"))) << "one pair is no matrix";
}

TEST(P2pReport, HasAMatrixOfPairs) {
  std::vector<P2pTiming> timings = alike(3);
  of(timings, {0, 2}, 8).latency.median_seconds = 7e-6;
  of(timings, {0, 2}, 1 << 20).one_way.median_seconds = 64.0 * (1 << 20) / 777e6;
  const std::string text = render_text(bench::report_of(result_of(timings, 3)));
  EXPECT_THAT(text, HasSubstr("peer, device memory: above us of 8 B, below GB/s of 1 MiB one way"));
  EXPECT_THAT(text, testing::ContainsRegex("\n +0 +- +2.00 +7.00\n +1 +67.1 +- +2.00\n"
                                           " +2 +0.777 +67.1 +-\n"));
}

TEST(P2pReport, TellsOfAWrongByteAndOfNoTime) {
  std::vector<P2pTiming> timings = alike(2);
  timings[1].wrong = "byte 3 is nonsense";
  const Report report = bench::report_of(result_of(timings, 2));
  EXPECT_THAT(render_text(report), HasSubstr("with device memory: WRONG: byte 3 is nonsense"));
  EXPECT_THAT(render_text(report), Not(HasSubstr("1048576  ")));
  EXPECT_THAT(render_json(report), HasSubstr("\"verified\": false"));
  EXPECT_THAT(render_json(report), HasSubstr("\"one_way_mb_per_s\": null"));
}

}  // namespace
}  // namespace halocline::test

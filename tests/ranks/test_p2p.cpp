// SPDX-License-Identifier: Apache-2.0
// `halocline bench p2p` on some ranks: what it finds is sane, and a wrong byte is found.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/p2p_bench.hpp"
#include "bench/pair_path.hpp"
#include "comm/collectives.hpp"
#include "support/caught.hpp"
#include "support/communicators.hpp"
#include "support/memories.hpp"
#include "support/ranks.hpp"

namespace halocline::test {
namespace {

using bench::P2pBenchOptions;
using bench::P2pBenchResult;
using bench::P2pTiming;
using testing::HasSubstr;

P2pBenchOptions brief_p2p() {
  P2pBenchOptions options;
  options.sizes = {1, 1000, 40'000};
  options.memories = {"host"};
  options.window = 3;
  options.loop.repetitions = 3;
  if (ranks() > 2) options.pairs = {{0, ranks() - 1}, {1, 2}};
  return options;
}

TEST(P2p, FindsWhatIsSane) {
  if (ranks() < 2) GTEST_SKIP() << "one rank has nobody to send to";
  const P2pBenchResult result = run_p2p_bench(world(), brief_p2p());
  EXPECT_EQ(result.ranks, ranks());
  ASSERT_EQ(result.timings.size(), (ranks() > 2 ? 2 : 1) * 2 * 3u);  // shared and mpi
  for (const P2pTiming& timing : result.timings) {
    EXPECT_FALSE(timing.wrong) << *timing.wrong;
    EXPECT_EQ(timing.kind, proof::GpuPair::same_node);
    EXPECT_EQ(timing.memory, "host");
    for (const timing::TimeSummary& time : {timing.latency, timing.one_way, timing.both_ways}) {
      EXPECT_EQ(time.repetitions, 3);
      EXPECT_GT(time.min_seconds, 0);
      EXPECT_LE(time.min_seconds, time.median_seconds);
      EXPECT_LE(time.median_seconds, time.p99_seconds);
      // Everything is the same on every rank.
      EXPECT_EQ(comm::max_over_ranks(world(), time.median_seconds), time.median_seconds);
    }
  }
  EXPECT_EQ(result.timings.back().bytes, 40'000);
}

TEST(P2p, KnowsNodes) {
  if (ranks() < 4) GTEST_SKIP() << "two nodes of two ranks need 4";
  const Communicator& nodes = communicator_with({.wait_limit = wait_limit, .ranks_per_node = 2});
  P2pBenchOptions options = brief_p2p();
  options.sizes = {8};
  options.pairs = {{0, 1}, {1, 2}};
  const P2pBenchResult result = run_p2p_bench(nodes, options);
  ASSERT_EQ(result.timings.size(), 3u);
  EXPECT_EQ(result.timings[0].transport, "shared");
  EXPECT_EQ(result.timings[1].kind, proof::GpuPair::same_node);
  EXPECT_EQ(result.timings[2].kind, proof::GpuPair::other_node);
  EXPECT_EQ(result.timings[2].transport, "mpi");
}

TEST(P2p, RefusesAlikeOnAllRanks) {
  P2pBenchOptions options = brief_p2p();
  options.pairs = {{0, ranks()}};
  EXPECT_EQ(caught([&] { run_p2p_bench(world(), options); }).kind, ErrorKind::usage);
  if (ranks() < 2) return;
  options = brief_p2p();
  options.transports = {"staged"};
  const Caught error = caught([&] { run_p2p_bench(world(), options); });
  EXPECT_EQ(error.kind, ErrorKind::unavailable);
  EXPECT_THAT(error.text, HasSubstr("nothing can be timed"));
}

TEST(P2p, TimesGpus) {
  NEED_GPU();
  if (ranks() != 2) GTEST_SKIP() << "two ranks are enough";
  P2pBenchOptions options = brief_p2p();
  options.memories = {"device", "managed"};
  options.transports = {"peer", "staged", "mpi"};
  const P2pBenchResult result = run_p2p_bench(world(), options);
  ASSERT_EQ(result.timings.size(), 5 * 3u);
  EXPECT_EQ(result.devices[0].kind, "gpu");
  for (const P2pTiming& timing : result.timings) EXPECT_FALSE(timing.wrong) << *timing.wrong;
}

TEST(P2p, TwoRanksKeepTheirOrderAndNodes) {
  if (ranks() < 3) GTEST_SKIP() << "a pair of others needs 3";
  const auto pair = comm::two_ranks(world(), 2, 0);
  EXPECT_EQ(pair.has_value(), rank() == 0 || rank() == 2);
  comm::on_two_ranks(world(), 2, 0, [&] {
    EXPECT_EQ(pair->size(), 2);
    EXPECT_EQ(pair->rank(), rank() == 2 ? 0 : 1);
    EXPECT_EQ(pair->node_count(), 1);
  });
  const Caught error = caught([&] {
    comm::on_two_ranks(world(), 1, 2, [] { throw Error(ErrorKind::resource, "no room"); });
  });
  EXPECT_EQ(error.kind, ErrorKind::resource);
  EXPECT_EQ(error.text, "no room");
}

/// Sends as it should, but for one byte one way.
class BrokenPath final : public bench::PairPath {
 public:
  enum class Way { none, there, back, window, both };
  BrokenPath(std::int64_t bytes, Way broken)
      : PairPath({.transport = "none", .bytes = bytes, .ranks = {0, 1}}, rank()),
        out_(static_cast<std::size_t>(bytes)),
        in_(out_.size()),
        broken_(broken) {}

  void round_trips(std::int64_t count) override {
    for (std::int64_t i = 0; i < count; ++i) {
      send(0, Way::there);
      send(1, Way::back);
    }
  }
  void one_way(std::int64_t count) override {
    for (std::int64_t i = 0; i < count; ++i) send(0, Way::window);
  }
  void both_ways(std::int64_t) override {
    send(0, Way::both);
    send(1, Way::none);
  }

 private:
  std::byte* out() const override { return const_cast<std::byte*>(out_.data()); }
  std::byte* in() const override { return const_cast<std::byte*>(in_.data()); }
  void send(int from, Way way) {
    if (rank() == from) return comm::send(world(), 1 - from, out_);
    comm::receive(world(), from, in_);
    if (way == broken_ && way != Way::none) in_.back() ^= std::byte{1};
  }

  std::vector<std::byte> out_, in_;
  Way broken_;
};

TEST(P2p, FindsAWrongByteOfEveryMeasurement) {
  if (ranks() != 2) GTEST_SKIP() << "a pair is two ranks";
  using Way = BrokenPath::Way;
  EXPECT_EQ(BrokenPath(11, Way::none).first_wrong(0), std::nullopt);
  for (const Way way : {Way::there, Way::back, Way::window, Way::both}) {
    const int sees_it = way == Way::back ? 0 : 1;
    const std::string text = BrokenPath(11, way).first_wrong(1).value_or("all is right");
    if (rank() == sees_it)
      EXPECT_EQ(text, fmt::format("byte 10 of 11 from rank {} to rank {} did not arrive as sent",
                                  1 - rank(), rank()));
    else
      EXPECT_EQ(text, "all is right");
  }
}

}  // namespace
}  // namespace halocline::test

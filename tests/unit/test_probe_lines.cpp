// SPDX-License-Identifier: Apache-2.0
// Lines of a probe's ranks are read as they were lines, however the job ended.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probe/lines.hpp"
#include "probe/ring.hpp"

namespace halocline::test {
namespace {

using namespace probe;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(ProbeLines, PathsTellHowFarTheyCame) {
  const Path mpi{"mpi", Memory::host}, peer{"peer", Memory::device};
  const PathLines lines =
      read_paths(trying_line(mpi, 8) + "\n" + arrived_line(mpi, {8, 1.5}) + "\n" +
                 outcome_line(mpi, Outcome::works, "") + "\n" + trying_line(peer, 8) + "\n" +
                 arrived_line(peer, {8, 2}) + "\n" + trying_line(peer, 4096) + "\n");
  EXPECT_FALSE(lines.ended);
  ASSERT_EQ(lines.rows.size(), 2U);
  EXPECT_TRUE(lines.rows[0].is_decided);
  EXPECT_EQ(us_for(lines.rows[0].result, 8), 1.5);
  EXPECT_FALSE(lines.rows[1].is_decided);
  EXPECT_EQ(lines.rows[1].result.tried.back(), 4096);
  EXPECT_EQ(lines.rows[1].result.arrived_bytes, 8);
  EXPECT_EQ(lines.rows[0].result.in_order_up_to, std::nullopt);
  EXPECT_FALSE(path_named("peer"));
  EXPECT_FALSE(path_named("peer:paper"));
}

TEST(ProbeLines, PathsTellUpToWhereTheyKeptTheOrder) {
  const Path peer{"peer", Memory::device};
  const std::string both = in_order_line(peer, 8) + "\n" + in_order_line(peer, 4096) + "\n";
  EXPECT_EQ(read_paths(both).rows.at(0).result.in_order_up_to, 4096);
  const PathLines lines =
      read_paths(both + outcome_line(peer, Outcome::out_of_order, "was sent before") + "\n");
  EXPECT_EQ(lines.rows.at(0).result.outcome, Outcome::out_of_order);
  EXPECT_EQ(lines.rows.at(0).result.how, "was sent before");
  EXPECT_FALSE(lines.rows.at(0).result.is_refused);
  const std::string refused = outcome_line(peer, Outcome::unavailable, "a call failed", true);
  EXPECT_TRUE(read_paths(refused + "\n").rows.at(0).result.is_refused);
}

TEST(ProbeLines, PathsAreReadByTheirWords) {
  using device::Allocator;
  for (const Path& path :
       {Path{"gpu_aware", Memory::device, Distance::same_node, Allocator::pool},
        Path{"staged", Memory::device, Distance::other_node, Allocator::virtual_memory},
        Path{"mpi", Memory::system}, Path{collectives[1], Memory::device, Distance::other_node}}) {
    const std::optional<Path> read = path_named(word_of(path));
    ASSERT_TRUE(read) << word_of(path);
    EXPECT_EQ(*read, path) << word_of(path);
  }
  EXPECT_EQ(word_of({"peer", Memory::device, Distance::same_node, Allocator::virtual_memory}),
            "peer:vmm");
}

TEST(ProbeLines, TellWhereACrashCame) {
  const Path mpi{"mpi", Memory::host};
  const PathLines lines =
      read_paths(pairs_line(mpi, {GpuPair::same_gpu}) + "\n" + trying_line(mpi, 8) + "\n" +
                 arrived_line(mpi, {8}) + "\n" + trying_line(mpi, 65536) + "\nhalocline-probe: {");
  ASSERT_EQ(lines.rows.size(), 1U);
  EXPECT_FALSE(lines.ended);
  EXPECT_FALSE(lines.rows[0].is_decided);
  EXPECT_THAT(lines.rows[0].result.tried, ElementsAre(8, 65536));
  EXPECT_THAT(lines.rows[0].result.pairs, ElementsAre(GpuPair::same_gpu));
  EXPECT_THAT(lines.rows[0].result.times, IsEmpty());
}

TEST(ProbeLines, PassOverWhatOthersSay) {
  const Path mpi{"mpi", Memory::host};
  const PathLines lines = read_paths(
      "Welcome to node 7\n[1,0]<stdout>:" + trying_line(mpi, 8) + "\r\ntrying mpi:host 8\n" +
      R"(halocline-probe: {"trying": {"path": "mpi:paper", "bytes": 8}}
halocline-probe: {"trying": {"path": "mpi:host", "bytes": "many"}}
halocline-probe: {"sings": {"path": "mpi:host"}}
halocline-probe:
)");
  ASSERT_EQ(lines.rows.size(), 1U);
  EXPECT_THAT(lines.rows[0].result.tried, ElementsAre(8));
  EXPECT_THAT(read_paths("").rows, IsEmpty());
}

TEST(ProbeLines, TakeTheFirstOfSeveralRanksThatFail) {
  const Path mpi{"mpi", Memory::host};
  const PathLines lines = read_paths(outcome_line(mpi, Outcome::failed, "first\nof two") + "\n" +
                                     outcome_line(mpi, Outcome::works, "second") + "\n");
  EXPECT_EQ(lines.rows.at(0).result.outcome, Outcome::failed);
  EXPECT_EQ(lines.rows.at(0).result.how, "first\nof two");
}

TEST(ProbeRing, TellsTheKindsOfPairs) {
  const std::vector<int> node_of{0, 0, 1, 1};
  EXPECT_THAT(pairs_in_ring(node_of, {"a", "a", "b", "c"}, Distance::same_node),
              ElementsAre(GpuPair::same_gpu, GpuPair::same_node));
  EXPECT_THAT(pairs_in_ring(node_of, {"", "", "", ""}, Distance::same_node),
              ElementsAre(GpuPair::same_node));
  EXPECT_THAT(pairs_in_ring(node_of, {"a", "a", "b", "c"}, Distance::other_node),
              ElementsAre(GpuPair::other_node));
  EXPECT_THAT(pairs_in_ring({0, 0}, {"a", "b"}, Distance::other_node), IsEmpty());
}

}  // namespace
}  // namespace halocline::test

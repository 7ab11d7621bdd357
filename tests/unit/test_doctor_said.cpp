// SPDX-License-Identifier: Apache-2.0
// Lines of ranks are read as they were said, however the job ended.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/said.hpp"

namespace halocline::test {
namespace {

using namespace doctor;
using testing::ElementsAre;

TEST(DoctorSaid, FactsAreReadAsTheyAreSaid) {
  const RankSeen rank{.rank = 1,
                      .size = 2,
                      .host = "h",
                      .mpi = "M",
                      .cores = "0-3",
                      .ipc_namespace = "i",
                      .process_namespace = "p",
                      .shm_device = "27"};
  const RankFacts facts = read_rank_facts(
      "Welcome\n" + doing_line("starting MPI") + "\n[1,0]<stdout>:" + line_of(rank) + "\n" +
      line_of(mpi::Claims{
          .thread_level = "funneled", .takes_gpu = true, .settings = {{"pml", "ucx"}}}) +
      "\n" + gpus_line("13.0", "13.0", {true, false}) + "\n" +
      direct_reads_line(false, "not permitted") + "\n" +
      line_of(Library{.name = "NCCL",
                      .path = "/x",
                      .version = "2.28.9",
                      .is_off_path = true,
                      .problem = "no",
                      .is_mpis = true,
                      .has_cuda = false}) +
      "\nhalocline-doctor: {\n" + doing_line("loading libucp.so.0") +
      "\nhalocline-doctor: {\"ends\":tr");
  ASSERT_EQ(facts.ranks.size(), 1U);
  EXPECT_EQ(facts.ranks[0].cores, "0-3");
  EXPECT_EQ(facts.ranks[0].shm_device, "27");
  EXPECT_EQ(facts.claims_gpu, true);
  EXPECT_THAT(facts.mpi_settings, ElementsAre(testing::Pair("pml", "ucx")));
  EXPECT_THAT(facts.peer_access, ElementsAre(true, false));
  EXPECT_EQ(facts.direct_reads, false);
  EXPECT_EQ(facts.libraries.at(0).version, "2.28.9");
  EXPECT_TRUE(facts.libraries.at(0).is_off_path);
  EXPECT_EQ(facts.libraries.at(0).problem, "no");
  EXPECT_TRUE(facts.libraries.at(0).is_mpis);
  EXPECT_EQ(facts.libraries.at(0).has_cuda, false);
  EXPECT_EQ(facts.doing, "loading libucp.so.0");
}

TEST(DoctorSaid, NodesOfOneNameAreToldApart) {
  NodeSeen first, second;
  first.host = second.host = "vm";
  second.node = 1;
  const RankFacts facts = read_rank_facts(line_of(second) + "\n" + line_of(first) + "\n");
  ASSERT_EQ(facts.nodes.size(), 2U);
  EXPECT_EQ(facts.nodes[0].host, "vm");
  EXPECT_EQ(facts.nodes[1].host, "vm (node 1)");
}

TEST(DoctorSaid, PathsTellHowFarTheyCame) {
  const Path mpi{"mpi", Memory::host}, peer{"peer", Memory::device};
  const PathsSaid said =
      read_paths(trying_line(mpi, 8) + "\n" + arrived_line(mpi, {8, 1.5}) + "\n" +
                 outcome_line(mpi, Outcome::works, "") + "\n" + trying_line(peer, 8) + "\n" +
                 arrived_line(peer, {8, 2}) + "\n" + trying_line(peer, 4096) + "\n");
  EXPECT_FALSE(said.ended);
  ASSERT_EQ(said.rows.size(), 2U);
  EXPECT_TRUE(said.rows[0].is_decided);
  EXPECT_EQ(us_for(said.rows[0].result, 8), 1.5);
  EXPECT_FALSE(said.rows[1].is_decided);
  EXPECT_EQ(said.rows[1].result.tried_bytes, 4096);
  EXPECT_EQ(said.rows[1].result.arrived_bytes, 8);
  EXPECT_EQ(said.rows[0].result.in_order_up_to, std::nullopt);
  EXPECT_FALSE(path_named("peer"));
  EXPECT_FALSE(path_named("peer:paper"));
}

TEST(DoctorSaid, PathsTellUpToWhereTheyKeptTheOrder) {
  const Path peer{"peer", Memory::device};
  const std::string both = in_order_line(peer, 8) + "\n" + in_order_line(peer, 4096) + "\n";
  EXPECT_EQ(read_paths(both).rows.at(0).result.in_order_up_to, 4096);
  const PathsSaid said =
      read_paths(both + outcome_line(peer, Outcome::out_of_order, "was sent before") + "\n");
  EXPECT_EQ(said.rows.at(0).result.outcome, Outcome::out_of_order);
  EXPECT_EQ(said.rows.at(0).result.how, "was sent before");
}

TEST(DoctorSaid, PathsAreReadByTheirWords) {
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

}  // namespace
}  // namespace halocline::test
